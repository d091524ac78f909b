"""How many tokens a text is, by tiktoken's `o200k_base`, offline.

Not a measurement (only a provider measures; see `compaction.tokens` for calibration) and no place for a history: texts
are counted one by one, and whoever asks keeps the answer.

Invariants
 1. `count` never raises and never touches the network, whatever the text is.
 2. Importing this module loads nothing; the vocabulary is read once, on the first count or by `warm`.
 3. Where the vocabulary cannot be had, the same function goes on with a rule of thumb, and `exact` says so.
"""

from __future__ import annotations

import importlib.util
import threading
from collections.abc import Callable
from pathlib import Path

# tiktoken recurses in native code over runs of a million blanks and takes the process down; far below that, pieces of
# 64 Ki characters cost one token in ten thousand (a word cut in two) and keep the interpreter's lock free in between.
SLICE = 65_536

# The rule of thumb: bytes of UTF-8 a token. Measured: English prose 4.8, Python 4.7, Chinese 4.2, JSON 3.2; three
# counts too many of these, so a gate acts early. Directory listings (2.3) and hashes (1.7) it undercounts; the
# calibration against the provider's counts, and at last the provider's refusal, catch that.
BYTES_PER_TOKEN = 3

VOCABULARY = "o200k_base"


def shipped_folder() -> Path | None:
    """The folder of litellm's own files that holds tiktoken vocabularies, found without importing litellm."""
    try:
        spec = importlib.util.find_spec("litellm")
    except ValueError:  # a half-made module of that name is already loaded
        return None
    if spec is None or not spec.submodule_search_locations:
        return None
    return Path(next(iter(spec.submodule_search_locations))) / "litellm_core_utils" / "tokenizers"


def rule_of_thumb(text: str) -> int:
    """Tokens, guessed from the bytes; at least 1 for any text but the empty one."""
    return -(-len(text.encode("utf-8", "replace")) // BYTES_PER_TOKEN)


def _load(folder: Path) -> Callable[[str], list[int]]:
    """The encoder, from the files in `folder`. Raises `OSError`, `ImportError`, `ValueError`."""
    import base64
    import hashlib
    from types import FunctionType

    import tiktoken

    openai_public = importlib.import_module("tiktoken_ext.openai_public")  # by name: it ships no types

    def read(url: str, expected_hash: str) -> dict[bytes, int]:
        data = (folder / hashlib.sha1(url.encode(), usedforsecurity=False).hexdigest()).read_bytes()
        if hashlib.sha256(data).hexdigest() != expected_hash:
            raise ValueError(f"{folder} holds another vocabulary than {VOCABULARY}")
        pairs = (line.split() for line in data.splitlines() if line)
        return {base64.b64decode(token): int(rank) for token, rank in pairs}

    # tiktoken's definition of the vocabulary reads through one function of its module. Run with that name bound to
    # ours it can only read the file we name: there is no environment variable to set (a child started meanwhile would
    # inherit it), no download, and no deletion of a cached file whose hash is wrong.
    names = {**vars(openai_public), "load_tiktoken_bpe": read}
    definition = FunctionType(openai_public.o200k_base.__code__, names)()
    return tiktoken.Encoding(**definition).encode_ordinary


class Counter:
    """A counting function that loads itself. Any thread may use it; the first to come loads, the others wait."""

    def __init__(self, folder: Callable[[], Path | None] = shipped_folder) -> None:
        self._folder = folder
        self._lock = threading.Lock()
        self._loaded = False
        self._encode: Callable[[str], list[int]] | None = None
        self._why = ""

    def load(self) -> None:
        """Reads the vocabulary (about 0.4 s, once); later calls return at once."""
        with self._lock:
            if self._loaded:
                return
            folder = self._folder()
            if folder is None:
                self._why = "litellm, which ships the vocabulary, is not installed"
            else:
                try:
                    self._encode = _load(folder)
                except (OSError, ImportError, ValueError, AttributeError, TypeError) as error:
                    # Missing file, missing or other tiktoken, wrong hash: in each case the rule of thumb works on.
                    self._why = f"{type(error).__name__}: {error}"
            self._loaded = True

    def warm(self) -> threading.Thread:
        """Loads in a background thread, so that the first count need not wait. Returns the thread, already running."""
        thread = threading.Thread(target=self.load, name="counting", daemon=True)
        thread.start()
        return thread

    @property
    def exact(self) -> bool:
        """Whether counts are `o200k_base` tokens rather than the rule of thumb. Loads."""
        self.load()
        return self._encode is not None

    @property
    def name(self) -> str:
        """`o200k_base` or `heuristic`. Loads."""
        return VOCABULARY if self.exact else "heuristic"

    @property
    def why(self) -> str:
        """Why counts are not exact, for the doctor; empty when they are. Loads."""
        self.load()
        return self._why

    def __call__(self, text: str) -> int:
        """Tokens of `text`; what looks like a special token is ordinary text, a lone surrogate counts as U+FFFD."""
        if not self._loaded:
            self.load()
        encode = self._encode
        if encode is None:
            return rule_of_thumb(text)
        if len(text) <= SLICE:
            return len(encode(text))
        return sum(len(encode(text[at : at + SLICE])) for at in range(0, len(text), SLICE))


counter = Counter()


def count(text: str) -> int:
    """Tokens of `text` by the one counter of this process."""
    return counter(text)


def warm() -> threading.Thread:
    """Starts loading that counter in the background."""
    return counter.warm()
