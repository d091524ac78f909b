"""What can be wrong with what the engine is given.

    EngineError
     ├── BadBudget      the user's budget or reserve cannot be read, or is out of range
     └── BadTarget      a record id that cannot be pruned, pinned or recalled

Refusals that the engine foresees are values (`gates.Refuse`), not errors.
"""

from __future__ import annotations


class EngineError(Exception):
    """Root of this package's errors; its text is a sentence fit for the screen."""


class BadBudget(EngineError):
    """A budget rule that says nothing usable. `rule` is the text as written."""

    def __init__(self, rule: str, why: str) -> None:
        # A rule of one term is named by its reason already.
        term = rule.strip().lower()
        what = f"budget {why}" if term and why.startswith(f"{term} ") else f"budget {rule!r}: {why}"
        super().__init__(f"{what}; write it as 160k, 60% or min(200k, 80%)")
        self.rule = rule


class BadTarget(EngineError):
    """A record that the wish cannot apply to. `record` is its id, `why` the rest of the sentence."""

    def __init__(self, record: int, why: str) -> None:
        super().__init__(f"record {record}: {why}")
        self.record = record
        self.why = why
