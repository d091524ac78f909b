"""A model's row in words: what it can take, costs and needs, and what switching to it would mean.

Not the figures (those are `agent.reading`'s) and no list.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tui.plain import dollars, tokens

if TYPE_CHECKING:
    from agent.reading import ModelRow

# Cells of the columns: `1.05M catalogue`, `out 16.4k`, `$0.25/$1.50`.
WINDOW, OUTPUT, PRICE = 15, 9, 11


def facts(row: ModelRow) -> str:
    """Window and who says so, output limit, prices, and whether a key or server is there, in columns."""
    window, output, prices, way = _facts(row)
    return f"{window:<{WINDOW}} {output:<{OUTPUT}} {prices:<{PRICE}} {way}"


def brief(row: ModelRow, used: int) -> str:
    """The same without columns, and the price of switching in a word: for a list that says the rest once."""
    return " · ".join((*_facts(row), _price(row, used)))


def _facts(row: ModelRow) -> tuple[str, str, str, str]:
    window = "?" if row.window is None else f"{tokens(row.window)} {row.source}"
    output = "out ?" if row.max_output is None else f"out {tokens(row.max_output)}"
    return window, output, _prices(row), _way(row)


def _way(row: ModelRow) -> str:
    if row.ready is None:
        return "?"
    if row.api_base is not None or row.way.startswith("at "):
        return "server"
    return "no key" if not row.ready else "here" if row.way == "on this machine" else "key"


def switching(row: ModelRow, used: int) -> str:
    """The way in; what going on with it costs, and whether the conversation fits."""
    way = f"{row.way} (/key saves one)" if row.ready is False else row.way
    return f"{way} · {_switching(row, used)}"


def _switching(row: ModelRow, used: int) -> str:
    if row.group == "current":
        return "in use now"
    cost = row.switch(used)
    read = f"{tokens(used)} tokens to be read again, uncached"
    said = f"{read}, at a price nobody knows" if cost.dollars is None else f"{read}, for {dollars(cost.dollars)}"
    if not cost.fits and cost.limit is not None:
        said += f" · does not fit its limit of {tokens(cost.limit)}: older parts would be pruned or summarised"
    elif row.limit is None:
        said += " · its window is not known"
    return said


def _price(row: ModelRow, used: int) -> str:
    if row.group == "current":
        return "in use now"
    cost = row.switch(used)
    said = "≈ ?" if cost.dollars is None else f"≈ {dollars(cost.dollars)}"
    return said if cost.fits or cost.limit is None else f"{said}, does not fit {tokens(cost.limit)}"


def _prices(row: ModelRow) -> str:
    if row.input is None or row.output is None:
        return "$?"
    return f"{_rate(row.input)}/{_rate(row.output)}"


def _rate(amount: float) -> str:
    """Dollars per million tokens: `$3`, `$0.25`, `$12.50`."""
    return f"${amount:.0f}" if amount == int(amount) else f"${amount:.2f}"
