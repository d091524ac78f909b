"""Images for a model: whether it takes them, what is said when it does not, and those taken from a clipboard.

Not the check of an image (that is `tools.images`) and no clipboard: its bytes are handed in.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from agent.models.catalogue import Catalogue
from agent.models.weights import is_embedded
from agent.places import Places
from agent.sanitise import one_line
from agent.settings import Settings
from agent.tools.contract import Refused
from agent.tools.images import LARGEST_IMAGE, data_url, kind_of

# Images from the clipboard that are kept: a message taken up again finds its own, and no more of a disk is used.
KEPT = 30


def sees(model: str, settings: Settings, catalogue: Catalogue) -> bool:
    """Whether the model takes images: as the settings say, else the catalogue; one that nobody knows is believed to."""
    said = settings.entry_for(model).images
    if said is not None:
        return said
    return not is_embedded(model) and catalogue.sees(model) is not False


def blind(model: str) -> str:
    """What is said of a model that does not take images."""
    return (
        f"{one_line(model)} takes no images, as far as is known; choose another with /model, or set "
        f'models."{one_line(model)}".images = true if it does'
    )


def trouble(path: Path) -> str:
    """Why the file cannot be sent as an image; empty when it can."""
    try:
        with path.open("rb") as file:
            data_url(file.read(LARGEST_IMAGE + 1))
    except Refused as refused:
        return str(refused)
    except OSError as error:
        return error.strerror or str(error)
    return ""


def keep(places: Places, data: bytes) -> Path:
    """A file of ours with an image's bytes, for a message to name. Raises `Refused`, `OSError`."""
    data_url(data)
    folder = places.cache / "images"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    path = folder / f"clipboard-{hashlib.sha256(data).hexdigest()[:8]}.{kind_of(data)}"
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    with open(descriptor, "wb") as file:
        file.write(data)
    for old in sorted(folder.glob("clipboard-*"), key=lambda p: p.stat().st_mtime)[:-KEPT]:
        old.unlink(missing_ok=True)
    return path
