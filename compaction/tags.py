"""How an attempt at a gate can end: a closed set of legal pairs `<gate>.<outcome>`, with a name each.

The same names stand in the log, in the JSON and on the screen. Failures after a summary call end in `.no_prior` or
`.with_prior`: was there a previous summary to stand on.
"""

from __future__ import annotations

from enum import StrEnum


class Gate(StrEnum):
    """The place where a size was checked."""

    ASKED = "asked"
    PROACTIVE = "proactive"
    PRE_FLIGHT = "pre-flight"
    REACTIVE = "reactive"
    EMERGENCY = "emergency"
    FORCE_STOP = "force-stop"


class Outcome(StrEnum):
    """How an attempt at a gate ended; `Tag` says which pairs are legal."""

    SPILLED = "spilled"
    PRUNED = "pruned"
    COMPACTED = "compacted"
    NOTHING_TO_DO = "nothing_to_do"
    REFUSED_WINDOW = "refused_window"
    REFUSED_FIXED = "refused_fixed"
    REQUEST_TOO_LARGE = "request_too_large"
    OVERFLOWED = "overflowed"
    PROVIDER_FAILED = "provider_failed"
    TIMED_OUT = "timed_out"
    SUMMARY_EMPTY = "summary_empty"
    SUMMARY_TRUNCATED = "summary_truncated"
    SUMMARY_FILTERED = "summary_filtered"
    SUMMARY_OVERSIZE = "summary_oversize"
    SUMMARY_CALLED_TOOL = "summary_called_tool"
    SUMMARY_SHAPELESS = "summary_shapeless"
    NOT_SMALLER = "not_smaller"
    ABOVE_LANDING = "above_landing"
    INTERRUPTED = "interrupted"
    STOPPED = "stopped"
    LOG_FAILED = "log_failed"


_SUMMARY_GATES = (Gate.ASKED, Gate.PROACTIVE, Gate.PRE_FLIGHT, Gate.REACTIVE, Gate.FORCE_STOP)
_AUTOMATIC = (Gate.PROACTIVE, Gate.PRE_FLIGHT, Gate.REACTIVE, Gate.FORCE_STOP)
# The gates a turn depends on: they go on to the emergency rung and then refuse.
_LAST = (Gate.PRE_FLIGHT, Gate.REACTIVE, Gate.FORCE_STOP)
# Outcomes that are known only once the summariser was asked.
AFTER_CALL = (
    Outcome.OVERFLOWED,
    Outcome.PROVIDER_FAILED,
    Outcome.TIMED_OUT,
    Outcome.SUMMARY_EMPTY,
    Outcome.SUMMARY_TRUNCATED,
    Outcome.SUMMARY_FILTERED,
    Outcome.SUMMARY_OVERSIZE,
    Outcome.SUMMARY_CALLED_TOOL,
    Outcome.SUMMARY_SHAPELESS,
    Outcome.NOT_SMALLER,
    Outcome.ABOVE_LANDING,
    Outcome.INTERRUPTED,
)


def _legal() -> frozenset[str]:
    pairs: set[str] = set()
    for gate in _SUMMARY_GATES:
        pairs.update(f"{gate}.{o}" for o in (Outcome.PRUNED, Outcome.COMPACTED))
        pairs.update(f"{gate}.{o}" for o in (Outcome.REFUSED_FIXED, Outcome.REQUEST_TOO_LARGE))
        for outcome in AFTER_CALL:
            if outcome is Outcome.ABOVE_LANDING and gate is not Gate.PROACTIVE:
                continue
            pairs.update((f"{gate}.{outcome}.no_prior", f"{gate}.{outcome}.with_prior"))
    pairs.update(f"{gate}.{o}" for gate in _AUTOMATIC for o in (Outcome.SPILLED, Outcome.STOPPED))
    pairs.update(f"{gate}.{Outcome.NOTHING_TO_DO}" for gate in (Gate.ASKED, Gate.PROACTIVE))
    pairs.update(f"{gate}.{Outcome.REFUSED_WINDOW}" for gate in _LAST)
    # What an emergency cannot do is told by the gate that needed it.
    pairs.add(f"{Gate.EMERGENCY}.{Outcome.COMPACTED}")
    # A log that cannot be written ends whatever was wished; it is in no log.
    pairs.add(f"{Gate.ASKED}.{Outcome.LOG_FAILED}")
    return frozenset(pairs)


LEGAL_TAGS = _legal()


def tag(gate: Gate, outcome: Outcome, *, prior: bool | None = None) -> str:
    """The name of one way an attempt ended, e.g. `proactive.not_smaller.with_prior`.

    `prior` is given for failures after a summary call only. Raises `ValueError` for a pair that is not legal.
    """
    name = f"{gate}.{outcome}"
    if prior is not None:
        name += ".with_prior" if prior else ".no_prior"
    if name not in LEGAL_TAGS:
        raise ValueError(f"{name} is not a legal pair of gate and outcome")
    return name
