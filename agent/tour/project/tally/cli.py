"""The command line: a file in, a report out."""

import argparse
import sys
from pathlib import Path

from tally import __version__
from tally.parser import LedgerError, parse
from tally.report import balance_lines, month_lines, register_lines


def build_parser():
    """The options, each with its help."""
    parser = argparse.ArgumentParser(prog="tally", description="Balances from a plain-text ledger.")
    parser.add_argument("ledger", type=Path, help="the file to read, or - for standard input")
    parser.add_argument("--register", action="store_true", help="every posting with a running total")
    parser.add_argument("--account", metavar="NAME", help="with --register: only this account")
    parser.add_argument("--month", metavar="YYYY-MM", help="what was spent in one month")
    parser.add_argument("--version", action="version", version=f"tally {__version__}")
    return parser


def read(path):
    """The ledger's text. TODO: say which encoding was expected when it cannot be read."""
    if str(path) == "-":
        return sys.stdin.read()
    return path.read_text(encoding="utf-8")


def main(arguments):
    """Prints the report; returns 1 when the ledger is wrong, 2 when there is none."""
    options = build_parser().parse_args(arguments)
    try:
        entries = parse(read(options.ledger))
    except LedgerError as error:
        print(f"tally: {options.ledger}, {error}", file=sys.stderr)
        return 1
    except OSError as error:
        print(f"tally: {error}", file=sys.stderr)
        return 2
    if options.register:
        lines = register_lines(entries, options.account)
    elif options.month:
        lines = month_lines(entries, options.month)
    else:
        lines = balance_lines(entries)
    for line in lines:
        print(line)
    return 0
