"""Pictures from a server, checked before they join a conversation: one that no provider takes would poison it."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Sequence

from agent.sanitise import one_line
from agent.tools.contract import Refused
from agent.tools.images import data_url

# Pictures of one result; a page of them is worth no more, at some 1,600 tokens each.
MOST_IMAGES = 10


def checked(images: Sequence[tuple[str, str]]) -> tuple[tuple[str, ...], list[str]]:
    """Those that a provider would take as data URLs, and a note for each that it would not."""
    taken: list[str] = []
    notes: list[str] = []
    for kind, data in images:
        try:
            if len(taken) == MOST_IMAGES:
                raise Refused(f"at most {MOST_IMAGES} are passed on")
            taken.append(data_url(base64.b64decode(data, validate=True)))
        except (Refused, binascii.Error) as error:
            notes.append(f"[a picture ({one_line(kind, 40)}) was left out: {error}]")
    return tuple(taken), notes


__all__ = ["checked"]
