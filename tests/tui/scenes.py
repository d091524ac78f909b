"""Scripted sessions for tests and pictures of the screen."""

from __future__ import annotations

import json

from agent.wire import (
    Appended,
    Asking,
    Busy,
    CacheState,
    Event,
    Meter,
    Metered,
    Plan,
    Price,
    Queued,
    Streaming,
    ToolRunning,
)
from compaction.records import (
    AssistantSaid,
    Compacted,
    CompactionFailed,
    Gate,
    Noted,
    Outcome,
    Pruned,
    ToolCall,
    ToolReturned,
    Usage,
    UserSaid,
)
from tests.tui.fake_worker import Tape

PARTS = (("fixed", 8_000), ("summary", 9_000), ("user", 6_000), ("assistant", 14_000), ("tool", 24_400))
METER = Meter(
    used=61_400,
    known=61_400,
    exact=True,
    budget=160_000,
    trigger=143_616,
    landing=127_232,
    window=200_000,
    window_source="catalogue",
    limit=190_000,
    parts=PARTS,
    cache=CacheState(58_100, 58_100, 252.0, None, 61_500),
    cost=0.42,
    next_cost=0.03,
    model="claude-sonnet",
)

ANSWER = """The retry loop never backs off: `delay` is reset inside the loop, so every attempt waits 0.1 s.

## What to change

1. Move the **initial value** out of the loop.
2. Double it after each failure, with a cap:

```python
delay = FIRST_DELAY
for attempt in range(attempts):
    try:
        return call()  # the happy path
    except Transient:
        time.sleep(delay)
        delay = min(delay * 2, LONGEST)
```

| attempt | before | after |
|---|---|---|
| 1 | 0.1 s | 0.1 s |
| 5 | 0.1 s | 1.6 s |

> Brackets such as [/] and [red] are text.
"""

PYTEST = "\n".join(
    [
        "============================= test session starts ==============================",
        "collected 42 items",
        "",
        *[f"tests/test_retry.py::test_case_{n} PASSED" for n in range(38)],
        "FAILED tests/test_retry.py::test_backs_off - assert 0.1 == 0.4",
        "1 failed, 41 passed in 2.31s",
    ]
)


def call(id: str, name: str, **arguments: str) -> ToolCall:
    return ToolCall(id, name, json.dumps(arguments))


def working() -> list[Event]:
    """A session in the middle of its work."""
    tape = Tape()
    usage = Usage(uncached=3_400, cache_read=58_100, output=900)
    read = call("c1", "read", path="src/retry.py")
    bash = call("c2", "bash", command="pytest -q tests/test_retry.py")
    edit = call("c3", "edit", path="src/retry.py", old=OLD, new=NEW)
    return [
        *tape.opened(),
        tape.said(UserSaid("The retries hammer the server. Find out why and fix it, please.")),
        tape.said(
            AssistantSaid(
                "I'll read the code and run its tests first.", (read, bash), usage, "calls", "m", 1, cost=0.02
            )
        ),
        tape.said(ToolReturned("c1", "read", "read src/retry.py", "x\n" * 120, characters=4_800, took=0.4)),
        tape.said(
            ToolReturned("c2", "bash", "bash pytest -q tests/test_retry.py", PYTEST, True, None, 3_100, 1, took=2.7),
            after=2.3,
        ),
        tape.said(AssistantSaid(ANSWER, (edit,), usage, "calls", "m", 4, cost=0.03)),
        tape.said(ToolReturned("c3", "edit", "edit src/retry.py", "1 change", characters=400, changed=True)),
        Metered(METER),
    ]


OLD = "    for attempt in range(attempts):\n        delay = 0.1\n        try:\n            return call()"
NEW = "    delay = FIRST_DELAY\n    for attempt in range(attempts):\n        try:\n            return call()"


def streaming() -> list[Event]:
    """The same, with an answer arriving, a message waiting and a tool that runs."""
    return [
        *working(),
        Busy("turn"),
        ToolRunning("c4", "bash", "bash make check", "ruff check .\nAll checks passed!\nmypy .\n"),
        Streaming("The change is in place. Now I run the whole suite, because the [cache] tests share "),
        Streaming("this helper and **may** see other delays."),
        Queued(("then update the changelog",)),
    ]


def asking() -> list[Event]:
    """A tool asks."""
    return [
        *working(),
        Busy("turn"),
        Asking(
            1,
            "c5",
            "bash",
            "Run a command",
            "no rule allows it",
            command="git push --force-with-lease origin fix/retry-backoff",
            prefix="git push",
        ),
    ]


def rewritten() -> list[Event]:
    """A session that was pruned and compacted."""
    tape = Tape()
    return [
        *tape.opened(resumed=True),
        tape.said(UserSaid("Port the importer to the new schema.")),
        tape.said(AssistantSaid("Done with the first half.", (), Usage(output=10), "done", "m", 1)),
        tape.said(Pruned((14, 15, 18), "pruned", Gate.PROACTIVE, 143_900, 118_200)),
        tape.said(
            Compacted(
                "## Goal\nPort the importer.\n\n## State\n- half done", "files: a.py", 57, 2, None, "the importer",
                Gate.ASKED, 118_200, 31_200, "m", cost=0.04,
            )
        ),
        tape.said(CompactionFailed(Gate.PROACTIVE, Outcome.NOT_SMALLER, "", 31_000, prior=True)),
        tape.said(Noted("AGENTS.md changed on disk; /reload takes it in (about $0.05).", "instructions")),
        tape.idle(),
    ]  # fmt: skip


def long_session(count: int) -> list[Event]:
    """A resumed session of `count` records."""
    tape = Tape()
    events: list[Event] = [*tape.opened(resumed=True)]
    for n in range(count // 4):
        listing = call(f"x{n}", "bash", command="ls")
        answer = f"answer {n}\n\n- one\n- two\n" * (n % 5 + 1)
        returned = ToolReturned(f"x{n}", "bash", "bash ls", "file\n" * (n % 30), exit_status=0)
        events += [
            tape.said(UserSaid(f"question {n} " + "word " * (n % 40)), replay=True),
            tape.said(AssistantSaid(answer, (listing,), None, "calls", "m", 1), replay=True),
            tape.said(returned, replay=True),
            tape.said(AssistantSaid(f"finished {n}", (), None, "done", "m", 1), replay=True),
        ]
    return [*events, Metered(METER), tape.idle()]


ROWS = ((14, "read src/importer.py", 12_400), (15, "bash pytest -q", 8_100), (18, "grep schema", 5_200))
PLAN = Plan("prune", (14, 15, 18), ROWS, 25_700, 143_900, 118_200, 14, 92_000, Price(0.05, 0.31, 6))


def records(events: list[Event]) -> list[Appended]:
    return [event for event in events if isinstance(event, Appended)]
