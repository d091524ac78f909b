"""A story told to a provider over HTTP: the real loop, the real client with its child process, a scripted server.

    async with told(tmp_path, provider, *steps) as story: ...

Nothing is patched: the settings name the server's address, and one child process serves all stories of a module.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agent.model import Endpoint, Part, Request
from agent.models.remote import RemoteModel
from agent.models.stub_server import Step, StubServer
from agent.models.stub_tokens import anthropic_blocks
from compaction.records import AssistantSaid, Record, Usage
from tests.agent.loop.harness import Story

MODEL = "anthropic/claude-sonnet-4-5"

# Dollars per million tokens, as settings state them: writing costs a quarter more than reading anew.
PRICES = "prices.input = 3.0\nprices.output = 15.0\nprices.cached = 0.3\nprices.cache_write = 3.75\n"

SETTINGS = """model = "{model}"
mode = "auto"
[context]
{context}
[sandbox]
use = "off"
[models."{model}"]
api_base = "{base}"
window = {window}
max_output = 4000
{more}
"""


@dataclass
class Lent:
    """A model that many stories share: closing one story closes nothing."""

    model: RemoteModel

    async def stream(self, endpoint: Endpoint, request: Request) -> AsyncIterator[Part]:
        async with aclosing(self.model.stream(endpoint, request)) as parts:
            async for part in parts:
                yield part

    async def aclose(self) -> None:
        pass


@dataclass
class Provider:
    """The client and the server of a module."""

    model: RemoteModel
    server: StubServer

    def script(self, *steps: Step) -> None:
        """Forgets what was asked and answers with `steps`, then with `Done.`"""
        self.server.steps[:] = steps
        self.server.received.clear()

    @property
    def blocks(self) -> list[list[tuple[str, bool]]]:
        """Each request for an answer as (text, marked) blocks."""
        return [anthropic_blocks(r.body) for r in self.server.asked if r.path.endswith("/messages")]

    def story(
        self, root: Path, *steps: Step, context: str = "", window: int = 200_000, more: str = PRICES,
        model: str = MODEL,
    ) -> Story:  # fmt: skip
        """A program whose model is the server's; not started."""
        self.script(*steps)
        story = Story(root, Lent(self.model))
        base = self.server.origin if model.startswith("anthropic/") else self.server.base
        story.places.config.mkdir(parents=True, exist_ok=True)
        story.places.settings.write_text(
            SETTINGS.format(model=model, base=base, window=window, context=context, more=more)
        )
        return story


def calling(*commands: str, text: str = "") -> Mapping[str, Any]:
    """A step that runs these commands side by side."""
    return {"text": text, "calls": [{"name": "bash", "arguments": {"command": command}} for command in commands]}


def usages(records: Sequence[Record]) -> list[Usage]:
    """What the provider reported, reply by reply."""
    return [r.body.usage for r in records if isinstance(r.body, AssistantSaid) and r.body.usage is not None]
