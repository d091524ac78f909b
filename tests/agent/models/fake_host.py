"""A child process that speaks the host's protocol without any provider library: what it does is the model's name.

Run in the place of Python by `RemoteModel(python=…)`; starts in a moment, so that deaths and silences can be tested.
"""

from __future__ import annotations

import json
import os
import signal
import stat
import sys
from pathlib import Path
from typing import Any

READY = "ready"


def say(**message: Any) -> None:
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


def answer(message: dict[str, Any]) -> None:
    id = message["id"]
    if message["op"] == "cancel":
        say(id=id, cancelled=True)
        return
    what = message["call"]["model"].partition("/")[2]
    if what == "hello":
        say(id=id, pieces=[["text", "hello"]])
        say(id=id, done={"text": "hello", "calls": [], "thinking": "", "blocks": [], "fields": {}, "finish": "stop",
                         "usages": [], "type": "text/event-stream"})  # fmt: skip
    elif what == "prints":
        print("a stray line")
        print('["no object"]')
        answer({"id": id, "op": "stream", "call": {"model": "x/hello"}})
    elif what == "dies":
        say(id=id, pieces=[["text", "half of"]])
        os._exit(1)
    elif what == "crashes":
        os.kill(os.getpid(), signal.SIGKILL)
    elif what == "stops":
        say(id=id, pieces=[["text", "half of"]])
        os.kill(os.getpid(), signal.SIGSTOP)
    elif what == "where":
        answer_where(id)


def answer_where(id: int) -> None:
    facts = {"cwd": os.getcwd(), "argv": sys.argv[3:], "path": os.environ.get("PYTHONPATH", ""),
             "session": os.getsid(0) == os.getpid()}  # fmt: skip
    say(id=id, done={"text": json.dumps(facts), "calls": [], "thinking": "", "blocks": [], "fields": {},
                     "finish": "stop", "usages": [], "type": ""})  # fmt: skip


def installed(folder: Path, start: str = READY) -> str:
    """Writes an executable that runs this file with `start`, and gives its path."""
    path = folder / f"python-{start}"
    path.write_text(
        f'#!/bin/sh\nexec {sys.executable} -S -E {Path(__file__)} {start} {folder} "$@"\n', encoding="utf-8"
    )
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)


def main() -> None:
    start = sys.argv[1]
    if start == "broken":
        print("ModuleNotFoundError: No module named 'litellm'", file=sys.stderr)
        sys.exit(1)
    if start == "failed":
        say(op="failed", why="No module named 'litellm'")
        sys.exit(1)
    if start == "once":
        # Comes up the second time only.
        marker = Path(sys.argv[2], "marker")
        if not marker.exists():
            marker.touch()
            sys.exit(1)
    say(op="ready")
    for line in sys.stdin:
        answer(json.loads(line))


if __name__ == "__main__":
    main()
