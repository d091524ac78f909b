"""What a writing command shows while it runs and when it ends: as JSON lines, or for people.

Not when it ends (that is `headless`). `take` gets every event in order, `end` is called once and gives the exit status.

Invariants
 1. With `--json`, standard output holds JSON and nothing else: a line an event of `exec`, one line of the others.
 2. Without, `exec` puts the answer on standard output and everything about it on standard error.
 3. Records that were there before this run are not shown again.
"""

from __future__ import annotations

import argparse
from typing import Any, Protocol

from agent.wire import Appended, Crashed, Event, Finished, Gated, Idle, Opened, Plan, Planned, Told
from compaction.records import AssistantSaid, Gate, Noted, Record, ToolReturned
from tui.headless import lines, objects
from tui.headless.objects import RecordJson
from tui.headless.pipes import Pipe

# Notices that the end of the turn says again as its error.
SAID_AT_THE_END = ("error", "refused")


class Shown(Protocol):
    """One way of showing a run."""

    @property
    def where(self) -> tuple[str, str]:
        """The session's id and path; empty before it is open."""
        ...

    def take(self, event: Event) -> None:
        """The next event."""
        ...

    def end(self, idle: Idle) -> int:
        """The run is over; its exit status."""
        ...


def shown_for(options: argparse.Namespace, record_json: RecordJson, out: Pipe, err: Pipe) -> Shown:
    """How `options` wants it."""
    if options.command == "exec":
        return ExecJson(out, err, record_json) if options.json else ExecText(out, err)
    return WishJson(out, err, options) if options.json else WishText(out, err)


class _Any:
    """What all ways have in common: diagnostics on standard error."""

    def __init__(self, out: Pipe, err: Pipe) -> None:
        self.out = out
        self.err = err
        self.session = self.path = ""
        self.new = False

    @property
    def where(self) -> tuple[str, str]:
        """See `Shown`."""
        return self.session, self.path

    def take(self, event: Event) -> None:
        """See `Shown`."""
        match event:
            case Opened(session=session, path=path, resumed=resumed, notices=notices):
                self.session, self.path, self.new = session, path, not resumed
                for notice in notices:
                    self.say(notice)
            case Told(text=text, level=level):
                self.say(text if level == "info" else f"{level}: {text}")
            case Crashed(where=where):
                self.err.text(where.rstrip())
            case _:
                pass

    def say(self, text: str) -> None:
        """A line about the run."""
        self.err.text(f"ullage: {text}")

    def is_new(self, event: Appended) -> bool:
        """Whether a record belongs to this run: all of a session that this run began."""
        return self.new or not event.replay

    def complain(self, idle: Idle) -> None:
        """Why it did not end well."""
        if idle.error:
            self.say(idle.error)
        elif idle.stop == "interrupted":
            self.say("interrupted; what was done so far is kept")
        if self.out.broken is not None:
            self.say(self.out.why)


class ExecJson(_Any):
    """`exec --json`: one object an event."""

    def __init__(self, out: Pipe, err: Pipe, record_json: RecordJson) -> None:
        super().__init__(out, err)
        self.record_json = record_json

    def take(self, event: Event) -> None:
        """See `Shown`. The run's own end is shown by `end`, the opening's is none."""
        super().take(event)
        if isinstance(event, Idle) or (isinstance(event, Appended) and not self.is_new(event)):
            return
        shown = objects.event(event, self.record_json)
        if shown is not None:
            self.out.json(shown)

    def end(self, idle: Idle) -> int:
        """See `Shown`."""
        self.out.json(objects.event(idle, self.record_json))
        self.complain(idle)
        return idle.code


class ExecText(_Any):
    """`exec`: the answer alone on standard output."""

    def __init__(self, out: Pipe, err: Pipe) -> None:
        super().__init__(out, err)
        self.answered = False
        self.last: AssistantSaid | None = None

    def take(self, event: Event) -> None:
        """See `Shown`."""
        super().take(event)
        match event:
            case Appended(record=record) if self.is_new(event):
                self._record(record)
            case Gated():
                self.say(lines.gate(event))
            case _:
                pass

    def _record(self, record: Record) -> None:
        match record.body:
            case AssistantSaid() as said:
                self.last = said
                if not said.calls:
                    self._answer(said.text)
                elif said.text.strip():
                    self.err.text(said.text.strip())
            case ToolReturned() as result:
                self.err.text(lines.tool(result))
            case Noted(text=text, topic=topic, to_model=False) if topic not in SAID_AT_THE_END:
                self.say(text)
            case _:
                pass

    def _answer(self, text: str) -> None:
        if text.strip():
            self.out.text(("\n" if self.answered else "") + text.strip("\n"))
            self.answered = True

    def end(self, idle: Idle) -> int:
        """See `Shown`. A turn that ended on calls nobody ran (no steps left) has its last words as its answer."""
        if not self.answered and self.last is not None and idle.stop == "done":
            self._answer(self.last.text)
        self.complain(idle)
        if self.session:
            self.say(f"session {self.session}; go on with `ullage exec --session {self.session} …`")
        return idle.code


class _Wish(_Any):
    """What prune, compact, undo and pin have in common: a plan and an end."""

    def __init__(self, out: Pipe, err: Pipe) -> None:
        super().__init__(out, err)
        self.plan: Plan | None = None
        self.finished: Finished | None = None
        self.tag: str | None = None

    def take(self, event: Event) -> None:
        """See `Shown`."""
        super().take(event)
        match event:
            case Planned(plan=plan):
                self.plan = plan
            case Finished():
                self.finished = event
            case Gated(gate=Gate.ASKED, tag=tag):
                self.tag = tag
            case _:
                pass

    def code(self, idle: Idle) -> int:
        """The exit status: the wish's own, unless the work broke off before or after it."""
        return idle.code or (self.finished.code if self.finished else 0)


class WishJson(_Wish):
    """One line in all."""

    def __init__(self, out: Pipe, err: Pipe, options: argparse.Namespace) -> None:
        super().__init__(out, err)
        self.options = options

    def end(self, idle: Idle) -> int:
        """See `Shown`."""
        code = self.code(idle)
        done = self.finished or Finished("", False, code, self.tag, idle.error or str(idle.stop))
        line: dict[str, Any] = objects.finished(done)
        match self.options.command:
            case "prune":
                error = line["error"]
                line = objects.planned(self.plan, committed=done.committed, tag=done.tag, error=error)
            case "pin":
                line |= {"record": self.options.id, "on": not self.options.remove}
            case "rewind":
                line |= {"record": self.options.record, "files": self.options.files, "text": done.text}
            case _:
                pass
        self.out.json(line)
        self.complain(idle)
        return code


class WishText(_Wish):
    """For people: the plan, then a sentence."""

    def end(self, idle: Idle) -> int:
        """See `Shown`."""
        code = self.code(idle)
        if self.finished is not None and self.finished.committed:
            if self.plan is not None and self.plan.records:
                self.out.text(lines.plan(self.plan))
            self.out.text(self.finished.text)
        self.complain(idle)
        return code


__all__ = ["ExecJson", "ExecText", "Shown", "WishJson", "WishText", "shown_for"]
