"""The saved keys as people deal with them: by provider, with where each is kept and whether the environment hides it.

Not the keeping (that is `keys`). Blocks for a bounded time; no value comes out of here.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from agent.keys import Keys, KeyTrouble, variable_of
from agent.models.providers import KEY_VARIABLES, provider_with
from agent.places import Places
from agent.session import Session
from agent.wire import Finished, SaveKey

WORDS = {"keyring": "the system keyring", "file": "a file that only you can read"}


@dataclass(frozen=True, slots=True)
class KeptKey:
    """One key by name: the provider, the variable that would hold it, and where it is."""

    provider: str
    variable: str
    where: str


class SavedKeys:
    """The keys under `places`, seen with `environ`; `others` are variables that settings name for a key."""

    troubles: tuple[type[Exception], ...] = (KeyTrouble,)

    def __init__(
        self, places: Places, environ: Mapping[str, str], others: Sequence[str] = (), keys: Keys | None = None
    ) -> None:
        self._keys = Keys(places.keys) if keys is None else keys
        self._environ, self._others = environ, others

    def variable(self, name: str) -> str:
        """What holds the key of a provider. Raises `KeyTrouble`."""
        return variable_of(name, self._others)

    def save(self, name: str, key: str) -> str:
        """Keeps a key; the sentence about it. Raises `KeyTrouble`."""
        variable = self.variable(name)
        where = self._keys.save(variable, key.strip())
        said = f"the key for {name} is kept in {WORDS[where]}"
        place = f" ({self._keys.path})" if where == "file" else ""
        wins = f"; the variable {variable} is set and comes before it" if self._environ.get(variable) else ""
        return f"{said}{place}{wins}"

    def forget(self, name: str) -> str | None:
        """Drops a key; the sentence about it, None where there was none. Raises `KeyTrouble`."""
        variable = self.variable(name)
        if not self._keys.forget(variable):
            return None
        still = f"; the variable {variable} is still set" if self._environ.get(variable) else ""
        return f"the key for {name} is forgotten{still}"

    def kept(self) -> tuple[Sequence[KeptKey], str]:
        """All keys there are, the environment's among them, and why some are missing, if so."""
        self._keys.load()
        rows: list[KeptKey] = []
        saved = dict(self._keys.kept())
        for variable in dict.fromkeys([*KEY_VARIABLES.values(), *self._others, *saved]):
            provider = provider_with(variable) or ""
            if self._environ.get(variable):
                rows.append(KeptKey(provider, variable, "environment"))
            if variable in saved:
                rows.append(KeptKey(provider, variable, saved[variable]))
        return rows, self._keys.trouble


async def save_key(session: Session, command: SaveKey) -> Finished:
    """Carries the wish out, on a thread; the session uses the key from its next request on."""
    kit = session.kit
    if kit.endpoints.keys is None:
        return Finished("key", False, 1, None, "no keys can be saved here")
    saved = SavedKeys(kit.places, kit.environ, kit.settings.key_variables(), kit.endpoints.keys)
    try:
        said = await asyncio.to_thread(saved.save, command.provider, command.key)
    except KeyTrouble as error:
        return Finished("key", False, 1, None, str(error))
    session.refresh()
    session.metered()
    return Finished("key", True, 0, None, said)


__all__ = ["KeptKey", "SavedKeys", "save_key"]
