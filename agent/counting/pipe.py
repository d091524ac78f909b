"""Texts out, counts back, over a pipe: the framing that `child` and `host` share.

Not `agent.models.pipe` (messages, as JSON): texts by the megabyte are not spelled and parsed again only to be counted.

A question is a head (how many texts, how many bytes follow), the size of each text in bytes, then the texts. An answer
is one number a text. Before the first answer stands one greeting: its size, then JSON.

Invariants
 1. Any text survives the trip, lone surrogates included.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Sequence
from dataclasses import asdict, dataclass

HEAD = struct.Struct("!II")

SIZE = struct.Struct("!I")


@dataclass(frozen=True, slots=True)
class Greeting:
    """What the child says once it can count: whether by the vocabulary, and why not."""

    exact: bool
    why: str = ""


def greet(greeting: Greeting) -> bytes:
    """The bytes of a greeting."""
    data = json.dumps(asdict(greeting)).encode("ascii")
    return SIZE.pack(len(data)) + data


def greeting_of(data: bytes) -> Greeting:
    """A greeting without its size. Raises `ValueError`, `TypeError` for what is none."""
    return Greeting(**json.loads(data))


def ask(texts: Sequence[str]) -> bytes:
    """The bytes of a question."""
    spelled = [text.encode("utf-8", "surrogatepass") for text in texts]
    sizes = struct.pack(f"!{len(spelled)}I", *map(len, spelled))
    return b"".join([HEAD.pack(len(spelled), sum(map(len, spelled))), sizes, *spelled])


def texts_of(count: int, data: bytes) -> list[str]:
    """The texts of a question without its head."""
    sizes = struct.unpack_from(f"!{count}I", data)
    texts: list[str] = []
    at = count * SIZE.size
    for size in sizes:
        texts.append(data[at : at + size].decode("utf-8", "surrogatepass"))
        at += size
    return texts


def answer(counts: Sequence[int]) -> bytes:
    """The bytes of an answer."""
    return struct.pack(f"!{len(counts)}I", *counts)


def counts_of(data: bytes) -> list[int]:
    """The numbers of an answer."""
    return list(struct.unpack(f"!{len(data) // SIZE.size}I", data))
