"""Every way an attempt can end is reached by a fault put in on purpose; none is legal that cannot happen."""

from __future__ import annotations

import pytest

from compaction.cut import choose_cut
from compaction.gates import Place
from compaction.records import (
    AFTER_CALL,
    LEGAL_TAGS,
    AssistantSaid,
    Compacted,
    CompactionFailed,
    Gate,
    Outcome,
    Pruned,
    ToolCall,
    ToolReturned,
    UserSaid,
    tag,
    tag_of,
)
from compaction.tokens import measure
from tests.compaction.simulation import Said, Simulation, short_summary

# Budget 32,000, trigger 24,000, landing 16,000, limit 35,000, longest summary 4,000, longest fact sheet 2,000.
WINDOW = 40_000

# Told where there is no log to write to: shown by the agent's own tests, with a disk that fails.
IN_NO_LOG = {"asked.log_failed"}

REPLIES = {
    Outcome.SUMMARY_EMPTY: Said(""),
    Outcome.SUMMARY_TRUNCATED: Said("## Goal\n- half", stop="length"),
    Outcome.SUMMARY_FILTERED: Said("## Goal\n- half", stop="filtered"),
    Outcome.SUMMARY_OVERSIZE: Said("## Goal\n" + "w" * 17_000),
    Outcome.SUMMARY_CALLED_TOOL: Said("## Goal\n- x", calls=True),
    Outcome.SUMMARY_SHAPELESS: Said("no sections here"),
    Outcome.NOT_SMALLER: Said("## Goal\n" + "w" * 15_600),
    Outcome.ABOVE_LANDING: Said("## Goal\n" + "w" * 15_600),
}


class Story:
    """A session brought to a gate."""

    def __init__(self, gate: Gate, prior: bool = False, **more: object) -> None:
        self.gate = gate
        self.s = Simulation(claimed=WINDOW, **more)  # type: ignore[arg-type]
        if prior:
            for _ in range(3):
                self.step(400)
            assert self.s.ask_compact()

    def step(self, tokens: int, result: int = 0) -> None:
        """A turn of one step: an answer of so many tokens, or a call with a result of so many."""
        s, call = self.s, f"c{len(self.s.log)}"
        s.append(UserSaid("next"))
        calls = (ToolCall(call, "bash", "{}"),) if result else ()
        s.append(AssistantSaid("a" * tokens * 4, calls, None, "calls" if calls else "done", s.view.model, s.view.last))
        if result:
            s.append(ToolReturned(call, "bash", "bash make", "r" * result * 4, characters=result * 4))

    @property
    def mark(self) -> int:
        """The size the gate opens at; the reactive one opens anywhere."""
        low = {Gate.PROACTIVE: 24_200, Gate.ASKED: 20_000, Gate.REACTIVE: 20_000}
        return low.get(self.gate, 35_200)

    def fill(self, each: int = 1_000, upto: int | None = None) -> None:
        while measure(self.s.view, self.s.ruler).total < (upto or self.mark):
            self.step(each)

    def reach(self, summariser: object = short_summary, *, window: int | None = None) -> set[str]:
        """Opens the gate; the names of all that ended. A refusal states `window`, or no number."""
        s = self.s
        s.summariser = summariser  # type: ignore[assignment]
        first = len(s.log)
        ended = set()
        if self.gate is Gate.ASKED:
            if not s.ask_compact() and len(s.log) == first:
                ended.add(tag(Gate.ASKED, Outcome.NOTHING_TO_DO))
        else:
            s.append(UserSaid("and now?"))
            if self.gate is Gate.REACTIVE:
                size = measure(s.view, s.ruler).total
                ceiling, asked = (size, None) if window is None else (None, size)
                s.learn(window, ceiling, size, asked)
            s.pass_gates(Place(last=self.gate is Gate.FORCE_STOP))
        bodies = [r.body for r in s.log[first:]]
        ended |= {tag_of(b) for b in bodies if isinstance(b, (Pruned, Compacted, CompactionFailed))}
        return ended | {tag(r.gate, r.outcome) for r in s.refusals}


def after_a_call(gate: Gate, outcome: Outcome, prior: bool) -> set[str]:
    if outcome is Outcome.ABOVE_LANDING:
        story = Story(gate, prior)
        story.fill(1_000, 9_500)
        story.step(15_000)
    elif outcome is Outcome.NOT_SMALLER and gate is Gate.ASKED:
        story = Story(gate, prior)
        story.step(100)
        story.step(400)
    elif outcome is Outcome.NOT_SMALLER and gate is Gate.PROACTIVE:
        story = Story(gate, prior, reserve=100)
        for _ in range(4):
            story.step(200)
        story.step(31_200)
    elif outcome is Outcome.NOT_SMALLER:
        story = Story(gate, prior)
        for _ in range(4):
            story.step(1_000)
        # A refusal without a number leaves three quarters of the refused size, and of that the limit.
        story.step(7_000 if gate is Gate.REACTIVE else 31_200)
    else:
        story = Story(gate, prior)
        story.fill()
    said = REPLIES.get(outcome, Said(fault=outcome))
    if outcome is Outcome.NOT_SMALLER and gate is Gate.REACTIVE:
        said = Said("## Goal\n" + "w" * 3_100)
    return story.reach(lambda cut, view: said)


def without_a_call(gate: Gate, outcome: Outcome) -> set[str]:
    story = Story(gate)
    match outcome:
        case Outcome.REQUEST_TOO_LARGE:
            story.fill()
            return story.reach(lambda cut, view: Said(fault=outcome))
        case Outcome.COMPACTED:
            story.fill()
            return story.reach()
        case Outcome.SPILLED:
            story.step(10, result=30_000)
            story.fill()
            return story.reach()
        case Outcome.PRUNED:
            for _ in range(20):
                story.step(10, result=1_500)
            if gate is Gate.ASKED:
                story.s.ask_prune()
                return {tag_of(r.body) for r in story.s.log if isinstance(r.body, Pruned)}
            story.fill()
            return story.reach()
        case Outcome.NOTHING_TO_DO:
            for _ in range(4 if gate is Gate.PROACTIVE else 0):
                story.step(1)
            story.step(24_200)
            return story.reach()
        case Outcome.REFUSED_FIXED:
            size = {Gate.PROACTIVE: 20_000, Gate.ASKED: 20_000, Gate.REACTIVE: 18_000}.get(gate, 36_000)
            story = Story(gate, system="s" * size * 4)
            story.fill(500, max(story.mark, 20_600))
            # Without a number the provider would be asked once more, for a shorter answer.
            return story.reach(window=20_000)
        case Outcome.REFUSED_WINDOW:
            story.step(36_000)
            return story.reach()
        case Outcome.STOPPED:
            # Under 32,000 tokens, which the refusal leaves to the reactive gate, it takes five.
            for _ in range(5 if gate is Gate.REACTIVE else 3):
                for _ in range(3):
                    story.step(100)
                cut = choose_cut(story.s.view, story.s.ruler, story.s.budget, Gate.PRE_FLIGHT)
                assert cut is not None
                last = story.s.view.compaction and story.s.view.compaction.id
                kept, start = cut.first_kept, cut.prefix_from
                story.s.append(Compacted("## Goal\n- x", "", kept, start, last, "", Gate.PROACTIVE, 2, 1, ""))
            story.fill()
            return story.reach()
        case _:
            raise AssertionError(outcome)


def reached(name: str) -> set[str]:
    place, ending, *prior = name.split(".")
    gate, outcome = Gate(place), Outcome(ending)
    if gate is Gate.EMERGENCY:
        story = Story(Gate.PRE_FLIGHT)
        story.fill()
        return story.reach(lambda cut, view: "")
    return (
        after_a_call(gate, outcome, prior == ["with_prior"]) if outcome in AFTER_CALL else without_a_call(gate, outcome)
    )


@pytest.mark.parametrize("name", sorted(LEGAL_TAGS - IN_NO_LOG))
def test_each_legal_tag_is_reached_by_a_fault(name: str) -> None:
    assert name in reached(name)


def test_a_pair_that_cannot_happen_has_no_name() -> None:
    for gate, outcome in ((Gate.EMERGENCY, Outcome.SPILLED), (Gate.ASKED, Outcome.STOPPED)):
        with pytest.raises(ValueError, match="not a legal pair"):
            tag(gate, outcome)
