"""What differs between providers and is known beforehand: key variables, families, who takes which extra.

Not a list of models (that is `catalogue`). Pure.
"""

from __future__ import annotations

import re
from typing import Literal, TypeAlias
from urllib.parse import urlsplit

Family: TypeAlias = Literal["anthropic", "gemini", "openai", "other"]

# The environment variable that each provider documents for its key.
KEY_VARIABLES = {
    "anthropic": "ANTHROPIC_API_KEY",
    "openai": "OPENAI_API_KEY",
    "gemini": "GEMINI_API_KEY",
    "openrouter": "OPENROUTER_API_KEY",
    "deepseek": "DEEPSEEK_API_KEY",
    "mistral": "MISTRAL_API_KEY",
    "codestral": "CODESTRAL_API_KEY",
    "groq": "GROQ_API_KEY",
    "xai": "XAI_API_KEY",
    "moonshot": "MOONSHOT_API_KEY",
    "zai": "ZAI_API_KEY",
    "minimax": "MINIMAX_API_KEY",
    "dashscope": "DASHSCOPE_API_KEY",
    "together_ai": "TOGETHERAI_API_KEY",
    "fireworks_ai": "FIREWORKS_AI_API_KEY",
    "cerebras": "CEREBRAS_API_KEY",
    "sambanova": "SAMBANOVA_API_KEY",
    "deepinfra": "DEEPINFRA_API_KEY",
    "perplexity": "PERPLEXITYAI_API_KEY",
    "cohere": "COHERE_API_KEY",
    "cohere_chat": "COHERE_API_KEY",
    "nvidia_nim": "NVIDIA_NIM_API_KEY",
    "huggingface": "HF_TOKEN",
    "azure": "AZURE_API_KEY",
    "azure_ai": "AZURE_AI_API_KEY",
    "novita": "NOVITA_API_KEY",
    "github": "GITHUB_API_KEY",
}

# Where each provider's own servers are: addresses that its key may go to. Below a name all of its hosts are meant.
HOSTS = {
    "anthropic": ("anthropic.com",),
    "openai": ("openai.com",),
    "gemini": ("generativelanguage.googleapis.com",),
    "openrouter": ("openrouter.ai",),
    "deepseek": ("deepseek.com",),
    "mistral": ("mistral.ai",),
    "codestral": ("mistral.ai",),
    "groq": ("groq.com",),
    "xai": ("x.ai",),
    "moonshot": ("moonshot.ai", "moonshot.cn"),
    "zai": ("z.ai", "bigmodel.cn"),
    "minimax": ("minimax.io", "minimaxi.com", "minimax.chat"),
    "dashscope": ("dashscope.aliyuncs.com", "dashscope-intl.aliyuncs.com", "dashscope-us.aliyuncs.com"),
    "together_ai": ("together.xyz", "together.ai"),
    "fireworks_ai": ("fireworks.ai",),
    "cerebras": ("cerebras.ai",),
    "sambanova": ("sambanova.ai",),
    "deepinfra": ("deepinfra.com",),
    "perplexity": ("perplexity.ai",),
    "cohere": ("cohere.com", "cohere.ai"),
    "cohere_chat": ("cohere.com", "cohere.ai"),
    "nvidia_nim": ("api.nvidia.com",),
    "huggingface": ("huggingface.co",),
    "azure": ("openai.azure.com", "cognitiveservices.azure.com", "services.ai.azure.com"),
    "azure_ai": ("services.ai.azure.com", "models.ai.azure.com", "cognitiveservices.azure.com", "openai.azure.com"),
    "novita": ("novita.ai",),
    "github": ("models.github.ai", "models.inference.ai.azure.com"),
}

# Names without a provider that the library resolves by itself.
_BARE = (("claude", "anthropic"), ("gpt-", "openai"), ("chatgpt", "openai"), ("codex", "openai"))
_O_SERIES = re.compile(r"o[1-9](-|$)")

# Who takes a message's `reasoning_content` back. Elsewhere it is ignored at best and an unknown key at worst.
_ECHO_REASONING = frozenset(
    {"deepseek", "moonshot", "zai", "minimax", "dashscope", "openrouter", "hosted_vllm", "vllm", "llamafile"}
)

# Thinking-off, by what the model's own API calls it; where there is no entry nothing is sent.
_THINKING_OFF = (
    (re.compile(r"gemini-2\.5-flash"), "disable"),
    (re.compile(r"(^|/)gpt-5\.[1-9]\d*(-mini|-nano)?(-\d|$)"), "none"),
    (re.compile(r"(^|/)gpt-5(-mini|-nano)?(-\d|$)"), "minimal"),
)


def provider_of(model: str) -> str:
    """The provider's name in `model` (`anthropic/…`), or the one a bare name belongs to, or nothing."""
    head, slash, _ = model.partition("/")
    if slash:
        return head.lower()
    name = model.lower()
    if _O_SERIES.match(name):
        return "openai"
    return next((provider for start, provider in _BARE if name.startswith(start)), "")


def key_variable(model: str) -> str | None:
    """The environment variable that holds the key `model` needs; None where none is known to be needed."""
    return KEY_VARIABLES.get(provider_of(model))


def is_own_address(model: str, url: str) -> bool:
    """Whether `url` is one of the model's own provider, reached over TLS: its key may go there."""
    parts = urlsplit(url)
    host = (parts.hostname or "").rstrip(".")
    names = HOSTS.get(provider_of(model), ())
    return parts.scheme == "https" and any(host == name or host.endswith(f".{name}") for name in names)


def provider_with(variable: str) -> str | None:
    """The provider whose key stands in `variable`; None where no provider documents it."""
    return next((provider for provider, name in KEY_VARIABLES.items() if name == variable), None)


def family_of(model: str) -> Family:
    """Whose message spelling the model understands behind its provider."""
    provider, name = provider_of(model), model.lower()
    if provider == "anthropic" or (provider in ("bedrock", "vertex_ai", "azure_ai") and "claude" in name):
        return "anthropic"
    if provider == "gemini" or (provider == "vertex_ai" and "gemini" in name):
        return "gemini"
    return "openai" if provider in ("openai", "azure") else "other"


def takes_marks(model: str) -> Literal["message", "part"] | None:
    """Where a cache mark goes: on the message or tool itself, on the last part of its content, or nowhere."""
    if family_of(model) == "anthropic":
        return "message"
    name = model.lower()
    return "part" if name.startswith("openrouter/") and ("anthropic/" in name or "claude" in name) else None


def echoes_reasoning(model: str, own_server: bool) -> bool:
    """Whether earlier `reasoning_content` may be sent back with a message that made calls."""
    provider = provider_of(model)
    return provider in _ECHO_REASONING or (provider == "openai" and own_server)


def sends_effort(model: str) -> bool:
    """Whether the model is known by its name to take an effort, on whatever server it runs."""
    return "gpt-oss" in model


def thinking_off(model: str) -> str | None:
    """The `reasoning_effort` that switches reasoning off, or as low as it goes."""
    return next((value for pattern, value in _THINKING_OFF if pattern.search(model.lower())), None)
