"""The process that runs a GGUF model: llama.cpp's server on a loopback port, and nothing else.

Started by `agent.models.llama_process` as a file, never imported by the program; it knows xllamacpp and the standard
library.

Invariants
 1. It never outlives its parent: the kernel kills it with the parent's thread (Linux), and the end of its standard
    input ends it anywhere.
 2. Whatever native code prints goes to the log, which is its standard error; standard output carries one JSON line.
 3. It listens on 127.0.0.1 only, answers only to the key it was given, and shows nobody the prompts it holds.

In: one JSON line on standard input (the fields of `llama_process.Orders`). Out: `{"address": …}` or `{"error": …}`.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import sys
import threading
from pathlib import Path
from typing import Any

# From <linux/prctl.h>.
PR_SET_PDEATHSIG = 1

# The states of other conversations, kept to be taken up again: 23 KB a token for SmolLM2, so some 5,000 tokens. The
# library's own default is 8 GiB.
CACHE_MIB = 128

# Reading 8,192 tokens takes a minute on two cores, in silence; a comment line every five seconds tells the client's
# read deadline that somebody is at work.
PING_SECONDS = 5

# A toy model rambles when it samples freely; its makers advise 0.2 and 0.9. The light penalty stops it from saying one
# sentence for ever, and does not yet keep it from copying a file's name. A fixed seed gives the same answer twice.
TEMPERATURE, TOP_P, REPEAT_PENALTY, SEED = 0.2, 0.9, 1.05, 7


def _die_with_parent(parent: int) -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:  # it died before we could ask
            os._exit(0)

    def watch() -> None:
        while sys.stdin.buffer.read(4096):
            pass
        os._exit(0)

    threading.Thread(target=watch, name="parent", daemon=True).start()


def _serve(orders: dict[str, Any]) -> Any:
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = orders["gguf"]
    params.model_alias = {orders["alias"]}
    params.n_ctx = orders["window"]
    params.n_parallel = 1
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = orders["threads"]
    params.cache_ram_mib = CACHE_MIB
    params.sse_ping_interval = PING_SECONDS
    params.api_keys = [orders["key"]]
    params.cors_origins = "http://127.0.0.1"  # the default lets any web page ask
    params.endpoint_slots = False
    params.ui = False
    params.warmup = False  # the first request warms it just as well
    params.verbosity = 2  # warnings; information would put prompts into the log
    if orders["template"]:
        params.chat_template = orders["template"]
    if orders["toy"]:
        params.sampling.temp, params.sampling.top_p = TEMPERATURE, TOP_P
        params.sampling.penalty_repeat, params.sampling.seed = REPEAT_PENALTY, SEED
    return xllamacpp.Server(params)


def main() -> None:
    """Serves until standard input ends."""
    answer = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    orders = json.loads(sys.stdin.buffer.readline() or b"{}")
    if not orders:
        return
    _die_with_parent(orders["parent"])
    try:
        server = _serve(orders)
    except ImportError:
        report = {"error": "xllamacpp, which runs it, is not installed; `make run` installs it"}
    except (RuntimeError, ValueError, OSError) as error:
        report = {"error": f"llama.cpp could not load {Path(orders['gguf']).name}: {error}"}
    else:
        report = {"address": server.listening_address}
    print(json.dumps(report), file=answer, flush=True)
    if "address" in report:
        threading.Event().wait()  # the server has threads of its own; ours has nothing left to do


if __name__ == "__main__":
    main()
