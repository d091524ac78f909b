"""A workspace to try tools on, and a call as the loop makes it: arguments as JSON, then the need, then the run."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from agent.tools import TOOLS, Need, Refused, Result, Workspace, parse

BY_NAME = {tool.name: tool for tool in TOOLS}

# A valid image of 8 x 8 pixels.
PNG = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000008000000080800000000e164e1570000000c49444154789c6360a00e0000004800012eb83c7e"
    "0000000049454e44ae426082"
)


# In the environment of every command: tells this run of the tests from another one at the same time.
RUN = "BASH_TEST_RUN"


@dataclass
class Bench:
    """`printed` collects the live output."""

    ws: Workspace
    printed: list[tuple[str, str]] = field(default_factory=list)

    @property
    def folder(self) -> Path:
        return self.ws.folder

    def need(self, name: str, **args: Any) -> Need:
        """What a call needs. Raises `Refused`."""
        return BY_NAME[name].need(self.args(name, args), self.ws)

    def args(self, name: str, args: dict[str, Any]) -> dict[str, Any]:
        parsed = parse(json.dumps(args), BY_NAME[name].schema(False))
        assert isinstance(parsed, dict), parsed
        return parsed

    async def call(self, name: str, **args: Any) -> Result:
        """The result of a call, refusals included."""
        tool = BY_NAME[name]
        parsed = parse(json.dumps(args), tool.schema(False))
        if isinstance(parsed, str):
            return Result(parsed, failed=True)
        try:
            tool.need(parsed, self.ws)
        except Refused as refusal:
            return Result(str(refusal), failed=True)
        return await tool.run(parsed, self.ws, "c1")

    def write(self, name: str, data: bytes | str) -> Path:
        """A file of the workspace, with its folders."""
        path = self.ws.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data if isinstance(data, bytes) else data.encode())
        return path


def bench_in(folder: Path, page_characters: int = 50 * 1024) -> Bench:
    """A bench over `folder`, with an environment of its own."""
    environ = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": str(folder), "LANG": "C.UTF-8", RUN: str(os.getpid())}
    bench = Bench(Workspace(folder, page_characters, environ=environ))
    bench.ws.on_output = lambda call, text: bench.printed.append((call, text))
    return bench
