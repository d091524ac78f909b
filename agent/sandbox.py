"""Commands behind bubblewrap: the workspace and /tmp writable, the rest read-only, the network off unless allowed.

Not a permission: what may run is judged before, this bounds what it can do. Where bubblewrap is missing or may not make
namespaces, `probe` says so in one sentence and nothing is wrapped.

Invariants
 1. A wrapped command that outlives its call dies with bubblewrap: it has its own process namespace.
 2. Nothing outside `writable` can be changed, the session's own files and the settings included.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

# A working bubblewrap answers in about 10 ms; a second is a machine in trouble, ten a hang.
PROBE_SECONDS = 10


@dataclass(frozen=True, slots=True)
class Policy:
    """What a wrapped command may do. `writable` are further folders beside the workspace and /tmp.

    `kept` stay read-only and `hidden` out of sight, though they lie in the workspace.
    """

    network: bool = False
    writable: tuple[Path, ...] = ()
    kept: tuple[Path, ...] = ()
    hidden: tuple[Path, ...] = ()


@dataclass(frozen=True, slots=True)
class Sandbox:
    """A bubblewrap that was seen to work (`program`), and the policy to run it with."""

    program: str
    policy: Policy = Policy()

    def wrap(self, argv: Sequence[str], folder: Path, cwd: Path, also: Sequence[Path] = ()) -> list[str]:
        """`argv` inside the sandbox, run in `cwd`; `folder` is the workspace, `also` what else this one may write."""
        wrapped = [self.program, "--die-with-parent", "--new-session", "--unshare-all"]
        if self.policy.network:
            wrapped.append("--share-net")
        wrapped += ["--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--bind", "/tmp", "/tmp"]
        for folder_or_file in (folder, *self.policy.writable, *also):
            wrapped += ["--bind-try", str(folder_or_file), str(folder_or_file)]
        # Last: a workspace that holds them (somebody's home) would be put over them.
        for kept in self.policy.kept:
            if kept not in (folder, *folder.parents):
                wrapped += ["--ro-bind-try", str(kept), str(kept)]
        for hidden in self.policy.hidden:
            if hidden.is_dir():
                wrapped += ["--tmpfs", str(hidden)]
            elif hidden.exists():
                wrapped += ["--ro-bind", "/dev/null", str(hidden)]
        return [*wrapped, "--chdir", str(cwd), "--", *argv]

    def describe(self) -> str:
        """One line for the screen."""
        network = "network on" if self.policy.network else "network off"
        return f"commands run in a sandbox (bubblewrap): this folder and /tmp writable, the rest read-only, {network}"


def _run(argv: Sequence[str]) -> int | str:
    """The exit status of a short command, or why it could not be run."""
    try:
        done = subprocess.run(argv, capture_output=True, timeout=PROBE_SECONDS, stdin=subprocess.DEVNULL, check=False)
    except OSError as error:
        return error.strerror or str(error)
    except subprocess.TimeoutExpired:
        return f"it did not answer within {PROBE_SECONDS} seconds"
    if done.returncode == 0:
        return 0
    return (
        done.stderr.decode("utf-8", "replace").strip().splitlines()[-1:][0] if done.stderr.strip() else done.returncode
    )


def probe(
    policy: Policy,
    *,
    find: Callable[[str], str | None] = shutil.which,
    run: Callable[[Sequence[str]], int | str] = _run,
) -> Sandbox | str:
    """A sandbox that works here, or the sentence that says why there is none. Blocks for some milliseconds."""
    program = find("bwrap")
    if program is None:
        return "no sandbox: bubblewrap (bwrap) is not installed; commands run with your own rights"
    sandbox = Sandbox(os.path.abspath(program), policy)
    outcome = run(sandbox.wrap(["/bin/sh", "-c", ":"], Path("/tmp"), Path("/tmp")))
    if outcome != 0:
        return f"no sandbox: bubblewrap does not work here ({outcome}); commands run with your own rights"
    return sandbox


def describe(sandbox: Sandbox | str | None) -> str:
    """One line for the screen, whatever `probe` answered; None is switched off."""
    if sandbox is None:
        return "no sandbox: switched off in the settings; commands run with your own rights"
    return sandbox if isinstance(sandbox, str) else sandbox.describe()
