"""A session without model, disk or clock: carries the gates' decisions out as the agent does, in pure code.

For property tests and for the tables of `make bench`. The provider is honest: it counts exactly and refuses above its
real window.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from compaction.budget import Budget, Policy, Window, answer_room, budget_for
from compaction.cut import Cut
from compaction.facts import fact_sheet
from compaction.gates import (
    Compact,
    Decision,
    Emergency,
    Fail,
    Place,
    Proceed,
    Prune,
    Refuse,
    Spill,
    check_prompt,
    decide,
    primer_cap,
)
from compaction.judge import Accepted, judge
from compaction.records import (
    AssistantSaid,
    Body,
    Compacted,
    CompactionFailed,
    Gate,
    Outcome,
    Pruned,
    Record,
    SettingsChanged,
    ToolCall,
    ToolReturned,
    Usage,
    UserSaid,
    WindowLearned,
    WindowSource,
)
from compaction.tokens import Ruler, calibrated, estimate, measure
from compaction.view import View, fold, step
from tests.compaction.build_log import started

Summariser = Callable[[Cut, View], str]


def short_summary(cut: Cut, view: View) -> str:
    """The least that passes the judge."""
    return f"## Goal\n- work on\n## Done\n- {len(cut.prefix)} messages"


def drops_everything(cut: Cut, view: View) -> str:
    """Shaped right, holds nothing."""
    return "## Goal\n- continue"


def fails(cut: Cut, view: View) -> str:
    return ""


@dataclass
class Simulation:
    """One session. `claimed` is what the window is believed to be, `real` what the provider accepts (tokens)."""

    claimed: int | None = 200_000
    real: int | None = None
    rule: str = "min(200k, 80%)"
    factor: float = 1.0
    summariser: Summariser = short_summary
    automatic: bool = True
    states_window: bool = True
    system: str = "be brief"
    tools: tuple[str, ...] = ()
    log: list[Record] = field(default_factory=list)
    view: View = field(default_factory=View)
    requests: int = 0
    summary_calls: int = 0
    decisions: list[Decision] = field(default_factory=list)
    ruler: Ruler = field(default_factory=lambda: Ruler(lambda text: (len(text) + 3) // 4))
    learned: int | None = None
    refusals: list[Refuse] = field(default_factory=list)
    sent: list[View] = field(default_factory=list)

    def __post_init__(self) -> None:
        b = self.budget
        window = self.window
        self.append(
            started(
                self.system,
                self.tools,
                window=window.tokens,
                window_source=window.source,
                budget=b.budget,
                trigger=b.trigger,
                landing=b.landing,
            )
        )

    @property
    def window(self) -> Window:
        if self.learned is not None:
            return Window(self.learned, 8_192, WindowSource.LEARNED)
        ceilings = [r.body.ceiling for r in self.log if isinstance(r.body, WindowLearned) and r.body.ceiling]
        source = WindowSource.UNKNOWN if self.claimed is None else WindowSource.USER
        return Window(self.claimed, 8_192, source, ceiling=min(ceilings) if ceilings else None)

    @property
    def budget(self) -> Budget:
        return budget_for(self.window, Policy(self.rule, automatic=self.automatic))

    def append(self, *bodies: Body) -> None:
        for body in bodies:
            record = Record(len(self.log) + 1, float(len(self.log)), body)
            self.log.append(record)
            self.view = step(self.view, record)

    def counted(self, view: View) -> int:
        """What the provider counts for a request."""
        return round(estimate(view, self.ruler) * self.factor)

    def turn(self, text: str, script: list[list[str]], answer: str = "ok") -> str:
        """A user turn. `script` holds its steps, each the texts of parallel results. Returns how it ended."""
        said = UserSaid(text)
        most = (self.view.started.trigger if self.view.started else 0) * 80 // 100
        tokens = self.ruler.count(text)
        if tokens > most > 0:
            said = replace(said, admitted=max(1, len(text) * most // tokens))
        refusal = check_prompt(self.view, self.ruler, self.budget, tokens)
        if refusal is not None:
            self.refusals.append(refusal)
            return "refused before"
        self.append(said)
        for number, results in enumerate([*script, []]):
            ended = self.request(results, Place(inside_turn=number > 0), answer)
            if ended is not None:
                return ended
        return "done"

    def request(self, results: list[str], place: Place, answer: str = "ok") -> str | None:
        while True:
            asked = self.pass_gates(place)
            if asked is None:
                return "refused"
            size = measure(self.view, self.ruler)
            counted = self.counted(self.view)
            self.requests += 1
            room = asked.max_tokens or answer_room(self.window, size.total, size.estimated) or 0
            if self.real is not None and counted + min(room, 100) > self.real:
                self.refuse(size.total, counted)
                continue
            break
        self.sent.append(self.view)
        ids = [f"c{len(self.log)}_{n}" for n in range(len(results))]
        calls = tuple(ToolCall(i, "read", f'{{"path":"{i}"}}') for i in ids)
        usage = Usage(uncached=counted, output=self.ruler.count(answer) + 10 * len(ids))
        self.append(
            AssistantSaid(
                answer, calls, usage, "calls" if calls else "done", "scripted", self.view.last,
                estimated=estimate(self.view, self.ruler),
            )
        )  # fmt: skip
        for call, result in zip(ids, results, strict=True):
            self.append(
                ToolReturned(call, "read", f"read {call}", result, characters=len(result), paths=(f"{call}.py",))
            )
        return None

    def refuse(self, size: int, counted: int) -> None:
        window = self.real if self.states_window else None
        if window is not None:
            self.learned = window
        estimated = estimate(self.view, self.ruler)
        asked = counted if self.states_window else None
        ceiling = None if window is not None else size
        self.append(WindowLearned("scripted", "default", window, ceiling, size, asked, estimated))

    def pass_gates(self, place: Place) -> Proceed | None:
        for _ in range(40):
            decision = decide(self.view, self.ruler, self.budget, place)
            if isinstance(decision, Proceed):
                return decision
            self.decisions.append(decision)
            if isinstance(decision, Refuse):
                self.refusals.append(decision)
                return None
            self.carry_out(decision)
        raise AssertionError(f"the gates do not come to an end: {[type(d).__name__ for d in self.decisions[-40:]]}")

    def carry_out(self, decision: Decision) -> None:
        match decision:
            case Spill(gate, records):
                self.rewrite(Pruned(records, "spilled", gate, 0, 0))
            case Prune(gate, plan):
                self.rewrite(Pruned(plan.records, "pruned", gate, 0, 0))
            case Compact():
                self.compact(decision)
            case Emergency(_, cut):
                body = self.body(cut, Gate.EMERGENCY, self.previous())
                self.rewrite(body)
            case Fail(gate, outcome, detail, size):
                self.append(CompactionFailed(gate, outcome, detail, size))
            case _:
                raise AssertionError(decision)

    def previous(self) -> str:
        body = self.view.compaction.body if self.view.compaction else None
        return body.summary if isinstance(body, Compacted) else ""

    def sizes(self, body: Pruned | Compacted) -> tuple[int, int]:
        after = step(self.view, Record(len(self.log) + 1, 0.0, body))
        return calibrated(self.view, self.ruler), calibrated(after, self.ruler)

    def rewrite(self, body: Pruned | Compacted) -> None:
        before, after = self.sizes(body)
        self.append(replace(body, before=before, after=after))

    def body(self, cut: Cut, gate: Gate, summary: str) -> Compacted:
        facts = fact_sheet(self.view, cut, summary, self.ruler, self.budget.fact_cap)
        cap = primer_cap(self.view, self.budget)
        primer = self.view.primer
        shown = None
        if primer is not None and self.ruler.item(primer) > cap:
            shown = len(primer.text) * cap // self.ruler.item(primer)
        previous = self.view.compaction.id if self.view.compaction else None
        return Compacted(summary, facts, cut.first_kept, cut.prefix_from, previous, "", gate, 0, 0, "", primer=shown)

    def compact(self, decision: Compact) -> None:
        self.summary_calls += 1
        size = measure(self.view, self.ruler).total
        reply = self.summariser(decision.cut, self.view)
        verdict = judge(
            reply, "done", False, cap_tokens=self.budget.summary_cap, count=self.ruler.count,
            previous_summary=self.previous(),
        )  # fmt: skip
        if not isinstance(verdict, Accepted):
            self.append(CompactionFailed(decision.gate, verdict.outcome, "", size, bool(self.previous()), True))
            return
        body = self.body(decision.cut, decision.gate, verdict.summary)
        before, after = self.sizes(body)
        outcome = None
        if after >= before:
            outcome = Outcome.NOT_SMALLER
        elif decision.gate is Gate.PROACTIVE and after > decision.target:
            outcome = Outcome.ABOVE_LANDING
        elif decision.gate not in (Gate.ASKED, Gate.PROACTIVE) and after >= decision.target:
            outcome = Outcome.NOT_SMALLER
        if outcome is not None:
            self.append(CompactionFailed(decision.gate, outcome, f"{after}", size, bool(self.previous()), True))
            return
        self.append(replace(body, before=before, after=after))

    def switch(self, window: int, real: int | None = None) -> None:
        """The user chooses a model with another window."""
        self.claimed, self.real, self.learned = window, real, None
        self.append(SettingsChanged(model="scripted"))

    def rewrites(self) -> list[Record]:
        return [r for r in self.log if isinstance(r.body, (Pruned, Compacted))]

    def check(self) -> None:
        """The fold of the log is the live view, and every view sent was valid."""
        assert fold(self.log) == self.view
        for view in self.sent[-3:]:
            check_pairs(view)


def check_pairs(view: View) -> None:
    """Each call has exactly one result, adjacent, in order, and no result stands alone."""
    waiting: list[str] = []
    for item in view.items:
        if item.role == "tool":
            assert waiting and waiting.pop(0) == item.call, f"a result without its call at record {item.record}"
            continue
        assert not waiting, f"calls without results: {waiting}"
        waiting = [c.id for c in item.calls]
    assert not waiting
