"""What a GGUF file says about its model: the header only, read without llama.cpp.

Not a loader: tensors are never touched. The format is public: a magic word, a version, counts, then typed key-value
pairs, little-endian.

Invariants
 1. A file that is no GGUF, is cut short or lies about its lengths ends in `BadFile`, never in another error.
 2. Reading is bounded by the file: nothing is allocated by a length that the file does not have.
"""

from __future__ import annotations

import mmap
import struct
from dataclasses import dataclass
from pathlib import Path

STRING, ARRAY = 8, 9

# struct codes of the scalar types, by the format's type numbers; 7 is a boolean in one byte.
SCALARS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}

# Arrays may nest; real files nest none. Deeper than this is an attack on the stack.
MOST_NESTING = 4


class BadFile(Exception):
    """Not a GGUF file, or a broken one; its text says what is wrong."""


@dataclass(frozen=True, slots=True)
class Metadata:
    """`trained_window` is the context the model was trained for, tokens; None when the file does not say."""

    name: str
    architecture: str
    trained_window: int | None
    has_template: bool


class _Reader:
    def __init__(self, data: mmap.mmap) -> None:
        self._data = data
        self._at = 0

    def take(self, code: str) -> int | float | bool:
        """The next scalar. Raises `struct.error` past the end."""
        (value,) = struct.unpack_from("<" + code, self._data, self._at)
        self._at += struct.calcsize("<" + code)
        return value  # type: ignore[no-any-return]

    def size(self) -> int:
        """A length that the rest of the file can hold. Raises `BadFile`."""
        value = int(self.take("Q"))
        if value > len(self._data) - self._at:
            raise BadFile("a length in its header is larger than the file")
        return value

    def skip(self, size: int) -> None:
        """Passes over `size` bytes."""
        self._at += size

    def text(self) -> str:
        """The next string."""
        size = self.size()
        self.skip(size)
        return self._data[self._at - size : self._at].decode("utf-8", "replace")

    def value(self, kind: int, nesting: int = 0) -> str | int | float | bool | None:
        """The next value; arrays are passed over and give None."""
        if kind in SCALARS:
            return self.take(SCALARS[kind])
        if kind == STRING:
            return self.text()
        if kind != ARRAY or nesting > MOST_NESTING:
            raise BadFile(f"its header holds a value of unknown kind {kind}")
        inner, count = int(self.take("I")), self.size()
        if inner in SCALARS:
            self.skip(count * struct.calcsize("<" + SCALARS[inner]))
            return None
        for _ in range(count):
            if inner == STRING:
                self.skip(self.size())
            else:
                self.value(inner, nesting + 1)
        return None


def metadata(path: Path) -> Metadata:
    """Reads the header (some 50 ms for a large vocabulary). Raises `BadFile`; `OSError` when it cannot be opened."""
    with path.open("rb") as file:
        try:
            data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        except ValueError:
            raise BadFile("it is empty") from None
        with data:
            if data[:4] != b"GGUF":
                raise BadFile("it is not a GGUF file")
            reader = _Reader(data)
            try:
                found = _pairs(reader)
            except struct.error:
                raise BadFile("it ends in the middle of its header") from None
    architecture = str(found.get("general.architecture", ""))
    window = found.get(f"{architecture}.context_length")
    return Metadata(
        name=str(found.get("general.name", path.stem)),
        architecture=architecture,
        trained_window=int(window) if isinstance(window, int) and window > 0 else None,
        has_template=bool(found.get("tokenizer.chat_template")),
    )


def _pairs(reader: _Reader) -> dict[str, str | int | float | bool | None]:
    reader.take("I")  # the magic
    version = reader.take("I")
    if version not in (2, 3):
        raise BadFile(f"its format version {version} is not known (2 and 3 are)")
    reader.take("Q")  # how many tensors
    return {reader.text(): reader.value(int(reader.take("I"))) for _ in range(reader.size())}
