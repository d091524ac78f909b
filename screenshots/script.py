"""What is said in the pictures: the replies of a scripted model working on the tour's little project. Data."""

from __future__ import annotations

import json
from typing import Any

from agent.models.scripted import Say
from agent.tour.script import RIGHT, WRONG

MODEL = "example/large"

# Small enough that a few files fill it, with both marks well apart on 80 columns. Prices: a middling hosted model's.
SETTINGS = f"""\
model = "{MODEL}"
mode = "auto"
notify = false
sandbox.use = "off"

[context]
budget = "24k"
prune_protect = 1000
prune_minimum = 1000

[models."{MODEL}"]
window = 48000
max_output = 4096
prices.input = 3.0
prices.cached = 0.3
prices.cache_write = 3.75
prices.output = 15.0
"""


def call(name: str, **arguments: Any) -> tuple[str, str]:
    return name, json.dumps(arguments)


def read(path: str) -> Say:
    return Say("", calls=(call("read", path=path),))


LOOK = "What does this project do? Look at its code first."
LOOKING = (
    Say("I'll start with the layout.", calls=(call("glob", pattern="**/*.py"),)),
    read("README.md"),
    read("tally/parser.py"),
    read("tally/money.py"),
    read("tally/report.py"),
    read("tally/cli.py"),
    read("tests/test_parser.py"),
    read("examples/household.ledger"),
    Say(
        "**tally** reads a plain-text ledger and prints balances.\n\n"
        "- `tally/parser.py` turns lines into entries and checks that each adds up to zero.\n"
        "- `tally/money.py` holds amounts as whole cents.\n"
        "- `tally/report.py` makes the three reports: balances, register, one month."
    ),
)

FIND = "A refund of 5 cents is booked as income. Find out why."
FINDING = (
    Say("I'll find where an amount is read.", calls=(call("grep", pattern="parse_amount", context=1),)),
    Say(
        "And ask the function itself, with the tests beside it.",
        calls=(
            call("bash", command="""python3 -c "from tally.money import *; print(parse_amount('-0.05'))" """.strip()),
        ),
    ),
    Say("", calls=(call("bash", command="python3 -m unittest -q 2>&1 | grep -E '^(FAIL|ERROR|Assert)'; exit 1"),)),
    Say(
        'The sign is lost: `parse_amount("-0.05")` gives **5** instead of **-5**.\n\n'
        "| text | whole part | gives | should be |\n|---|---|---|---|\n"
        "| `-1.05` | -1 | -105 | -105 |\n| `-0.05` | 0 | 5 | -5 |\n\n"
        '`int("-0")` is 0, so the test `whole < 0` in `tally/money.py:24` misses it.'
    ),
)

MEND = "Fix it, please."
MENDING = (
    Say(
        "I take the sign from the text instead.",
        calls=(call("edit", path="tally/money.py", edits=[{"old": WRONG, "new": RIGHT}]),),
    ),
    Say("Fixed in `tally/money.py`: the sign now comes from the text, not from the number."),
)

SUMMARY = """\
## Goal
- Find out why a refund of 5 cents is booked as income, and fix it.
## Constraints
- Standard library only; amounts are whole cents; tests are unittest (AGENTS.md).
## Done
- Read all of tally/; ran the tests: 2 of 17 fail, test_negative_below_one (5 != -5) and one that follows from it.
- Fixed parse_amount in tally/money.py: the sign is taken from the text, since int("-0") is 0.
## Decisions
- The regular expression and the tests stay as they were.
## Next
- Run the tests again.
"""

ASK_ON = "How do I see one month only?"

GOING_ON = "`python3 -m tally month examples/household.ledger 2025-03` prints March."
