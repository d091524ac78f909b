"""Record or event to blocks: the only place that decides what a thing looks like and how it is said.

Not drawing (that is each front end's) and nothing durable: what it remembers between two events (the calls that wait
for their results, the output a running tool has printed) it would learn again from a replay.

Invariants
 1. Every string that came from outside leaves here `safe`; markup in it is text.
 2. A replayed record gives the block that the live one gave, but for what was only ever live (running tools).
 3. What the log says once is shown once: an event that repeats the record before it shows nothing.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from agent.wire import (
    MODE_NAMES,
    Appended,
    Asking,
    Busy,
    Crashed,
    Event,
    Finished,
    Gated,
    Idle,
    Opened,
    Plan,
    Planned,
    Restreamed,
    Returned,
    Streaming,
    Told,
    ToolRunning,
)
from compaction.records import (
    AssistantSaid,
    Compacted,
    CompactionFailed,
    Gate,
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
    UserSaid,
    WindowLearned,
    tag_of,
)
from tui import cards
from tui.block import Block, Fold, Role
from tui.plain import dollars, one_line, plural, safe, tokens
from tui.thoughts import Thoughts
from tui.wording import COMPLETE, FAILURES, GATES, as_lines

# Wishes whose record is shown: the sentence of how they ended would say it twice.
HAVE_A_BLOCK = frozenset({"compact", "prune", "undo", "pin", "rewind"})

# A file or a server's resource that a mention brought along, as the agent joins it to the message.
_BEGINS = r'\n\n<(?:file path="([^"\n]*)"|resource server="([^"\n]*)" uri="([^\n]*)")>\n'
ATTACHED = re.compile(rf"{_BEGINS}(.*?)\n</(?:file|resource)>(?={_BEGINS}|\Z)", re.DOTALL)

# What makes a word a name that is written as it is, inside of it: `openai/gpt`, `http://…`, `src/a.py`, `a_b`.
NAME = re.compile(r"[/:.@_]\S")

# What ends a sentence, a closing quotation mark or parenthesis after it included.
ENDED = re.compile(r"[.!?:…][”\")]?$|[`)]$")

# What the plan on the screen says better.
SEEN_ANYWAY = frozenset(
    {"a preview: nothing was changed", "a plan: nothing was changed", "files changed since; nothing was done yet"}
)

# A user's own message folds beyond this: a pasted log must not bury the conversation.
USER_FOLD = Fold(head=20, tail=5)

# What a hook added is for the model first.
NOTICE_FOLD = Fold(head=4)


# Instructions and tool schemas as the session holds them.
Equipped: TypeAlias = tuple[tuple[str, ...], tuple[str, ...]]


# Where a result stands in the conversation: the record of the answer that called for it, and which of its calls it was.
# Results are logged as they finish, and that may be another order.
Place: TypeAlias = tuple[int, int]


@dataclass(slots=True)
class Presenter:
    """Turns what the worker emits into blocks, in order."""

    calls: dict[str, ToolCall] = field(default_factory=dict)
    places: dict[str, Place] = field(default_factory=dict)
    stands: dict[int, Place] = field(default_factory=dict)
    running: dict[str, cards.Running] = field(default_factory=dict)
    spoken: dict[int, str] = field(default_factory=dict)
    thoughts: Thoughts = field(default_factory=Thoughts)
    said: str = ""
    finished: str = ""
    count: int = 0
    equipped: Equipped = ((), ())

    def show(self, event: Event) -> tuple[Block, ...]:
        """The blocks for one event; none for what only moves the meter, the queue or a panel."""
        match event:
            case Appended(record=record, replay=replay):
                if isinstance(record.body, SettingsChanged) and not replay:
                    return ()  # how the wish ended says more: what it comes to on this model
                return tuple(self._record(record))
            case ToolRunning():
                return (self._running(event),)
            case Streaming() | Restreamed():
                return self.thoughts.hear(event)
            case Busy():
                self.thoughts.over()
                return ()
            case Opened():
                self.thoughts.over()
                self.calls.clear()
                self.running.clear()
                self.spoken.clear()
                return (opened(event), *(self._say("notice", sentence(text)) for text in event.notices))
            case Told(text=text, level=level):
                return (self._say({"info": "notice", "warning": "warning", "error": "error"}[level], sentence(text)),)  # type: ignore[arg-type]
            case Gated() | Finished() | Returned() | Idle() | Crashed():
                return tuple(self._ended(event))
            case Planned(plan=Plan(rows=(), kept_rows=(), why_nothing=why), offered=True) if why:
                return (self._say("notice", sentence(why)),)
            case _:
                return ()

    def say(self, role: Role, text: str, title: str = "") -> Block:
        """A block of the front end's own: an answer to a slash command."""
        self.count += 1
        return Block(f"said:{self.count}", role, title=title, body=safe(text))

    def _say(self, role: Role, text: str) -> Block:
        self.said = text
        return self.say(role, text)

    def _once(self, role: Role, text: str) -> Iterator[Block]:
        if text and text != self.said:
            yield self._say(role, text)

    def _running(self, event: ToolRunning) -> Block:
        now = cards.further(self.running.get(event.call), event, self.calls.get(event.call))
        self.running[event.call] = now
        return cards.running(event.call, now)

    def _ended(self, event: Gated | Finished | Returned | Idle | Crashed) -> Iterator[Block]:
        match event:
            case Gated(text=text, tag=tag):
                if tag != self.said:
                    yield from self._once("warning" if "refused" in event.outcome else "notice", sentence(text))
                    self.said = tag
            case Finished(committed=committed, code=code, tag=tag, text=text):
                self.finished = text
                if (committed and event.wish in HAVE_A_BLOCK) or text in SEEN_ANYWAY:
                    return
                if tag is None or tag != self.said:
                    yield from self._once("notice" if code in (0, 4, 130) else "warning", sentence(text))
            case Returned(why=why):
                yield from self._once("warning", sentence(why))
            case Idle(stop=stop, error=error):
                if error and error != self.finished:
                    yield from self._once("error", sentence(error))
                elif stop == "interrupted":
                    yield from self._once("quiet", "Stopped.")
                self.said = self.finished = ""
            case Crashed(error=error):
                yield self._say(
                    "error",
                    f"Ullage itself failed: {error}. The session log is whole up to the last line shown; nothing was "
                    "lost. Quit with Ctrl+D and resume to go on.",
                )

    def _record(self, record: Record) -> Iterator[Block]:
        key, number, body = f"record:{record.id}", record.id, record.body
        match body:
            case Started(tools=tools):
                self.calls.clear()
                self.equipped = (body.instructions, tools)
            case UserSaid(how="shell"):
                yield cards.shell(number, body)
            case UserSaid():
                self.spoken[number] = body.text
                yield user(key, number, body)
            case AssistantSaid():
                yield from self.thoughts.settled(body)
                yield from assistant(key, number, body)
                for at, call in enumerate(body.calls):
                    self.calls[call.id] = call
                    self.places[call.id] = (number, at)
                    yield cards.waiting(call)
                if body.stop == "aborted":
                    yield from self._once("quiet", "Stopped.")
            case ToolReturned():
                self.running.pop(body.call, None)
                self.stands[number] = self.places.pop(body.call, (number, 0))
                yield cards.returned(number, body, self.calls.pop(body.call, None))
            case Pruned() | Compacted() | CompactionFailed():
                self.said = tag_of(body)
                yield rewrite(key, number, body, self.stands)
            case Reverted(target=target, before=before, after=after):
                yield Block(key, "divider", f"undone: #{target}", meta=(_sizes(before, after),), record=number)
            case Rewound(before=before):
                yield self._rewound(key, number, before)
            case Reloaded(instructions=instructions, tools=tools):
                held, self.equipped = self.equipped, (instructions, tools)
                yield reloaded(key, number, held, self.equipped)
            case Pinned(target=target, on=on):
                yield Block(key, "quiet", body=f"#{target} is {'pinned' if on else 'no longer pinned'}.")
            case SettingsChanged():
                yield from settings(key, body)
            case WindowLearned():
                yield Block(key, "warning", body=window(body))
            case Noted(text=text, topic="job") | Noted(text=text, topic="files" | "steps", to_model=True):
                yield Block(key, "quiet", body=f"The model is told: {safe(text).strip('[]')}.")
            case Noted(text=text, topic="hook" | "nested"):
                yield Block(key, "notice", body=safe(text), fold=NOTICE_FOLD)
            case Noted(text=text, topic=topic):
                self.said = sentence(text)
                yield Block(key, "error" if topic == "error" else "notice", body=self.said)

    def _rewound(self, key: str, number: int, before: int) -> Block:
        said = self.spoken.get(before)
        left = [record for record in self.spoken if record >= before]
        for record in left:
            del self.spoken[record]
        title = f"rewound to before #{before}" if said is None else f"rewound to before “{one_line(said, 40)}”"
        meta = (f"{plural(len(left), 'message')} left behind above",) if left else ()
        return Block(key, "divider", title, meta=meta, record=number, leaves=before)


def question(asking: Asking) -> tuple[str, str, str]:
    """What is asked, why, and what would happen, each without what another of them says already."""
    title = one_line(asking.title) or safe(asking.tool)
    verb, _, what = safe(asking.why).partition(" ")
    same, why = _as_told(asking.command), safe(asking.why)
    if what and (asking.diff or verb == "run") and (what in title or what == same):
        why = ""
    elif verb == "run" and same and what.startswith(f"{same}: "):
        why = what.removeprefix(f"{same}: ")  # what is doubtful about it
    if asking.diff:
        lines = asking.diff.split("\n")
        headed = len(lines) > 2 and lines[0].startswith("--- ") and lines[1].startswith("+++ ")
        return title, why, safe("\n".join(lines[2:] if headed else lines))
    if safe(asking.command) in title:
        return title, why, ""
    beginning = title.removeprefix(f"{safe(asking.tool)} ").removesuffix("…")
    if safe(asking.command).replace("\n", "\\n").startswith(beginning):
        title = f"{safe(asking.tool)}: this command"  # it stands below, whole
    return title, why, safe(asking.command)


def _as_told(command: str) -> str:
    """A command as the reason for asking spells it: without quotes, cut; empty where it cannot be taken apart."""
    try:
        return one_line(" ".join(shlex.split(command)), 60)
    except ValueError:
        return ""


def lasting(asking: Asking, most: int) -> str:
    """What a yes for the project would allow, in at most `most` characters; empty for nothing."""
    exact = asking.prefix.removeprefix("= ") if asking.prefix.startswith("= ") else ""
    if asking.prefix == "*":
        return one_line(f"all of {asking.tool}", most)
    return "exactly this" if exact and exact == asking.command.strip() else one_line(asking.prefix, most)


def sentence(text: str) -> str:
    """A worker's phrase as people write a sentence; a name at its beginning (an address, a model) stays as it is."""
    text = safe(text).strip()
    if not text:
        return ""
    first = text.split(maxsplit=1)[0]
    capital = text if NAME.search(first) else text[0].upper() + text[1:]
    return capital + ("" if ENDED.search(text) else ".")


def opened(event: Opened) -> Block:
    """The session's first lines."""
    facts = (safe(event.model), safe(event.folder))
    what = "resumed" if event.resumed else "new session"
    return Block(f"opened:{event.session}", "banner", "Ullage", meta=(what, safe(event.session)), body="\n".join(facts))


def reloaded(key: str, number: int, before: Equipped, now: Equipped) -> Block:
    """What was taken in anew: instructions, tools, or both."""
    read = plural(len(now[0]), "instruction file")
    if before[1] == now[1]:
        return Block(key, "divider", "instructions read anew", meta=(read,), record=number)
    joined, left = len(set(now[1]) - set(before[1])), len(set(before[1]) - set(now[1]))
    said = [f"{plural(count, 'tool')} {what}" for count, what in ((joined, "joined"), (left, "left")) if count]
    title = ", ".join(said) or "tools in another order"
    return Block(key, "divider", title, meta=() if before[0] == now[0] else (read,), record=number)


def user(key: str, number: int, body: UserSaid) -> Block:
    """What the user typed."""
    meta: tuple[str, ...] = ("joined the running turn",) if body.how == "steered" else ()
    if body.images:
        meta += (plural(len(body.images), "image"),)
    if body.admitted is not None:
        meta += (f"shortened for the model to {body.admitted:,} characters",)
    # The files' text is what the model reads; whoever named them knows what is in them.
    files = [safe(found[1] or f"{found[2]}:{found[3]}") for found in ATTACHED.finditer(body.text)]
    if files:
        meta += (f"with {', '.join(files)}",)
    text = safe(ATTACHED.sub("", body.text))
    if body.typed is None:
        return Block(key, "user", body=text, meta=meta, fold=USER_FOLD, record=number)
    typed = safe(body.typed).strip()
    fold = Fold(head=min(typed.count("\n") + 1, USER_FOLD.head))
    return Block(key, "user", body=f"{typed}\n\n{text}", meta=(*meta, "its text was sent"), fold=fold, record=number)


def assistant(key: str, number: int, body: AssistantSaid) -> Iterator[Block]:
    """The words of a reply, and why it ended where that is not plain."""
    if body.text.strip():
        yield Block(key, "agent", body=safe(body.text).strip("\n"), form="markdown", record=number)
    match body.stop:
        case "length":
            yield Block(
                f"{key}:stop", "warning", body="The answer was cut at its output limit. Say “go on” for the rest."
            )
        case "filtered":
            yield Block(f"{key}:stop", "warning", body="The provider's filter withheld the rest of this answer.")
        case "failed" | "done" | "calls" | "aborted":
            pass  # of a failure the error that follows says everything


def rewrite(key: str, number: int, body: Pruned | Compacted | CompactionFailed, stands: Mapping[int, Place]) -> Block:
    """A rewrite of the view as a divider, or the sentence of one that changed nothing."""
    match body:
        case Pruned(records=records, how=how, gate=gate, before=before, after=after):
            what = plural(len(records), "result")
            title = f"pruned {what}" if how == "pruned" else f"moved {what} to disk"
            earliest = min(records, key=lambda record: stands.get(record, (record, 0)), default=None)
            first = () if earliest is None else (f"cache breaks at #{earliest}",)
            return Block(key, "divider", title, meta=(_sizes(before, after), *first, *_why(gate)), record=number)
        case Compacted(gate=gate, before=before, after=after, first_kept=first_kept, focus=focus, cost=cost):
            title = "compacted" if gate is not Gate.EMERGENCY else "cut back without asking the model"
            meta: tuple[str, ...] = (_sizes(before, after), f"kept from #{first_kept}")
            if focus:
                meta += (f"focus: {one_line(focus, 40)}",)
            if cost is not None:
                meta += (dollars(cost),)
            summary = safe(body.summary).strip() + (f"\n\n{as_lines(safe(body.fact_sheet))}" if body.fact_sheet else "")
            return Block(key, "divider", title, summary, "markdown", (*meta, *_why(gate)), Fold(), record=number)
        case CompactionFailed(gate=gate, outcome=outcome, detail=detail, size=size):
            said = FAILURES.get(outcome, f"Nothing was changed: {outcome}.")
            told = f" {sentence(one_line(detail, 300))}" if detail and outcome not in COMPLETE else ""
            where = "" if gate is Gate.ASKED else f" ({GATES[gate]}, at {tokens(size)})"
            return Block(key, "warning", body=f"{said}{told}{where}")


def settings(key: str, body: SettingsChanged) -> Iterator[Block]:
    """One quiet line for what the user switched."""
    mode = next((words for known, words in MODE_NAMES.items() if known == body.mode), body.mode)
    named = [("model", body.model), ("budget", body.budget), ("mode", mode), ("effort", body.effort)]
    named += [("endpoint", body.endpoint), ("name", body.name)]
    said = [f"{name} is now {one_line(value, 60)}" for name, value in named if value is not None]
    if body.alternate is not None:
        said.append(f"user messages in a row are sent {'as one' if body.alternate else 'as they are'}")
    if said:
        yield Block(key, "quiet", body=sentence(", ".join(said)))


def window(body: WindowLearned) -> str:
    """What a refusal for length taught us."""
    what = "the summary request" if body.summary else "the request"
    refused = f"The provider refused {what} of about {tokens(body.asked or body.refused)} as too long"
    if body.window is not None:
        return f"{refused}: the window of {safe(body.model)} is {tokens(body.window)}. Learned for next time."
    if body.ceiling is not None:
        return f"{refused} without saying its window; it is taken to be under {tokens(body.ceiling)}."
    return f"{refused} in bytes."


def _sizes(before: int, after: int) -> str:
    return f"{tokens(before)} → {tokens(after)}"


def _why(gate: Gate) -> tuple[str, ...]:
    return () if gate is Gate.ASKED else (GATES[gate],)
