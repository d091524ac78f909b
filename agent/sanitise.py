"""Foreign text made harmless: bytes decoded, control characters taken out or made visible, lone surrogates replaced.

Not an escaping for any markup: brackets and angle brackets pass as they are, the screen draws plain text.

Invariants
 1. `clean` leaves no ESC, no NUL, no C0 but newline and tab, no C1, no bidi control, no lone surrogate; it is
    idempotent.
 2. `visible` hides nothing: what `clean` would remove is spelled as `\\x1b` or `\\u202e`.
 3. Both are total: any `str` in, a `str` that encodes as UTF-8 out.
"""

from __future__ import annotations

import re

# An escape sequence that never ends must not swallow the rest of the output; real titles and links are shorter.
LONGEST_STRING = 4_096

# CSI; then OSC, DCS, SOS, PM, APC up to their terminator (BEL or ST); then two-character escapes. C1 forms included.
_SEQUENCE = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"
    r"|(?:\x1b[\]PX^_]|[\x9d\x90\x98\x9e\x9f])"
    rf"[^\x07\x1b\x90\x98\x9c-\x9f\n]{{0,{LONGEST_STRING}}}(?:\x07|\x1b\\|\x9c)"
    r"|\x1b[ -/]*[0-~]"
)
_BIDI = "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"
_CONTROL = re.compile(rf"[\x00-\x08\x0b-\x1f\x7f-\x9f{_BIDI}]")
_SURROGATE = re.compile("[\ud800-\udfff]")


def scrub(text: str) -> str:
    """`text` with pairs of surrogates joined and every lone one as U+FFFD, so that it can be encoded."""
    if not _SURROGATE.search(text):
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def decode(data: bytes) -> str:
    """UTF-8 bytes as text; what is not UTF-8 becomes U+FFFD."""
    return data.decode("utf-8", "replace")


def _overwritten(line: str) -> str:
    """The last state of a line that was drawn over with carriage returns (a progress bar)."""
    states = [s for s in line.split("\r") if s.strip()]
    return states[-1] if states else ""


def _erased(line: str) -> str:
    """A line after its backspaces (overstruck manual pages, spinners)."""
    kept: list[str] = []
    for char in line:
        if char != "\x08":
            kept.append(char)
        elif kept:
            kept.pop()
    return "".join(kept)


def clean(text: str) -> str:
    """What a terminal would have left on its screen, as plain text: for a command's output.

    Escape sequences go, backspaces erase, `\\r\\n` is a newline and a bare `\\r` starts its line anew.
    """
    text = _SEQUENCE.sub("", scrub(text)).replace("\r\n", "\n")
    if "\r" in text:
        text = "\n".join(_overwritten(line) if "\r" in line else line for line in text.split("\n"))
    if "\x08" in text:
        text = "\n".join(_erased(line) if "\x08" in line else line for line in text.split("\n"))
    return _CONTROL.sub("", text)


def _spelled(found: re.Match[str]) -> str:
    code = ord(found[0])
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


def visible(text: str) -> str:
    """`text` with control and bidi characters spelled out: for file contents, diffs, commands to be approved."""
    return _CONTROL.sub(_spelled, scrub(text))


def one_line(text: str, most: int = 80) -> str:
    """`visible` text on one line of at most `most` characters: for titles."""
    line = visible(text.replace("\n", "\\n").replace("\t", " ")).strip()
    return line if len(line) <= most else line[: most - 1] + "…"
