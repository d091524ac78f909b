"""The version, for the build, for `--version` and for the log.

Not asked of the installed distribution: reading its metadata takes longer than all else that `--help` does.
"""

from __future__ import annotations

VERSION = "0.1.0"
