"""What the tour says and does: the recorded turns of its model, and the words between the steps. Data, no behaviour.

The texts name no glyph and no key but Enter, Space, p and Esc, so that they hold on every screen. Sizes they mention
are those of `tour.TOUR_SETTINGS`.
"""

from __future__ import annotations

import json
import shutil
import sys
from dataclasses import dataclass
from typing import Any

from agent.models.scripted import Say

# Where Python is to run the project's tests with: by its usual name, as people type it.
PYTHON = "python3" if shutil.which("python3") else sys.executable


@dataclass(frozen=True, slots=True)
class Turn:
    """What the recording answers to `prompt`, step by step; `done` is the line a summary has about it."""

    prompt: str
    steps: tuple[Say, ...]
    done: str


@dataclass(frozen=True, slots=True)
class Stop:
    """What is said, and what then stands in the prompt line."""

    narration: str
    prompt: str


def _call(name: str, **arguments: Any) -> tuple[str, str]:
    return name, json.dumps(arguments)


def _read(path: str, offset: int | None = None) -> tuple[str, str]:
    return _call("read", path=path) if offset is None else _call("read", path=path, offset=offset)


WRONG = """\
    whole = int(found["whole"].replace(",", ""))
    part = int((found["part"] or "0").ljust(2, "0"))
    if whole < 0:
        return whole * 100 - part
    return whole * 100 + part
"""

RIGHT = """\
    whole = int(found["whole"].replace(",", "").lstrip("-"))
    part = int((found["part"] or "0").ljust(2, "0"))
    cents = whole * 100 + part
    # The sign is read from the text: int("-0") has lost it.
    return -cents if found["whole"].startswith("-") else cents
"""

LOOK = Turn(
    "What does this project do? Look at its code first.",
    (
        Say(
            "I'll start with the layout and the README.",
            calls=(_call("glob", pattern="**/*.py"), _read("README.md")),
        ),
        Say(
            "Now the four modules.",
            calls=(
                _read("tally/parser.py"),
                _read("tally/parser.py", 60),
                _read("tally/money.py"),
                _read("tally/report.py"),
                _read("tally/cli.py"),
            ),
        ),
        Say(
            "And how it is tested, with the example it comes with.",
            calls=(_read("tests/test_money.py"), _read("tests/test_parser.py"), _read("examples/household.ledger")),
        ),
        Say(
            "**tally** reads a plain-text ledger and prints balances.\n\n"
            "- `tally/parser.py` turns lines into entries and checks that each adds up to zero.\n"
            "- `tally/money.py` holds amounts as whole cents.\n"
            "- `tally/report.py` makes the three reports: balances, register, one month.\n"
            "- `tally/cli.py` ties them to the command line.\n\n"
            "It needs nothing but Python, and has 17 tests."
        ),
    ),
    "Read the whole project: tally/parser.py, money.py, report.py and cli.py, with 17 unittest tests.",
)

TEST = Turn(
    "Run the tests, and show me the register of the example ledger.",
    (
        Say(
            "Both in one go.",
            calls=(
                _call("bash", command=f"{PYTHON} -m unittest"),
                _call("bash", command=f"{PYTHON} -m tally examples/household.ledger --register"),
            ),
        ),
        Say(
            'Two of the 17 tests fail, for one reason: `parse_amount("-0.05")` gives 5 instead of -5. '
            "`test_negative_below_one` says so directly; `test_a_small_rounding_posting` stumbles over it.\n\n"
            "The register runs through: some 300 lines from January to May."
        ),
    ),
    "Ran `python3 -m unittest`: 2 of 17 failed, test_negative_below_one (5 != -5) and test_a_small_rounding_posting "
    '(line 1: the entry is off by 0.10), both because parse_amount("-0.05") gave 5 instead of -5.',
)

MEND = Turn(
    "Fix it, and run the tests again.",
    (
        Say(
            "The sign is lost where the whole part is read. Once more that place:", calls=(_read("tally/money.py", 20),)
        ),
        Say(
            '`int("-0")` is 0, so the test for `whole < 0` misses it. I take the sign from the text.',
            calls=(_call("edit", path="tally/money.py", edits=[{"old": WRONG, "new": RIGHT}]),),
        ),
        Say("", calls=(_call("bash", command=f"{PYTHON} -m unittest"),)),
        Say(
            "Fixed in `tally/money.py`: the sign now comes from the text, not from the number. All 17 tests pass, and "
            "the failing ones needed no change."
        ),
    ),
    'Fixed parse_amount in tally/money.py: the sign is taken from the text, since int("-0") is 0; all 17 tests pass.',
)

REST = Turn(
    "What is still to do in this project?",
    (
        Say("", calls=(_call("grep", pattern="TODO|Not done yet", context=2),)),
        Say(
            "Three notes in the code and two in the README:\n\n"
            "1. `parser.py`: a comment behind an amount (the README has it too)\n"
            "2. `report.py`: a month that is not one should be an error\n"
            "3. `cli.py`: say which encoding was expected\n"
            "4. README: a budget file to compare with\n\n"
            "The second is the smallest."
        ),
    ),
    "Listed what is open: comments behind amounts (parser.py), checking the month (report.py), the encoding's name "
    "(cli.py), a budget file.",
)

TURNS = (LOOK, TEST, MEND, REST)

STOPS = (
    Stop(
        "Welcome. The model is a recording: nothing is sent or paid, the prices are examples. All else is real, in a "
        "copy of a small project: the tools run, the log is written, the meter counts. The bar below is the model's "
        "whole window, 32k tokens. The second mark is the budget chosen for it, 17k; the first is where the program "
        "would act by itself. A prompt is typed in for you: press Enter.",
        LOOK.prompt,
    ),
    Stop(
        "Ten tool results came in, and the bar shows them in their own colour. The line below it says how much of the "
        "last request the provider still knew (cheap) and how long it will remember. Press Enter.",
        TEST.prompt,
    ),
    Stop(
        "The register was too long for this budget: the model saw its head and tail, the whole is in a file that the "
        "card names. And two tests fail. Press Enter to have that mended.",
        MEND.prompt,
    ),
    Stop(
        "The bar is close to its first mark, and most of it is code that was read for the first question. Press Enter: "
        "/prune shows what would go, what it frees, and what it costs to have the cache broken there. Nothing happens "
        "until you press Enter again, in the plan.",
        "/prune",
    ),
    Stop(
        "Old results are one line each now, and the bar is shorter. The model can have any of them back with recall; "
        "your own transcript has lost nothing. The next request breaks the cache once, where the first of them stood: "
        "watch the cache line. Press Enter.",
        REST.prompt,
    ),
    Stop(
        "Pruning throws away results; compacting replaces the conversation itself by a summary. The words behind "
        "/compact say what it must keep. Press Enter.",
        "/compact keep what the failing tests said",
    ),
    Stop(
        "The divider says how large the conversation was and is, and where the part kept word for word begins. Below "
        "the summary the program put what it knows without a model: files, commands, exit codes. Not what you wanted? "
        "Press Enter.",
        "/undo",
    ),
    Stop(
        "All is back, by one more line in the log: nothing in it is ever erased. Last, /context lists what the model "
        "sees, item by item. There Space marks, Enter prunes what is marked, p pins, Esc leaves. Press Enter.",
        "/context",
    ),
)

TOUR_PROMPTS: tuple[str, ...] = tuple(stop.prompt for stop in STOPS)

FAREWELL = (
    "That was the tour. The same commands work in every session, and without a screen: `ullage context`, `prune`, "
    "`compact`, `undo`. Leave with /quit; then `ullage` in a folder of your own begins a real session."
)
