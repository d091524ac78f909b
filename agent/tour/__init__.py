"""The tour: a recorded model, a small project to work on, and what is said between the steps.

Not a front end and not a simulation of the program: everything but the model is real. Whoever runs it copies the
project to a temporary folder, writes `TOUR_SETTINGS` where that session's settings are read, hands `TourModel` to the
session, and shows `narration(n)` before putting `TOUR_PROMPTS[n]` into the prompt line; after the last prompt's work
comes `narration(len(TOUR_PROMPTS))`.

Invariants
 1. No request leaves the process and nothing outside the copy is touched.
 2. Each reply follows from the request alone and from how far its turn has come: prompts can be sent again, in another
    order, or not at all; a prompt that is not the tour's gets an answer that says so.
 3. The summary tells only of turns that the conversation given to it holds.
"""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import aclosing
from pathlib import Path
from typing import Any

from agent import counting
from agent.model import Endpoint, Part, Request, Text
from agent.models.scripted import Say, ScriptedModel
from agent.tour.script import FAREWELL, MEND, REST, STOPS, TOUR_PROMPTS, TURNS

TOUR_NAME = "tour/recorded"

PROJECT = Path(__file__).with_name("project")

# Characters a second: a little faster than anybody reads, so that the stream is seen and not waited for.
SPEED = 600.0

# A window of a small local model and a budget of less than half of it: three questions bring the meter to its first
# mark, and both marks are well apart on 80 columns. The kept results are few, so that a plan to prune has something in
# it. Prices are those of a middling hosted model, in dollars per million tokens, so that plans can show a cost.
TOUR_SETTINGS = f"""\
model = "{TOUR_NAME}"
mode = "auto"
notify = false

[context]
budget = "17k"
prune_protect = 1000
prune_minimum = 1000

[models."{TOUR_NAME}"]
window = 32768
max_output = 4096
prices.input = 3.0
prices.cached = 0.3
prices.cache_write = 3.75
prices.output = 15.0
"""


def narration(n: int) -> str:
    """What to say before `TOUR_PROMPTS[n]`; the farewell for any number beyond."""
    return STOPS[n].narration if 0 <= n < len(STOPS) else FAREWELL


def copy_project(into: Path) -> Path:
    """Copies the sample project to `into / "tally"`, which must not exist, and returns that. Raises `OSError`."""
    return Path(shutil.copytree(PROJECT, into / "tally", ignore=shutil.ignore_patterns("__pycache__", "*.pyc")))


class TourModel:
    """`agent.model.Model` that plays the recording. `pause` waits so many seconds between pieces of text."""

    def __init__(
        self,
        *,
        count: Callable[[str], int] = counting.count,
        pause: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._script = ScriptedModel(default=self._choose, count=count)
        self._pause = pause
        self._said: dict[str, int] = {}

    async def stream(self, endpoint: Endpoint, request: Request) -> AsyncIterator[Part]:
        """See `agent.model.Model`."""
        async with aclosing(self._script.stream(endpoint, request)) as parts:
            async for part in parts:
                if isinstance(part, Text):
                    await self._pause(len(part.text) / SPEED)
                yield part

    async def aclose(self) -> None:
        """Nothing to end."""
        await self._script.aclose()

    def _choose(self, request: Request) -> Say:
        if not request.tools:
            return Say(summary(_text(request.messages)))
        turns = {turn.prompt: turn for turn in TURNS}
        last = _typed(request.messages[-1])
        if last is not None and last not in turns:
            return Say(_off_script(self._said))
        prompt = next((p for m in reversed(request.messages) if (p := _typed(m)) in turns), None)
        if prompt is None:
            return Say(_off_script(self._said))
        step = 0 if last is not None else self._said.get(prompt, 0)
        self._said[prompt] = step + 1
        steps = turns[prompt].steps
        return steps[min(step, len(steps) - 1)]


def summary(conversation: str) -> str:
    """The recorded summary of the turns whose prompt or line the text holds."""
    held = [turn for turn in TURNS if turn.prompt in conversation or turn.done in conversation]
    done = "\n".join(f"- {turn.done}" for turn in held) or "- none"
    decided = "- The sign is read from the text; the regular expression and the tests stay as they were."
    return (
        f"## Goal\n- {held[-1].prompt if held else 'none'}\n"
        "## Constraints\n- Standard library only; amounts are whole cents; tests are unittest (AGENTS.md).\n"
        f"## Done\n{done}\n"
        f"## Decisions\n{decided if MEND in held else '- none'}\n"
        f"## Next\n- {'Check the month in report.py: the smallest of the open points.' if REST in held else 'none'}\n"
    )


def _typed(message: Mapping[str, Any]) -> str | None:
    """What somebody typed; None for every other message. Notices and summaries have the user's role too."""
    content = message.get("content")
    if message.get("role") != "user" or not isinstance(content, str) or content.startswith(("[", "<", "## ")):
        return None
    return content.strip()


def _text(messages: tuple[Mapping[str, Any], ...]) -> str:
    return "\n".join(str(message.get("content")) for message in messages)


def _off_script(said: Mapping[str, int]) -> str:
    left = [turn.prompt for turn in TURNS if turn.prompt not in said]
    hint = f" It goes on with: {left[0]}" if left else " It has come to its end."
    return f"I am a recording and know only the tour's own prompts.{hint} For a real session: /quit, then `ullage`."


__all__ = ["TOUR_NAME", "TOUR_PROMPTS", "TOUR_SETTINGS", "TourModel", "copy_project", "narration", "summary"]
