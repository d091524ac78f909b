"""The head of an export, and how it writes times: what all its formats share."""

from __future__ import annotations

from datetime import UTC, datetime

from agent.export.entries import Session

# The last second that a date can be written for: the end of the year 9999.
LAST_SECOND = 253_402_300_799


def when(at: float) -> str:
    """Seconds since the epoch in UTC, so that an export reads the same wherever it is made. Empty for no time."""
    if not 0 < at <= LAST_SECOND:
        return ""
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def facts(session: Session) -> tuple[tuple[str, str], ...]:
    """(name, value) of what stands above the conversation."""
    usage = session.usage
    tokens = f"{usage.uncached:,} uncached, {usage.cache_read:,} from cache, {usage.cache_write:,} into it"
    rows = [
        ("session", session.id),
        ("folder", session.folder),
        ("model", session.model),
        ("started", when(session.at)),
        ("requests", f"{session.requests:,}: input {tokens}; output {usage.output:,} tokens"),
    ]
    if session.cost is not None:
        rows.append(("cost", f"${session.cost:.4f}"))
    return tuple((name, value) for name, value in rows if value)
