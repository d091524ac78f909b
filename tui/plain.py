"""Text as a terminal may have it: foreign strings made harmless, numbers and times made short.

Not the place where text enters (that is the agent's, which cleans what it stores): the screen's own last net, so that
nothing reaches a terminal unread whoever sent it.

Invariants
 1. What `safe` returns holds no control character but newline, no bidirectional override and no lone surrogate.
 2. Numbers are never clamped: a negative or an enormous one is shown as what it is.
"""

from __future__ import annotations

import locale
import re
from collections.abc import Mapping

# Whole escape sequences first, else their harmless-looking rest (`[31m`) stays behind as litter:
# CSI, then OSC/DCS/APC/PM/SOS up to their end, then two-character escapes.
_SEQUENCE = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]"
    r"|\x9b[0-?]*[ -/]*[@-~]"
    r"|(?:\x1b[\]PX^_]|[\x9d\x90\x98\x9e\x9f])[^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)?"
    r"|\x1b[ -/]*[0-~]?"
)

# C0 without newline and tab, DEL, C1; the bidirectional embeddings, overrides and isolates (they can make a command
# read as another); line and paragraph separators and the zero-width no-break space, which terminals count differently.
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2028\u2029\u2066-\u2069\ufeff]")

_SURROGATE = re.compile(r"[\ud800-\udfff]")

# A tab is as wide as most code is indented; terminals would move to their own stops and break the wrapping.
TAB = "    "


def safe(text: str) -> str:
    """`text` without anything a terminal would obey. Newlines stay, tabs become four spaces."""
    if "\x1b" in text or "\x9b" in text or "\x9d" in text or "\x90" in text:
        text = _SEQUENCE.sub("", text)
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    return _CONTROL.sub("", whole(text)).replace("\t", TAB)


def whole(text: str) -> str:
    """`text` with pairs of surrogates joined and each lone one replaced by U+FFFD: what can be written as UTF-8."""
    if not _SURROGATE.search(text):
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def overdrawn(before: str, more: str) -> str:
    """What a command printed so far, and more: from a carriage return on it takes the unfinished last line's place."""
    if not more.startswith("\r"):
        return before + more
    return before[: before.rfind("\n") + 1] + more[1:]


def one_line(text: str, most: int = 200) -> str:
    """The first line that says something, safe, at most `most` characters."""
    for line in safe(text).split("\n"):
        if line.strip():
            line = line.strip()
            return line if len(line) <= most else line[: most - 1] + "…"
    return ""


def in_one(text: str, most: int = 200) -> str:
    """All lines that say something on one line, how many they are in front where there are several."""
    lines = [line.strip() for line in safe(text).split("\n") if line.strip()]
    said = " / ".join(lines)
    said = said if len(said) <= most else said[: most - 1] + "…"
    return said if len(lines) < 2 else f"({len(lines)} lines) {said}"


def tokens(count: int) -> str:
    """A token count in at most five characters: `999`, `61.4k`, `160k`, `1.05M`."""
    sign, n = ("-", -count) if count < 0 else ("", count)
    if n < 1_000:
        return f"{sign}{n}"
    if n < 99_950:
        return f"{sign}{_trim(f'{n / 1_000:.1f}')}k"
    if n < 999_500:
        return f"{sign}{n / 1_000:.0f}k"
    return f"{sign}{_trim(f'{n / 1_000_000:.2f}')}M"


def dollars(amount: float) -> str:
    """Money: cents, and one more place for what is under a cent, so that a cheap turn is not `$0.00`."""
    if 0 < abs(amount) < 0.01:
        return f"${amount:.3f}" if abs(amount) >= 0.0005 else "<$0.001"
    return f"${amount:.2f}"


def dollars_apart(one: float, other: float) -> tuple[str, str]:
    """Two amounts to be compared: with as many places as it takes to tell them apart, four at the most."""
    shown = dollars(one), dollars(other)
    for places in (3, 4):
        if shown[0] != shown[1] or one == other:
            break
        shown = f"${one:.{places}f}", f"${other:.{places}f}"
    return shown


def seconds(span: float) -> str:
    """A duration: `0.4 s`, `12 s`, `3 min 5 s`, `2 h 10 min`."""
    if span < 10:
        return f"{span:.1f} s"
    whole_s = round(span)
    if whole_s < 60:
        return f"{whole_s} s"
    if whole_s < 3_600:
        return f"{whole_s // 60} min {whole_s % 60} s"
    return f"{whole_s // 3_600} h {whole_s % 3_600 // 60} min"


def clock(span: float) -> str:
    """A countdown: `4:12`."""
    left = max(0, int(span))
    return f"{left // 60}:{left % 60:02d}"


def percent(part: int, of: int) -> str:
    """`part` as a share of `of`, rounded to nearest, never clamped; `?` when there is nothing to divide by."""
    return f"{part * 100 / of:.0f}%" if of > 0 else "?"


def plural(count: int, noun: str) -> str:
    """`1 line`, `2 lines`."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def speaks_plainly(environ: Mapping[str, str]) -> bool:
    """Whether nothing may ever be drawn twice: a dumb terminal, or somebody who reads with ears or fingers."""
    wanted = environ.get("ULLAGE_PLAIN", "")
    return wanted not in ("", "0") or environ.get("TERM", "") in ("", "dumb", "unknown")


def only_ascii(environ: Mapping[str, str]) -> bool:
    """Whether the terminal cannot be trusted with more than ASCII.

    Python forces UTF-8 on itself under the C locale and writes LC_CTYPE=C.UTF-8 into the environment, so asking the
    interpreter hides what the user said: `LC_ALL` and `LANG` are read first. Nothing said at all means UTF-8.
    """
    if said := environ.get("PYTHONIOENCODING", "").split(":")[0]:
        return not _utf8(said)
    if everything := environ.get("LC_ALL"):
        return not _utf8(everything)
    kind, lang = environ.get("LC_CTYPE", ""), environ.get("LANG", "")
    if kind and not (kind == "C.UTF-8" and lang):
        return not _utf8(kind)
    if lang:
        return not _utf8(lang)
    return not _utf8(locale.getpreferredencoding(False))


def _utf8(name: str) -> bool:
    return "utf8" in name.lower().replace("-", "").replace("_", "")


def _trim(number: str) -> str:
    return number.rstrip("0").rstrip(".") if "." in number else number
