"""How a piece of work ended: the worker's word to its front end, and headless's exit status."""

from __future__ import annotations

from dataclasses import dataclass

from agent.wire import StopReason


@dataclass(frozen=True, slots=True)
class End:
    """`error` is a sentence. `code`: 0 done, 1 failed, 2 usage, 3 would not fit, 4 nothing to do, 130 stopped."""

    stop: StopReason = "done"
    error: str | None = None
    code: int = 0

    @classmethod
    def of(cls, code: int, text: str | None) -> End:
        """The end that goes with an exit status."""
        stops: dict[int, StopReason] = {0: "done", 3: "refused", 4: "done", 130: "interrupted"}
        return cls(stops.get(code, "failed"), text, code)
