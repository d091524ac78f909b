"""Whether anybody could serve a model's name, asked before it is chosen: a slip of the keyboard is cheaper caught here.

Not a list of what exists: a new model of a known provider is taken at its word.
"""

from __future__ import annotations

import difflib
from collections.abc import Sequence

from agent.endpoints import LOCAL
from agent.models.providers import KEY_VARIABLES, provider_of
from agent.models.weights import is_embedded
from agent.settings import Settings

# Near names offered beside a sentence.
OFFERED = 3


def doubt(name: str, settings: Settings, known: Sequence[str]) -> str | None:
    """Why `name` cannot be meant, with the nearest of the `known` names; None when it may be.

    Names the settings speak of, files, and everything behind an address of one's own pass.
    """
    if is_embedded(name) or name in settings.models or settings.entry_for(name).api_base or name in known:
        return None
    provider, slash, _ = name.partition("/")
    providers = {n.partition("/")[0] for n in known if "/" in n} | set(KEY_VARIABLES) | set(LOCAL)
    if slash and provider.lower() in providers:
        return None
    near = difflib.get_close_matches(name, known, OFFERED)
    meant = f"; near it: {', '.join(near)}" if near else ""
    if not slash and provider_of(name):
        return f"no model {name!r} is known{meant}. Write {provider_of(name)}/{name} to ask for it all the same"
    return (
        f"no provider of a model {name!r} is known{meant}. For a server of your own give its api_base in the settings"
    )
