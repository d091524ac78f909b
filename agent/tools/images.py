"""Image files as data URLs, checked at the door: one that no provider can decode would poison every later request.

Not a decoder: the header, the size and the structure are checked, not the pixels.
"""

from __future__ import annotations

import base64
import struct
import zlib
from collections.abc import Callable

from agent.tools.contract import Refused

# Providers take at most 5 MB of image; base64 makes 4 bytes of 3. Bytes.
LARGEST_IMAGE = 3_750_000

# Providers refuse slivers, and nothing can be seen on them; more than 8,000 a side is refused by some. Pixels.
LEAST_SIDE = 8
MOST_SIDE = 8_000

_PNG = b"\x89PNG\r\n\x1a\n"
_FRAMES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}


class _Broken(Exception):
    pass


def kind_of(head: bytes) -> str | None:
    """`png`, `jpeg`, `gif` or `webp` by the first bytes; None for anything else."""
    if head.startswith(_PNG):
        return "png"
    if head.startswith(b"\xff\xd8\xff"):
        return "jpeg"
    if head.startswith((b"GIF87a", b"GIF89a")):
        return "gif"
    if head[:4] == b"RIFF" and head[8:12] == b"WEBP":
        return "webp"
    return None


def data_url(data: bytes) -> str:
    """The image as a data URL. Raises `Refused` with the reason for anything a provider would refuse."""
    kind = kind_of(data)
    if kind is None:
        raise Refused("not a PNG, JPEG, GIF or WebP image")
    if len(data) > LARGEST_IMAGE:
        raise Refused(f"the {kind.upper()} image has {len(data):,} bytes; at most {LARGEST_IMAGE:,} can be sent")
    try:
        width, height = _SIZES[kind](data)
    except _Broken as error:
        raise Refused(f"the {kind.upper()} image is broken ({error})") from error
    except (struct.error, IndexError) as error:
        raise Refused(f"the {kind.upper()} image is broken (it ends too early)") from error
    if not (LEAST_SIDE <= width <= MOST_SIDE and LEAST_SIDE <= height <= MOST_SIDE):
        raise Refused(f"the image is {width} x {height} pixels; each side must have {LEAST_SIDE} to {MOST_SIDE:,}")
    return f"data:image/{kind};base64,{base64.b64encode(data).decode('ascii')}"


def _png(data: bytes) -> tuple[int, int]:
    at, size, pixels = len(_PNG), (0, 0), False
    while True:
        length, name = struct.unpack(">I4s", data[at : at + 8])
        body = data[at + 8 : at + 8 + length]
        (checksum,) = struct.unpack(">I", data[at + 8 + length : at + 12 + length])
        if checksum != zlib.crc32(name + body):
            raise _Broken("a checksum is wrong")
        if name == b"IHDR":
            size = struct.unpack(">II", body[:8])
        pixels = pixels or name == b"IDAT"
        if name == b"IEND":
            if not pixels:
                raise _Broken("it has no pixels")
            return size
        at += 12 + length


def _jpeg(data: bytes) -> tuple[int, int]:
    at = 2
    if b"\xff\xd9" not in data[-64:]:
        raise _Broken("it ends too early")
    while True:
        if data[at] != 0xFF:
            raise _Broken("a marker is missing")
        marker = data[at + 1]
        if marker == 0xFF:
            at += 1
            continue
        (length,) = struct.unpack(">H", data[at + 2 : at + 4])
        if marker in _FRAMES:
            height, width = struct.unpack(">HH", data[at + 5 : at + 9])
            return width, height
        if marker == 0xDA or length < 2:
            raise _Broken("it has no frame header")
        at += 2 + length


def _gif(data: bytes) -> tuple[int, int]:
    if b"\x2c" not in data[13:] or data[-1:] != b"\x3b":
        raise _Broken("it ends too early")
    width, height = struct.unpack("<HH", data[6:10])
    return width, height


def _webp(data: bytes) -> tuple[int, int]:
    (length,) = struct.unpack("<I", data[4:8])
    if length + 8 > len(data) + 1:
        raise _Broken("it is shorter than it says")
    chunk = data[12:16]
    if chunk == b"VP8 ":
        if data[23:26] != b"\x9d\x01\x2a":
            raise _Broken("its first frame has no start code")
        width, height = struct.unpack("<HH", data[26:30])
        return width & 0x3FFF, height & 0x3FFF
    if chunk == b"VP8L":
        if data[20] != 0x2F:
            raise _Broken("its first frame has no signature")
        (bits,) = struct.unpack("<I", data[21:25])
        return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
    if chunk == b"VP8X":
        return int.from_bytes(data[24:27], "little") + 1, int.from_bytes(data[27:30], "little") + 1
    raise _Broken("its first chunk is unknown")


_SIZES: dict[str, Callable[[bytes], tuple[int, int]]] = {"png": _png, "jpeg": _jpeg, "gif": _gif, "webp": _webp}
