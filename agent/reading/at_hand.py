"""Which models could be used at once: keys in the environment, servers on this machine, the embedded one.

Not a choice and not a key's value: a key is named, never shown. Nothing is asked but this machine's own ports.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from agent.models.providers import KEY_VARIABLES
from agent.models.weights import EMBEDDED_NAME
from agent.reading.servers import Fetch, servers

# A model of each provider that codes well and costs what a day's work may cost: the first that the catalogue knows.
SENSIBLE: Mapping[str, tuple[str, ...]] = {
    "anthropic": ("claude-sonnet-5-5", "claude-sonnet-5", "claude-sonnet-4-6", "claude-sonnet-4-5"),
    "openai": ("gpt-5.6", "gpt-5.5", "gpt-5.4", "gpt-5"),
    "gemini": ("gemini/gemini-3.8-flash", "gemini/gemini-3.5-flash", "gemini/gemini-flash-latest"),
    "deepseek": ("deepseek/deepseek-v4-pro", "deepseek/deepseek-v3.2", "deepseek/deepseek-chat"),
    "mistral": ("mistral/devstral-latest", "mistral/mistral-medium-latest"),
    "codestral": ("codestral/codestral-latest",),
    "groq": ("groq/openai/gpt-oss-120b",),
    "xai": ("xai/grok-4.7", "xai/grok-4.5", "xai/grok-code-fast-1"),
    "moonshot": ("moonshot/kimi-k3", "moonshot/kimi-k2.7-code", "moonshot/kimi-k2.5"),
    "zai": ("zai/glm-5.3", "zai/glm-5", "zai/glm-4.6"),
    "minimax": ("minimax/MiniMax-M3", "minimax/MiniMax-M2"),
    "dashscope": ("dashscope/qwen3.8-max", "dashscope/qwen3-coder-plus"),
    "together_ai": ("together_ai/zai-org/GLM-5.3", "together_ai/zai-org/GLM-4.6"),
    "fireworks_ai": ("fireworks_ai/glm-5p3", "fireworks_ai/kimi-k3"),
    "cerebras": ("cerebras/qwen-3.8-27b", "cerebras/gpt-oss-120b"),
    "sambanova": ("sambanova/MiniMax-M2.7", "sambanova/DeepSeek-V3.2"),
    "deepinfra": ("deepinfra/zai-org/GLM-5.2", "deepinfra/zai-org/GLM-5"),
    "novita": ("novita/zai-org/glm-5.3", "novita/zai-org/glm-5"),
}

# Of each server this many; the rest is one /model away.
OF_EACH = 2


@dataclass(frozen=True, slots=True)
class AtHand:
    """A model that could be used at once, and where it was found. `api_base` is set for a server of one's own.

    A `model` that ends in `/` is a provider whose key is there and whose model the user has to name.
    """

    kind: Literal["key", "server", "embedded"]
    model: str
    found: str
    api_base: str | None = None


def at_hand(
    keys: Mapping[str, str], known: Collection[str], *, embedded: bool, fetch: Fetch | None = None
) -> Sequence[AtHand]:
    """Keys first, then servers, then the embedded model. Waits for the ports, as `servers` does.

    `keys`: the variables whose keys are there, and where those are, in words.
    """
    of: dict[str, int] = {}
    found: list[AtHand] = []
    for one in servers(fetch):
        of[one.api_base] = of.get(one.api_base, 0) + 1
        if of[one.api_base] <= OF_EACH:
            found.append(AtHand("server", one.model, one.found, one.api_base))
    toy = "needs no key, no network; toy-sized, for trying out"
    return [*_keys(keys, known), *found, *([AtHand("embedded", EMBEDDED_NAME, toy)] if embedded else [])]


def _keys(keys: Mapping[str, str], known: Collection[str]) -> Sequence[AtHand]:
    found: dict[str, AtHand] = {}
    for provider, variable in KEY_VARIABLES.items():
        if variable in keys and variable not in found:
            model = next((name for name in SENSIBLE.get(provider, ()) if name in known), f"{provider}/")
            found[variable] = AtHand("key", model, keys[variable])
    return list(found.values())
