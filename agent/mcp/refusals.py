"""What is said of an HTTP server that turns us away: which header it wants, and where that is written. Pure."""

from __future__ import annotations

from collections.abc import Collection

# What a server wants to know who asks by.
HEADER = "authorization"

HOW = (
    'give its table headers = { Authorization = "Bearer $TOKEN" }, with TOKEN an environment variable that holds the '
    "token"
)


def turned_away(status: int | None, headers: Collection[str]) -> str:
    """The sentence for an HTTP status, with the names of the `headers` that were sent; empty for any other status."""
    named = next((name for name in headers if name.lower() == HEADER), None)
    if status == 401 and named is None:
        return f"it wants to know who asks (HTTP 401): {HOW}. Signing in with a browser is not possible yet"
    if status == 401:
        return f"it does not accept the {named} header it got (HTTP 401): check the variable behind it"
    if status == 403:
        return "it knows who asks and refuses (HTTP 403): check what the token is allowed to do"
    return ""


__all__ = ["turned_away"]
