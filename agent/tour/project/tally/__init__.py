"""tally: balances from a plain-text ledger."""

__version__ = "0.3"
