"""From the text of a ledger to its entries.

The grammar is by lines: a line that begins with a date opens an entry, an
indented line is a posting of the entry above it, an empty line or one that
begins with `;` means nothing.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import date

from tally.money import AmountError, format_amount, parse_amount, total

HEAD = re.compile(r"(\d{4})-(\d{2})-(\d{2})\s+(\S.*)")
POSTING = re.compile(r"\s+(?P<account>[a-z][a-z0-9:-]*)(?:\s{2,}(?P<amount>\S+))?\s*")


class LedgerError(Exception):
    """Something in the ledger that cannot be right; `line` counts from 1."""

    def __init__(self, line, why):
        super().__init__(f"line {line}: {why}")
        self.line = line


@dataclass
class Posting:
    """One account's share of an entry, in cents; None until it is filled in."""

    account: str
    cents: int | None
    line: int


@dataclass
class Entry:
    """A day, a title, and postings that add up to zero."""

    day: date
    title: str
    line: int
    postings: list[Posting] = field(default_factory=list)


def parse(text):
    """The entries of a ledger, in the order written. Raises `LedgerError`."""
    entries = []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.startswith(";"):
            continue
        if line[0].isspace():
            if not entries:
                raise LedgerError(number, "a posting stands before the first entry")
            entries[-1].postings.append(parse_posting(number, line))
        else:
            entries.append(parse_head(number, line))
    for entry in entries:
        balance(entry)
    return entries


def parse_head(number, line):
    """The entry that a line opens, without postings."""
    found = HEAD.fullmatch(line.rstrip())
    if found is None:
        raise LedgerError(number, "an entry begins with a date and a title")
    year, month, day, title = found.groups()
    try:
        return Entry(date(int(year), int(month), int(day)), title, number)
    except ValueError as error:
        raise LedgerError(number, str(error)) from None


def parse_posting(number, line):
    """One posting; its amount may be left out once in an entry."""
    # TODO: a comment behind the amount
    found = POSTING.fullmatch(line)
    if found is None:
        raise LedgerError(number, "a posting is an account, two spaces and an amount")
    if found["amount"] is None:
        return Posting(found["account"], None, number)
    try:
        return Posting(found["account"], parse_amount(found["amount"]), number)
    except AmountError as error:
        raise LedgerError(number, str(error)) from None


def balance(entry):
    """Fills in the one missing amount, then checks that the entry adds up."""
    missing = [p for p in entry.postings if p.cents is None]
    known = total(p.cents for p in entry.postings if p.cents is not None)
    if len(missing) > 1:
        raise LedgerError(missing[1].line, "only one amount of an entry can be left out")
    if missing:
        missing[0].cents = -known
    elif known != 0:
        raise LedgerError(entry.line, f"the entry is off by {format_amount(known)}")
