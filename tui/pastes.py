"""Large pastes and images as chips: `[pasted 84 lines]` stands in the prompt for a text that is sent whole, and
`[image plan.png 120 KB]` for the mention of a file.

Not the clipboard. A chip is looked up when the message is sent; one the user broke up is ordinary text.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from tui.plain import TAB, plural, whole

# More lines than this fold: what SCREEN promises. A single enormous line is as unreadable; characters.
FOLD_LINES, FOLD_CHARACTERS = 15, 4_000

_CHIP = re.compile(r"\[(?:pasted [\d,]+ (?:lines?|characters)|image [^\[\]\n]+ [KM]B)(?: #\d+)?\]")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def cleaned(text: str) -> str:
    """Pasted text as the prompt may hold it: newlines one way, no control characters, no lone surrogates."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    return _CONTROL.sub("", whole(text)).replace("\t", TAB)


@dataclass(slots=True)
class Pastes:
    """The chips of one prompt and what they stand for."""

    texts: dict[str, str] = field(default_factory=dict)

    def fold(self, text: str) -> str:
        """What to insert for a pasted `text`: itself, or a new chip."""
        lines = text.rstrip("\n").count("\n") + 1
        if lines <= FOLD_LINES and len(text) <= FOLD_CHARACTERS:
            return text
        size = plural(lines, "line") if lines > FOLD_LINES else f"{len(text):,} characters"
        return self.chip(f"pasted {size}", text)

    def chip(self, label: str, text: str) -> str:
        """A chip that stands for `text`; two texts of one label are numbered."""
        chip, count = f"[{label}]", 1
        while self.texts.get(chip, text) != text:
            count += 1
            chip = f"[{label} #{count}]"
        self.texts[chip] = text
        return chip

    def unfold(self, text: str) -> str:
        """`text` with each chip replaced by what it stands for."""
        return _CHIP.sub(lambda found: self.texts.get(found[0], found[0]), text)

    def chip_before(self, text: str) -> int:
        """The length of the chip that `text` ends with, 0 if it does not."""
        for found in _CHIP.finditer(text):
            if found.end() == len(text) and found[0] in self.texts:
                return len(found[0])
        return 0
