"""The one error a tool answers with; below everything else here, so that what tools share can raise it too."""

from __future__ import annotations


class Refused(Exception):
    """A call that cannot be carried out; its text is a sentence the model can act on."""
