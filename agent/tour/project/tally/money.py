"""Amounts of money as whole cents.

Cents are `int` everywhere: binary floats cannot hold 0.10, and a sum of a
thousand postings would show it.
"""

import re

# Digits with or without thousands separators, and at most two decimals.
AMOUNT = re.compile(r"(?P<whole>-?\d{1,3}(?:,\d{3})+|-?\d+)(?:\.(?P<part>\d{1,2}))?")


class AmountError(ValueError):
    """A text that is no amount."""


def parse_amount(text):
    """Cents from a text such as `12`, `12.5`, `1,234.50` or `-0.05`."""
    found = AMOUNT.fullmatch(text.strip())
    if found is None:
        raise AmountError(f"{text!r} is not an amount")
    whole = int(found["whole"].replace(",", ""))
    part = int((found["part"] or "0").ljust(2, "0"))
    if whole < 0:
        return whole * 100 - part
    return whole * 100 + part


def format_amount(cents, width=0):
    """`-1,234.50` from cents, right-aligned in `width` characters."""
    sign = "-" if cents < 0 else ""
    whole, part = divmod(abs(cents), 100)
    return f"{sign}{whole:,}.{part:02}".rjust(width)


def split_evenly(cents, shares):
    """`cents` in `shares` parts that differ by at most one cent and add up again.

    The first parts get the cents that are left over: 100 in three is 34, 33, 33.
    """
    if shares < 1:
        raise ValueError("there must be at least one share")
    each, left = divmod(abs(cents), shares)
    sign = -1 if cents < 0 else 1
    return [sign * (each + (1 if i < left else 0)) for i in range(shares)]


def total(amounts):
    """The sum of cents; zero for none."""
    return sum(amounts, 0)
