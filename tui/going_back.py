"""Going back as both screens offer it: the messages one can go back to, and what should go back with one.

Not the going back (the worker's) and not a list on a screen: rows.
"""

from __future__ import annotations

from collections.abc import Iterable

from agent.wire import FileChange, Rewind, RewindOffered
from compaction.records import Record, Rewound, UserSaid
from tui.actions import Say
from tui.block import Block
from tui.picks import Pick
from tui.plain import one_line, plural, safe

TITLE = "Go on from before a message"
NOTHING = "nothing was said yet"


def messages(blocks: Iterable[Block]) -> list[Pick]:
    """The messages on the screen that are in force, the newest first."""
    found = [
        _message(block.record, block.body)
        for block in blocks
        if block.role == "user" and block.record is not None and not block.faded
    ]
    return found[::-1]


def said(records: Iterable[Record]) -> list[Pick]:
    """The same from records."""
    found: dict[int, str] = {}
    for record in records:
        if isinstance(record.body, Rewound):
            found = {id: text for id, text in found.items() if id < record.body.before}
        elif isinstance(record.body, UserSaid) and record.body.how != "shell":
            found[record.id] = record.body.said
    return [_message(id, text) for id, text in found.items()][::-1]


def _message(record: int, text: str) -> Pick:
    return Pick(one_line(text, 100), Rewind(record, "ask"), f"#{record}")


def title(offer: RewindOffered) -> str:
    """What is asked."""
    return f"Files changed since “{one_line(offer.said, 60)}” (#{offer.before}). What should go back?"


def choices(offer: RewindOffered) -> list[Pick]:
    """What can go back. Beside each row: which files, and by how many lines."""
    files = plural(len(offer.files), "file")
    listed = "\n".join(file_lines(offer.files))
    picks: list[Pick] = []

    def add(label: str, wish: Rewind | Say, remark: str, beside: str) -> None:
        picks.append(Pick(label, wish, remark, preview=lambda: beside))

    if offer.files:
        add("Conversation and files", Rewind(offer.before, "both"), f"{files} put back", listed)
    add("Conversation only", Rewind(offer.before, "conversation"), "files stay as they are", listed)
    if offer.files:
        add("Files only", Rewind(offer.before, "files"), "the conversation goes on", listed)
    if offer.taken_back:
        count = plural(len(offer.taken_back), "file")
        paths = "\n".join(safe(path) for path in offer.taken_back)
        add("Take back the last putting back of files", Rewind(offer.before, back=True), count, paths)
    add("Cancel", Say("Nothing went back."), "", listed)
    return picks


def file_lines(files: Iterable[FileChange]) -> list[str]:
    """One line a file: what became of it, lines added and taken away, whether somebody else changed it too."""
    rows = [(counts(file), file) for file in files]
    wide = max((len(count) for count, _ in rows), default=0)
    return [
        f"{count:>{wide}}  {file.what:<7}  {one_line(file.path, 200)}"
        f"{'  (changed by somebody else too)' if file.outside else ''}"
        for count, file in rows
    ]


def counts(file: FileChange) -> str:
    """`+3 -1`, or what stands for it."""
    return "no text" if file.added is None or file.removed is None else f"+{file.added} -{file.removed}"
