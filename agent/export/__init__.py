"""A session as a file for people or programs: Markdown, HTML, or JSON.

Pure over the records; the file is written by whoever asked. Everything that was ever said is in it: a compaction shapes
what the model sees, never what people see.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Literal, TypeAlias

from agent.export.entries import session_of
from agent.export.html import html
from agent.export.markdown import markdown
from agent.session_log import as_json
from compaction.records import Record

Format: TypeAlias = Literal["md", "html", "json"]

# Inside JSON's texts these stand as they are, and would act on a terminal: DEL, C1, bidi controls, lone surrogates.
_ACTING = re.compile("[\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def exported(records: Iterable[Record], format: Format, timeline: str = "") -> str:
    """The whole file's text, ending in a newline. `timeline` is `timeline`'s, for HTML alone."""
    records = tuple(records)
    match format:
        case "md":
            return markdown(session_of(records))
        case "html":
            return html(session_of(records), timeline)
        case "json":
            return _json(records)


def _json(records: tuple[Record, ...]) -> str:
    """One object: what the session is, and every record as its line has it."""
    session = session_of(records)
    value = {
        "session": session.id,
        "title": session.title,
        "folder": session.folder,
        "model": session.model,
        "started": session.at,
        "requests": session.requests,
        "cost": session.cost,
        "records": [as_json(record) for record in records],
    }
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, indent=1)
    return _ACTING.sub(lambda found: f"\\u{ord(found[0]):04x}", text) + "\n"
