"""From the name a user gives to the place a request goes: endpoint, key, and what the settings claim of the model.

Not a client (that is `models.remote`) and not a window (that is `models.catalogue`). Keys come from the environment of
today, else from what the user has saved (`keys`).

Invariants
 1. A provider's key goes to that provider's own addresses only, over TLS; to any other server none but what its entry
    names as `api_key_env`.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from pathlib import Path

from agent.keys import Keys
from agent.model import Endpoint
from agent.models.embedded import embedded_endpoint, summary_grammar
from agent.models.providers import is_own_address, key_variable, provider_of
from agent.models.weights import EMBEDDED_NAME, PREFIX, SUFFIX, is_embedded
from agent.settings import Settings
from compaction.judge import HEADINGS

# Servers of one's own rarely ask for a key, but the client library insists on a text.
NO_KEY = "none"

# Providers whose server stands on this machine and asks for no key.
LOCAL = ("ollama", "ollama_chat", "lm_studio", "llamafile", "vllm", "hosted_vllm")


class Endpoints:
    """Resolves names under the settings, the environment and the saved `keys` given."""

    def __init__(self, settings: Settings, environ: Mapping[str, str], keys: Keys | None = None) -> None:
        self.settings = settings
        self.keys = keys
        self._environ = environ
        self._bases: dict[str, str] = {}
        self._default: str | None = None

    def default(self) -> str:
        """The model to start with: the settings' own, else the embedded one, which needs no key."""
        chosen = self._default or self.settings.model
        return self.name_of(chosen) if chosen else EMBEDDED_NAME

    def adopt(self, name: str, api_base: str | None, *, remember: bool) -> None:
        """What was chosen while the program runs: an address for a model, a model for new sessions."""
        if api_base is not None:
            self._bases[name] = api_base
        if remember:
            self._default = name

    def under(self, settings: Settings) -> Endpoints:
        """The same choices under other settings."""
        found = self.anew(settings)
        found._bases, found._default = self._bases, self._default
        return found

    def anew(self, settings: Settings) -> Endpoints:
        """Other settings, and nothing chosen yet."""
        return Endpoints(settings, self._environ, self.keys)

    async def load_keys(self) -> None:
        """Reads what keys are saved, on a thread, where that has changed since."""
        if self.keys is not None:
            await asyncio.to_thread(self.keys.load)

    @property
    def trouble(self) -> str:
        """Why some of the saved keys are missing, as a sentence, or nothing."""
        return self.keys.trouble if self.keys is not None else ""

    def _key(self, variable: str) -> str | None:
        return self._environ.get(variable) or (self.keys.value(variable) if self.keys is not None else None)

    def _variable(self, name: str) -> str | None:
        """What names the key that `name` is asked with; None where no key is to be sent."""
        entry, adopted = self.settings.entry_for(name), self._bases.get(name)
        if entry.api_key_env is not None:
            return entry.api_key_env
        base = adopted or entry.api_base
        return key_variable(name) if base is None or is_own_address(name, base) else None

    def name_of(self, given: str) -> str:
        """The name as it is stored: a GGUF file's path becomes absolute, a bare name on one's own server `openai/…`."""
        given = given.strip()
        if given in ("embedded", "smollm2"):
            return EMBEDDED_NAME
        if given.lower().endswith(SUFFIX):
            return f"{PREFIX}{Path(os.path.expanduser(given.removeprefix(PREFIX))).resolve()}"
        if "/" not in given and self.settings.entry_for(given).api_base:
            return f"openai/{given}"
        return given

    def resolve(self, name: str) -> Endpoint:
        """Where `name` is asked. An embedded model's address is known only once it runs."""
        if is_embedded(name):
            return embedded_endpoint(name)
        entry = self.settings.entry_for(name)
        base = self._bases.get(name) or entry.api_base
        variable = self._variable(name)
        key = self._key(variable) if variable else None
        if key is None and entry.api_key_env is None and (base or name.partition("/")[0] in LOCAL):
            key, variable = NO_KEY, None
        return Endpoint(name, name, base, key, None if key else variable)

    def way_in(self, name: str) -> tuple[bool | None, str]:
        """Whether `name` could be asked as things are (None: nobody can tell), and by what way, in words."""
        endpoint = self.resolve(name)
        if endpoint.missing_key is not None:
            return False, f"needs {endpoint.missing_key}"
        if endpoint.api_base is not None:
            return True, f"at {endpoint.api_base}"
        variable = self._variable(name)
        if variable is not None and endpoint.key not in (None, NO_KEY):
            return True, self.found(variable) or ""
        return None, "on this machine, if it runs" if provider_of(name) in LOCAL else "its own sign-in"

    def found(self, variable: str) -> str | None:
        """Where a key is found, in words; None where there is none."""
        if self._environ.get(variable):
            return f"{variable} is set"
        where = self.keys.where(variable) if self.keys is not None and self.keys.value(variable) else None
        return None if where is None else {"keyring": "key in the system keyring", "file": "key in keys.json"}[where]

    def summary_grammar(self, endpoint: Endpoint) -> str | None:
        """The grammar that holds the toy-sized model to the summary's headings; None for every other model."""
        return summary_grammar(HEADINGS) if endpoint.name == EMBEDDED_NAME else None
