"""A session for readers: its log as a list of entries, each with a title, prose and blocks of text.

Not a format (those are `markdown` and `html`) and not the view: pruned, compacted, taken back or rewound,
everything that was ever said is here.

Invariants
 1. Every record but the first gives at least one entry, or is the second half of one (a call and its result).
 2. No text of an entry holds a control character but newline and tab, or a lone surrogate; nothing else is escaped.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Literal, TypeAlias, assert_never

from agent.sanitise import one_line, visible
from compaction.records import (
    AssistantSaid,
    Compacted,
    CompactionFailed,
    Noted,
    Pinned,
    Pruned,
    Record,
    Reloaded,
    Reverted,
    Rewound,
    SettingsChanged,
    Started,
    ToolCall,
    ToolReturned,
    Usage,
    UserSaid,
    WindowLearned,
    tag_of,
)

Voice: TypeAlias = Literal["user", "agent", "tool", "rewrite", "notice"]

# An argument up to this long (characters, one line) reads well beside its name; the rest gets a block of its own.
BESIDE = 100

STOPS = {
    "length": "cut at its output limit",
    "filtered": "withheld by the provider's filter",
    "aborted": "interrupted",
    "failed": "broke off",
}


@dataclass(frozen=True, slots=True)
class Block:
    """A text to be shown letter by letter, under its label."""

    label: str
    text: str


@dataclass(frozen=True, slots=True)
class Entry:
    """One thing that happened. `at`: seconds since the epoch; `prose`: Markdown somebody wrote; `images`: data URLs."""

    record: int
    at: float
    voice: Voice
    title: str
    meta: tuple[str, ...] = ()
    prose: str = ""
    blocks: tuple[Block, ...] = ()
    images: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Session:
    """What stands at the top and at the end of an export. Tokens and dollars; `cost` None where no price was known."""

    id: str
    title: str
    folder: str
    model: str
    at: float
    requests: int
    usage: Usage
    cost: float | None
    entries: tuple[Entry, ...]


def session_of(records: Iterable[Record]) -> Session:
    """The whole session."""
    records = tuple(records)
    first = next((r for r in records if isinstance(r.body, Started)), None)
    started = first.body if first and isinstance(first.body, Started) else None
    titles = [r.body.name for r in records if isinstance(r.body, SettingsChanged) and r.body.name]
    said = [r.body.said for r in records if isinstance(r.body, UserSaid) and r.body.how == "typed"]
    replies = [r.body for r in records if isinstance(r.body, (AssistantSaid, Compacted))]
    used = [reply.usage for reply in replies if reply.usage]
    costs = [reply.cost for reply in replies if reply.cost is not None]
    cost = sum(costs)
    return Session(
        id=_line(started.session) if started else "",
        title=_line((titles[-1:] or said[:1] or ["Session"])[0].strip().split("\n")[0]),
        folder=_line(started.folder) if started else "",
        model=_line(started.model) if started else "",
        at=first.at if first else 0.0,
        requests=len(used),
        usage=Usage(
            sum(u.uncached for u in used),
            sum(u.cache_read for u in used),
            sum(u.cache_write for u in used),
            sum(u.output for u in used),
        ),
        # A damaged log may hold prices whose sum is no number any more.
        cost=cost if costs and isfinite(cost) else None,
        entries=tuple(entries(records)),
    )


def entries(records: Sequence[Record]) -> Iterator[Entry]:
    """What happened, in the order written, each result with the call it answers."""
    calls: dict[str, ToolCall] = {}
    answered = {record.body.call for record in records if isinstance(record.body, ToolReturned)}
    for record in records:
        match record.body:
            case Started():
                pass
            case UserSaid() as said:
                yield _user(record, said)
            case AssistantSaid() as said:
                calls |= {call.id: call for call in said.calls}
                stop = STOPS.get(said.stop)
                if said.text.strip() or stop:
                    prose = clean(said.text).strip("\n")
                    yield Entry(record.id, record.at, "agent", "Agent", (stop,) if stop else (), prose)
                for call in said.calls:
                    if call.id not in answered:
                        name, nothing = _line(call.name), ("no result",)
                        yield Entry(record.id, record.at, "tool", name, nothing, blocks=_arguments(call))
            case ToolReturned() as result:
                yield _tool(record, result, calls.pop(result.call, None))
            case _:
                yield _program(record)


def _user(record: Record, said: UserSaid) -> Entry:
    text = clean(said.text)
    if said.how == "shell":
        return Entry(record.id, record.at, "user", "You, in the shell", blocks=(Block("", text.strip("\n")),))
    meta = ["joined the running turn"] if said.how == "steered" else []
    if said.typed is not None:
        meta.append(f"typed as {_line(said.typed)}")
    if said.admitted is not None:
        meta.append(f"the model was shown {said.admitted:,} of {len(said.text):,} characters")
    return Entry(record.id, record.at, "user", "You", tuple(meta), text.strip("\n"), images=said.images)


def _tool(record: Record, result: ToolReturned, call: ToolCall | None) -> Entry:
    meta: list[str] = []
    if result.exit_status is not None:
        meta.append(f"exit {result.exit_status}")
    elif result.failed:
        meta.append("failed")
    if result.spilled:
        meta.append(f"{result.characters:,} characters, the whole text in {_line(result.spilled)}")
    title = _line(result.title) or _line(result.tool)
    blocks = _arguments(call, title) if call else ()
    text = clean(result.text).strip("\n")
    output = (Block("output", text),) if text else ()
    return Entry(record.id, record.at, "tool", title, tuple(meta), "", (*blocks, *output), result.images)


def _arguments(call: ToolCall, title: str = "") -> tuple[Block, ...]:
    """A call's arguments: short ones together on a line, long ones each as a text; not those that the title says.

    What is no JSON stays as written.
    """
    try:
        values = json.loads(call.arguments)
    except (ValueError, RecursionError):
        values = None
    if not isinstance(values, dict):
        return (Block("arguments", clean(call.arguments)),) if call.arguments.strip() else ()
    short: list[str] = []
    long: list[Block] = []
    for name, value in values.items():
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        if "\n" in text or len(text) > BESIDE:
            long.append(Block(_line(name), clean(text).strip("\n")))
        elif _line(text) not in title:
            short.append(f"{_line(name)}: {_line(text)}")
    return (Block("", ", ".join(short)), *long) if short else tuple(long)


def _program(record: Record) -> Entry:
    """What the program or the user did to the session itself."""
    rewrite: Voice = "rewrite"
    number, at, body = record.id, record.at, record.body
    match body:
        case Pruned(records=ids, how=how, before=before, after=after):
            what = "moved to disk" if how == "spilled" else "pruned"
            named = ", ".join(f"#{id}" for id in ids)
            return Entry(number, at, rewrite, f"{what}: {named}", (_sizes(before, after), _tag(body)))
        case Compacted():
            meta = [_sizes(body.before, body.after), f"kept from #{body.first_kept}", _tag(body)]
            meta += [f"focus: {_line(body.focus)}"] if body.focus else []
            parts = (("summary", body.summary), ("facts", body.fact_sheet), ("learnings", body.learnings))
            blocks = tuple(Block(name, clean(text).strip("\n")) for name, text in parts if text.strip())
            return Entry(number, at, rewrite, "compacted", tuple(meta), blocks=blocks)
        case CompactionFailed(detail=detail, size=size):
            return Entry(number, at, rewrite, "not compacted", (f"at {size:,} tokens", _tag(body)), clean(detail))
        case Reverted(target=target, before=before, after=after):
            return Entry(number, at, rewrite, f"took back #{target}", (_sizes(before, after),))
        case Rewound(before=before):
            return Entry(number, at, rewrite, f"went back to before #{before}")
        case Reloaded(instructions=files, tools=tools):
            held = f"{len(files)} files, {len(tools)} tools"
            return Entry(number, at, "notice", "read instructions and tools again", (held,))
        case Pinned(target=target, on=on):
            return Entry(number, at, "notice", f"{'pinned' if on else 'unpinned'} #{target}")
        case SettingsChanged():
            return Entry(number, at, "notice", _changes(body) or "settings as before")
        case WindowLearned():
            title = "the provider refused the request as too long"
            return Entry(number, at, "notice", title, (_learned(body),), clean(body.detail))
        case Noted(text=text, topic=topic, to_model=to_model):
            read = ("the model reads it too",) if to_model else ()
            return Entry(number, at, "notice", _line(topic) or "notice", read, clean(text))
        case Started() | UserSaid() | AssistantSaid() | ToolReturned():
            raise AssertionError(f"{type(body).__name__} is part of the conversation")
        case _:
            assert_never(body)


def _tag(body: Pruned | Compacted | CompactionFailed) -> str:
    """The tag; a log that says an impossible one is `verify`'s to complain of, and can be read all the same."""
    try:
        return tag_of(body)
    except ValueError:
        return "no legal tag"


def _learned(body: WindowLearned) -> str:
    if body.window is not None:
        return f"its window is {body.window:,} tokens"
    return "in bytes" if body.ceiling is None else f"its window is taken to be under {body.ceiling:,} tokens"


def _changes(body: SettingsChanged) -> str:
    values = (("model", body.model), ("budget", body.budget), ("mode", body.mode), ("effort", body.effort),
              ("name", body.name))  # fmt: skip
    said = [f"{name} is now {_line(value)}" for name, value in values if value is not None]
    if body.alternate is not None:
        said.append(f"user messages in a row are sent {'as one' if body.alternate else 'as they are'}")
    return ", ".join(said)


def _sizes(before: int, after: int) -> str:
    return f"{before:,} to {after:,} tokens"


def clean(text: str) -> str:
    """Foreign text of several lines, its control characters spelled out."""
    return visible(text.replace("\r\n", "\n"))


def _line(text: str) -> str:
    """Foreign text as part of a line."""
    return one_line(text, 200)
