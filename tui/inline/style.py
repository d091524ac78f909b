"""The inline screen's colours: the terminal's own sixteen, so that its owner's scheme stays in charge.

Nothing is told by a colour alone.
"""

from __future__ import annotations

from prompt_toolkit.styles import Style

STYLE = Style.from_dict(
    {
        "strong": "bold",
        "quiet": "fg:ansibrightblack",
        "user": "fg:ansicyan",
        "code": "fg:ansimagenta",
        "output": "fg:ansibrightblack",
        "added": "fg:ansigreen",
        "removed": "fg:ansired",
        "good": "fg:ansigreen",
        "notice": "",
        "warning": "fg:ansiyellow",
        "error": "fg:ansired",
        "divider": "fg:ansiblue",
        "hint": "fg:ansiyellow",
        "marked": "fg:ansicyan bold",
        "mode-plan": "fg:ansimagenta",
        "mode-ask": "fg:ansicyan",
        "mode-edits": "fg:ansiyellow",
        "mode-auto": "fg:ansired",
        "meter-fixed": "fg:ansibrightblack",
        "meter-summary": "fg:ansimagenta",
        "meter-user": "fg:ansicyan",
        "meter-agent": "fg:ansigreen",
        "meter-tool": "fg:ansiyellow",
        "meter-free": "fg:ansibrightblack",
        "meter-beyond": "fg:ansibrightblack",
        "meter-budget": "bold",
        "meter-trigger": "fg:ansibrightblack",
        "meter-frame": "fg:ansibrightblack",
        "meter-text": "",
        "meter-quiet": "fg:ansibrightblack",
        "meter-warning": "fg:ansiyellow",
        "meter-alarm": "fg:ansired bold",
        "meter-warm": "fg:ansiyellow",
        "meter-cold": "fg:ansibrightblack",
    }
)
