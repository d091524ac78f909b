"""The installed version, for `--version` and for the log."""

from __future__ import annotations


def version() -> str:
    """The version of the installed distribution."""
    # Looked up when asked for: reading the metadata takes longer than all else that `--help` does.
    from importlib.metadata import version as installed

    return installed("ullage")
