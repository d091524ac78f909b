"""The tools a model may call, in the order their schemas are sent, and the contract they keep.

Not permissions and not the loop. The order never changes within a release: schemas are part of the cached prefix.
"""

from __future__ import annotations

from agent.sanitise import clean
from agent.tools.arguments import parse
from agent.tools.bash import Bash
from agent.tools.contract import Args, Need, Refused, Result, Schema, Tool
from agent.tools.edit import Edit
from agent.tools.environment import Environment
from agent.tools.glob import Glob
from agent.tools.grep import Grep
from agent.tools.read import Read
from agent.tools.recall import LogRecaller, Recall
from agent.tools.workspace import Recaller, Workspace
from agent.tools.write import Write
from compaction.records import ToolCall
from compaction.view import TITLE

TOOLS: tuple[Tool, ...] = (Read(), Write(), Edit(), Bash(), Grep(), Glob(), Recall())


def title_of(call: ToolCall) -> str:
    """What a call that never got a result is called: `bash make test`; its name alone where it cannot be read."""
    tool = next((tool for tool in TOOLS if tool.name == call.name), None)
    args = None if tool is None else parse(call.arguments, tool.schema(False))
    if tool is None or args is None or isinstance(args, str):
        return clean(call.name)[:TITLE]
    return clean(tool.title(args))[:TITLE]


__all__ = [
    "TOOLS",
    "Args",
    "Environment",
    "LogRecaller",
    "Need",
    "Recaller",
    "Refused",
    "Result",
    "Schema",
    "Tool",
    "Workspace",
    "parse",
    "title_of",
]
