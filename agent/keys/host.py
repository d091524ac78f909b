"""The child process that asks the system keyring: it may wait for a person, hang, or fail in any way a library can.

Run by `child` as `python -P -m agent.keys.host`, one question in a process. Not a library.

Invariants
 1. Keys go in and out over pipes only; nothing of one is in an argument, a variable or an error.
 2. Whatever fails ends in an exit status other than 0.
"""

from __future__ import annotations

import contextlib
import json
import os

SERVICE = "ullage"


def main(question: dict[str, list[str]]) -> dict[str, str | None]:
    """`get`: names to values; `put`: a name and a value, given back as it is kept then; `drop`: a name."""
    import keyring
    import keyring.errors

    match question:
        case {"get": names}:
            return {name: keyring.get_password(SERVICE, name) for name in names}
        case {"put": [name, value]}:
            keyring.set_password(SERVICE, name, value)
            return {name: keyring.get_password(SERVICE, name)}
        case {"drop": [name]}:
            with contextlib.suppress(keyring.errors.PasswordDeleteError):
                keyring.delete_password(SERVICE, name)
            return {name: keyring.get_password(SERVICE, name)}
        case _:
            raise ValueError("no such question")


if __name__ == "__main__":
    asked, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        # What a backend prints is nobody's answer, and a traceback may hold a key.
        os.dup2(nothing, stream)
    answers.write(json.dumps(main(json.load(asked))).encode())
    answers.flush()
    # A backend's threads must not hold up an answer that is there.
    os._exit(0)
