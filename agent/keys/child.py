"""The system keyring behind a process of its own, with a bounded wait.

Not what is kept there (that is `keys`).
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Protocol

# A keyring that is open answers in half a second, the process's own start included; one that is locked asks a person,
# and a start must not wait for that. Seconds.
PATIENCE = 5.0

# Somebody who saves a key sits there and may have to type the keyring's own password; seconds.
PATIENCE_ASKED = 60.0


class NoKeyring(Exception):
    """The keyring did not do it; the text is a sentence that names no key."""


class Ring(Protocol):
    """A keyring; every method blocks for a bounded time and raises `NoKeyring`."""

    def get(self, names: Sequence[str]) -> Mapping[str, str]:
        """The values kept under these names; those not kept are left out."""
        ...

    def put(self, name: str, value: str) -> None:
        """Keeps a value."""
        ...

    def drop(self, name: str) -> None:
        """Forgets a value; one that is not there is forgotten already."""
        ...


class SystemRing:
    """See `Ring`. `python` runs the child; the environment says which backend it takes.

    `patience` is the longest that `get` waits, seconds.
    """

    def __init__(
        self, python: str = sys.executable, environ: Mapping[str, str] | None = None, patience: float = PATIENCE
    ) -> None:
        self._python, self._environ, self._patience = python, environ, patience

    def get(self, names: Sequence[str]) -> Mapping[str, str]:
        """What is kept under these names."""
        return {name: value for name, value in self._ask({"get": list(names)}, self._patience).items() if value}

    def put(self, name: str, value: str) -> None:
        """Keeps a value, and sees that it is kept: a backend for nothing takes everything and holds none of it."""
        if self._ask({"put": [name, value]}, PATIENCE_ASKED).get(name) != value:
            raise NoKeyring("the system keyring does not keep what it is given")

    def drop(self, name: str) -> None:
        """Forgets a value."""
        if self._ask({"drop": [name]}, PATIENCE_ASKED).get(name) is not None:
            raise NoKeyring("the system keyring does not forget what it was told to")

    def _ask(self, question: Mapping[str, Sequence[str]], patience: float) -> Mapping[str, str | None]:
        try:
            child = subprocess.Popen(
                [self._python, "-P", "-m", "agent.keys.host"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL, start_new_session=True, env=self._environ,
            )  # fmt: skip
        except OSError as error:
            raise NoKeyring(f"the system keyring cannot be asked: {error.strerror}") from error
        # Our ends of the pipes are closed whoever still holds the others.
        with child:
            try:
                answer, _ = child.communicate(json.dumps(question).encode(), timeout=patience)
            except subprocess.TimeoutExpired:
                with suppress(ProcessLookupError):
                    os.killpg(child.pid, signal.SIGKILL)
                raise NoKeyring(f"the system keyring did not answer within {patience:.0f} s") from None
        if child.returncode:
            raise NoKeyring("there is no system keyring that works here")
        values: Mapping[str, str | None] = json.loads(answer)
        return values
