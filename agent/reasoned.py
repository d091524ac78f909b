"""What can be read of a reply's reasoning, out of the opaque JSON that is sent back to its provider.

Not the sending back (that is `models.spelling`, which wrote it). Pure.
"""

from __future__ import annotations

import json


def reasoned(thinking: str | None) -> str:
    """The readable reasoning; empty where there is none, or only what its provider can read."""
    try:
        kept = json.loads(thinking) if thinking else None
    except ValueError:
        return ""
    if not isinstance(kept, dict):
        return ""
    blocks = kept.get("blocks")
    parts = [block.get("thinking") for block in blocks if isinstance(block, dict)] if isinstance(blocks, list) else []
    said = [part for part in (*parts, kept.get("reasoning")) if isinstance(part, str) and part.strip()]
    return "\n\n".join(said)


__all__ = ["reasoned"]
