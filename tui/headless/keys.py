"""`ullage keys`: saves, forgets and lists the keys of providers.

Not the keeping (that is the agent's). A key comes from a hidden prompt or from standard input, never from an argument,
where every process of the machine could read it.

Invariants
 1. No key is ever printed, whatever goes wrong.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from getpass import getpass
from typing import Any, Protocol, TextIO

from tui.headless.objects import plain_object
from tui.headless.pipes import Pipe
from tui.headless.reading import NOTHING, table_of
from tui.headless.writing import USAGE

COLUMNS = {"provider": "PROVIDER", "variable": "VARIABLE", "where": "KEPT IN"}


class Kept(Protocol):
    """What `agent.wishes.saving_keys` does. All raise what `troubles` names, with a sentence."""

    @property
    def troubles(self) -> tuple[type[Exception], ...]: ...
    def variable(self, name: str) -> str: ...
    def save(self, name: str, key: str) -> str: ...
    def forget(self, name: str) -> str | None: ...
    def kept(self) -> tuple[Sequence[Any], str]: ...


def run_keys(
    options: argparse.Namespace,
    keys: Kept,
    stdin: TextIO | None,
    out: TextIO | None,
    err: TextIO | None,
    hidden: Callable[[str], str] = getpass,
) -> int:
    """Runs one of `list`, `set` and `forget`; returns the exit status. `hidden` asks without showing what is typed."""
    output, errors = Pipe(out), Pipe(err)

    def failed(text: object, code: int) -> int:
        errors.text(f"ullage: {text}")
        return code

    provider = options.provider
    if options.what == "list":
        return _list(options, keys, output, errors)
    if provider is None:
        return failed(f"keys {options.what} needs a provider, as in `ullage keys {options.what} anthropic`", USAGE)
    try:
        keys.variable(provider)
    except keys.troubles as error:
        return failed(error, USAGE)
    try:
        if options.what == "forget":
            said = keys.forget(provider)
            if said is None:
                if options.json:
                    output.json({"provider": provider, "said": None})
                return failed(f"no key is saved for {provider}", NOTHING)
        else:
            said = keys.save(provider, _key(provider, stdin, hidden))
    except (EOFError, KeyboardInterrupt):
        return failed("nothing was saved", 130)
    except keys.troubles as error:
        return failed(error, 1)
    if options.json:
        output.json({"provider": provider, "said": said})
    else:
        output.text(said)
    return 0


def _key(provider: str, stdin: TextIO | None, hidden: Callable[[str], str]) -> str:
    """From the terminal without an echo, or the first line of what is piped in."""
    if stdin is not None and not stdin.closed and not stdin.isatty():
        return stdin.readline().strip()
    return hidden(f"Key for {provider} (it is not shown): ").strip()


def _list(options: argparse.Namespace, keys: Kept, output: Pipe, errors: Pipe) -> int:
    rows, trouble = keys.kept()
    values = [plain_object(row) for row in rows]
    if trouble:
        errors.text(f"ullage: {trouble}")
    none = "no keys: set a variable such as ANTHROPIC_API_KEY, or save one with `ullage keys set anthropic`"
    if options.json:
        output.json(values)
    else:
        output.text(table_of(values, COLUMNS) if values else none)
    return 1 if trouble else 0
