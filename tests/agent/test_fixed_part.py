"""The fixed part is in every request and never rewritten, so it stays small: system prompt and schemas together."""

from __future__ import annotations

import pytest

from agent.counting import count
from agent.instructions import prompt
from agent.request import canonical
from agent.tools import TOOLS

# ENGINE section 2: 2,500 tokens and 10 KB, or 900 tokens for windows up to 16k.
KILOBYTE = 1_000


@pytest.mark.parametrize(("short", "name", "tokens"), [(False, "system", 2_500), (True, "system_short", 900)])
def test_system_prompt_and_schemas_together_stay_small(short: bool, name: str, tokens: int) -> None:
    texts = [prompt(name), *(canonical(tool.schema(short)) for tool in TOOLS)]
    assert len(texts) == 8
    assert sum(map(count, texts)) <= tokens
    assert sum(len(text.encode()) for text in texts) <= 10 * KILOBYTE
