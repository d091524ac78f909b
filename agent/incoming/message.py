"""What is sent for what was typed."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Message:
    """`typed` is what was typed where the text was made from it, else None. `images` are data URLs.

    `foreign`: the text is a server's. What it mentions is not looked for: it could name any file of the user's.
    """

    text: str
    typed: str | None = None
    images: tuple[str, ...] = ()
    foreign: bool = False


__all__ = ["Message"]
