"""A session without model, disk or clock: carries the gates' decisions out as the agent does, in pure code.

For property tests and for the tables of `make bench`. The provider is honest: it counts exactly and refuses above its
real window, unless a test arms a fault.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from compaction.attempts import ceiling, refused_before, wished_in
from compaction.budget import Budget, Policy, Window, answer_room, budget_for
from compaction.cut import choose_cut
from compaction.emergency import previous_summary
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
    refuse_fixed,
    unshrinkable,
)
from compaction.judge import Accepted, judge
from compaction.prune import plan_prune
from compaction.records import (
    AssistantSaid,
    Body,
    Compacted,
    CompactionFailed,
    Gate,
    Noted,
    Outcome,
    Pinned,
    Pruned,
    Record,
    Reverted,
    Rewound,
    SettingsChanged,
    ToolCall,
    ToolReturned,
    Usage,
    UserSaid,
    WindowLearned,
    WindowSource,
)
from compaction.room import primer_shown
from compaction.summary import SummaryRequest, TooLarge, build_request, halved
from compaction.tokens import Ruler, calibrated, calibration, dropped_silently, estimate, fixed, measure
from compaction.view import NO_RESULT, PREVIEW, View, fold, preview, step
from tests.compaction.build_log import started
from tests.compaction.simulated_parts import (
    OUT_OF_STEPS,
    PROMPTS,
    Fault,
    Result,
    Said,
    Summariser,
    check_pairs,
    drops_everything,
    fails,
    quarter_token,
    short_summary,
)


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
    most_steps: int = 100
    reserve: int | None = None
    log: list[Record] = field(default_factory=list)
    view: View = field(default_factory=View)
    requests: int = 0
    summary_calls: int = 0
    decisions: list[Decision] = field(default_factory=list)
    ruler: Ruler = field(default_factory=lambda: Ruler(quarter_token))
    learned: dict[str, int] = field(default_factory=dict)
    refusals: list[Refuse] = field(default_factory=list)
    sent: list[View] = field(default_factory=list)
    most_sent: int = 1_000
    summary_requests: list[tuple[SummaryRequest, str, str]] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)
    files: dict[str, str] = field(default_factory=dict)
    watch: Callable[[Simulation, Body, View], None] | None = None
    windows: dict[int, int] = field(default_factory=dict)
    _window: tuple[tuple[View, int | None, int | None], Window] | None = None

    def __post_init__(self) -> None:
        b, window = self.budget, self.window
        first = started(
            self.system, self.tools, window=window.tokens, window_source=window.source, budget=b.budget,
            trigger=b.trigger, landing=b.landing,
        )  # fmt: skip
        self.append(first)

    # ── facts ──

    @property
    def window(self) -> Window:
        """Kept until the view or what is believed changes: looking through a long log each time would be felt."""
        key = (self.view, self.claimed, self.learned.get(self.view.model))
        if self._window is None or self._window[0][0] is not self.view or self._window[0][1:] != key[1:]:
            self._window = (key, self._found())
        return self._window[1]

    def _found(self) -> Window:
        """As `Session.target_for` finds it: what was learned first, then the claim, under the log's ceilings."""
        model = self.view.model or "scripted"
        if model in self.learned:
            return Window(self.learned[model], 8_192, WindowSource.LEARNED)
        source = WindowSource.UNKNOWN if self.claimed is None else WindowSource.USER
        least = ceiling(self.view, model, "default")
        if least is not None and self.claimed is not None and least >= self.claimed:
            least = None
        return Window(self.claimed, 8_192, source, ceiling=least)

    @property
    def budget(self) -> Budget:
        return budget_for(self.window, Policy(self.rule, self.reserve, self.automatic))

    @property
    def landing_at_start(self) -> int:
        return self.view.started.landing if self.view.started else 0

    def append(self, *bodies: Body) -> None:
        for body in bodies:
            record = Record(len(self.log) + 1, float(len(self.log)), body)
            before = self.view
            self.log.append(record)
            self.view = step(self.view, record)
            if self.watch is not None:
                self.watch(self, body, before)

    def counted(self, view: View) -> int:
        """What the provider counts for a request."""
        return round(estimate(view, self.ruler) * self.factor)

    # ── a turn ──

    def turn(self, text: str, script: Sequence[Sequence[str | Result]], answer: str = "ok") -> str:
        """A user turn. `script` holds its steps, each parallel results. Returns how it ended."""
        said = self.admit(text)
        shown = said.text if said.admitted is None else said.text[: said.admitted]
        refusal = check_prompt(self.view, self.ruler, self.budget, self.ruler.count(shown))
        if refusal is not None:
            self.refusals.append(refusal)
            return "refused before"
        self.append(said)
        for number, results in enumerate([*script, []]):
            last = number + 1 >= self.most_steps
            if last and number:
                self.append(Noted(OUT_OF_STEPS, "steps", to_model=True))
            ended = self.request(() if last else results, Place(number > 0, last), answer)
            if ended is not None:
                return ended
            if last:
                break
        return "done"

    def admit(self, text: str) -> UserSaid:
        most = (self.view.started.trigger if self.view.started else 0) * 80 // 100
        tokens = self.ruler.count(text)
        return UserSaid(text, admitted=max(1, len(text) * most // tokens) if tokens > most > 0 else None)

    def request(
        self, results: Sequence[str | Result], place: Place, answer: str = "ok", arrive: int | None = None
    ) -> str | None:
        """One step; `arrive` results of it come in before the user interrupts. A word when the turn ended by it."""
        # One request, and one retry after a refusal: a third in one turn is against invariant 8.
        for _ in range(3):
            asked = self.pass_gates(place)
            if asked is None:
                return "refused"
            usage = self.ask(asked)
            if usage is not None:
                break
        assert usage is not None, "a request was sent for the third time"
        self.sent[:] = [*self.sent[-self.most_sent :], self.view]
        given = [r if isinstance(r, Result) else Result(r) for r in results]
        ids = [f"c{len(self.log)}_{n}" for n in range(len(given))]
        calls = tuple(ToolCall(i, r.tool, r.arguments or f'{{"path":"{i}"}}') for i, r in zip(ids, given, strict=True))
        output = self.ruler.count(answer) + sum(self.ruler.count(c.arguments) + 10 for c in calls)
        seen = self.view.last
        said = AssistantSaid(
            answer, calls, replace(usage, output=output), "calls" if calls else "done", self.view.model, seen,
            estimated=estimate(self.view, self.ruler),
        )  # fmt: skip
        self.append(said)
        self.arrive(ids, given, arrive)
        return None

    def arrive(self, ids: list[str], given: list[Result], most: int | None) -> None:
        """Results, spilled on arrival as `agent.spill` does; what an interrupt left open is closed."""
        total = 0
        for number, (call, result) in enumerate(zip(ids, given, strict=True)):
            title = result.title or f"{result.tool} {call}"
            if most is not None and number >= most:
                self.append(ToolReturned(call, result.tool, title, NO_RESULT, failed=True))
                continue
            text, path = self.spilled(result, call, total)
            total += len(text)
            paths = result.paths or (f"{call}.py",)
            self.append(
                ToolReturned(
                    call, result.tool, title, text, result.failed, path, len(result.text), result.exit_status, paths,
                    result.changed,
                )
            )  # fmt: skip

    def spilled(self, result: Result, call: str, total: int) -> tuple[str, str | None]:
        text = result.text
        first = self.view.started.budget if self.view.started else 200_000
        huge = self.ruler.count(text) > max(1, first // 8) or len(text.encode()) > 50 * 1024 or text.count("\n") > 2_000
        full = total + len(text) > 200_000 or self.ruler.count("x" * total) + self.ruler.count(text) > first // 2
        if not (huge or full) or len(text) <= PREVIEW:
            return text, None
        path = f"spill/{call}.txt"
        self.files[path] = text
        return preview(len(self.log) + 1, text), path

    # ── the provider ──

    def ask(self, asked: Proceed) -> Usage | None:
        """The usage of an answer without its output; None when it was refused, which is then written down."""
        size = measure(self.view, self.ruler)
        counted = self.counted(self.view)
        self.requests += 1
        window = wished_in(self.view, self.window)
        refused = refused_before(self.view, unnumbered=window.output_apart or window.effective is None)
        room = asked.max_tokens or answer_room(window, size.total, size.estimated, refused=refused) or 0
        fault = self.faults.pop(0) if self.faults else None
        if fault == "silent" and size.known:
            read = counted // 2
            if dropped_silently(self.view, Usage(uncached=read), size):
                self.learn(None, size.total, size.total, None, silent=True)
                return None
        elif fault in ("refuse", "number", "asked", "bytes"):
            window = {"number": max(2_000, counted * 9 // 10), "asked": counted * 4}.get(fault)
            stated = counted if window is not None else None
            self.learn(window, None if window or fault == "bytes" else size.total, size.total, stated, fault == "bytes")
            return None
        if self.real is not None and counted + min(room, 100) > self.real:
            stated = self.real if self.states_window else None
            self.learn(stated, None if stated else size.total, size.total, counted if stated else None)
            return None
        read = self.cached()
        return Usage(uncached=max(0, counted - read), cache_read=min(read, counted))

    def cached(self) -> int:
        """The leading part of the request equal to the one before, as the provider counts it."""
        if not self.sent or self.sent[-1].model != self.view.model:
            return 0
        same = fixed(self.view, self.ruler)
        for one, other in zip(self.sent[-1].items, self.view.items, strict=False):
            if one is not other and one != other:
                break
            same += self.ruler.item(one)
        return round(same * self.factor)

    def learn(
        self,
        window: int | None,
        ceiling: int | None,
        size: int,
        asked: int | None,
        by: bool = False,
        silent: bool = False,
    ) -> None:
        if window is not None:
            self.learned[self.view.model] = window
        estimated = estimate(self.view, self.ruler)
        self.append(
            WindowLearned(
                self.view.model, "default", window, ceiling, size, asked, estimated, bytes=by, silent=silent
            )
        )  # fmt: skip

    # ── decisions ──

    def pass_gates(self, place: Place) -> Proceed | None:
        for _ in range(40):
            decision = decide(self.view, self.ruler, self.budget, place)
            if isinstance(decision, Proceed):
                return decision
            self.decisions.append(decision)
            if isinstance(decision, Refuse):
                self.refusals.append(decision)
                return None
            self.windows[len(self.log) + 1] = self.window.effective or 0
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
            case Emergency(body=body):
                self.append(body)
            case Fail(gate, outcome, detail, size):
                self.append(CompactionFailed(gate, outcome, detail, size, bool(self.previous())))
            case _:
                raise AssertionError(decision)

    def previous(self) -> str:
        return previous_summary(self.view)

    def sizes(self, body: Pruned | Compacted) -> tuple[int, int]:
        after = step(self.view, Record(len(self.log) + 1, 0.0, body))
        return calibrated(self.view, self.ruler), calibrated(after, self.ruler)

    def rewrite(self, body: Pruned | Compacted) -> None:
        before, after = self.sizes(body)
        self.append(replace(body, before=before, after=after))

    def compact(self, decision: Compact, focus: str = "") -> None:
        """As `agent.compactor.compact` does it."""
        size = measure(self.view, self.ruler).total
        failed = self.summary(decision, focus)
        if isinstance(failed, Compacted):
            self.append(failed)
            return
        outcome, detail, asked = failed
        self.append(CompactionFailed(decision.gate, outcome, detail, size, bool(self.previous()), asked))

    def summary(self, decision: Compact, focus: str) -> Compacted | tuple[Outcome, str, bool]:
        previous, cap = self.previous(), self.budget.summary_cap
        built: SummaryRequest | TooLarge | None = self.fitting(decision, focus, previous, cap)
        if isinstance(built, TooLarge):
            return Outcome.REQUEST_TOO_LARGE, "nothing fits", False
        shapeless = 0
        while True:
            assert isinstance(built, SummaryRequest)
            self.summary_calls += 1
            self.summary_requests.append((built, previous, focus))
            reply = self.summariser(decision.cut, self.view)
            said = Said(reply) if isinstance(reply, str) else reply
            if said.fault is Outcome.OVERFLOWED:
                built = halved(built)
                if built is None:
                    return said.fault, "refused for its length", True
                continue
            if said.fault is not None:
                return said.fault, "injected", True
            verdict = judge(
                said.text, said.stop, said.calls, cap_tokens=cap, count=self.ruler.count, previous_summary=previous
            )
            if isinstance(verdict, Accepted):
                return self.accept(decision, verdict.summary, focus)
            if verdict.outcome is Outcome.SUMMARY_SHAPELESS and not shapeless:
                shapeless += 1
                continue
            return verdict.outcome, verdict.detail, True

    def fitting(self, decision: Compact, focus: str, previous: str, cap: int) -> SummaryRequest | TooLarge:
        total = self.window.effective
        characters = 540_000 if total is None else max(1, round((total - cap) * 4 * 0.95 / calibration(self.view)))
        return build_request(
            decision.cut, self.view, PROMPTS, focus=focus, previous_summary=previous, cap_tokens=cap,
            characters=characters,
        )  # fmt: skip

    def accept(self, decision: Compact, summary: str, focus: str) -> Compacted | tuple[Outcome, str, bool]:
        facts = fact_sheet(self.view, decision.cut, summary, self.ruler, self.budget.fact_cap)
        previous = self.view.compaction.id if self.view.compaction else None
        body = Compacted(
            summary, facts, decision.cut.first_kept, decision.cut.prefix_from, previous, focus, decision.gate, 0, 0,
            "", primer=primer_shown(self.view, self.ruler, self.budget), requests=1,
        )  # fmt: skip
        before, after = self.sizes(body)
        if after >= before:
            return Outcome.NOT_SMALLER, f"{after}", True
        if decision.gate is Gate.PROACTIVE and after > decision.target:
            return Outcome.ABOVE_LANDING, f"{after}", True
        if decision.gate not in (Gate.ASKED, Gate.PROACTIVE) and after >= decision.target:
            return Outcome.NOT_SMALLER, f"{after}", True
        return replace(body, before=before, after=after)

    # ── the user's wishes, as `agent.wishes.dispatch` does them ──

    def ask_compact(self, focus: str = "") -> bool:
        size = measure(self.view, self.ruler).total
        if unshrinkable(self.view, self.ruler, self.budget) > self.budget.landing:
            text = refuse_fixed(self.view, self.ruler, self.budget)
            self.append(CompactionFailed(Gate.ASKED, Outcome.REFUSED_FIXED, text, size))
            return False
        cut = choose_cut(self.view, self.ruler, self.budget, Gate.ASKED)
        if cut is None:
            return False
        self.compact(Compact(Gate.ASKED, cut, size), focus)
        return isinstance(self.log[-1].body, Compacted)

    def ask_prune(self, *, every: bool = False, force: bool = False, records: Sequence[int] = ()) -> tuple[int, ...]:
        plan = plan_prune(
            self.view, self.ruler, self.budget, inside_turn=False, asked=True, every=every, force=force, records=records
        )
        if plan.records:
            self.rewrite(Pruned(plan.records, "pruned", Gate.ASKED, 0, 0))
        return plan.records

    def undo(self) -> bool:
        if not self.view.rewrites:
            return False
        body = Reverted(self.view.rewrites[-1].id, 0, 0)
        after = calibrated(step(self.view, Record(len(self.log) + 1, 0.0, body)), self.ruler)
        if self.budget.limit is not None and after > self.budget.limit:
            return False
        self.append(replace(body, before=calibrated(self.view, self.ruler), after=after))
        return True

    def pin(self, target: int, on: bool = True) -> bool:
        if (target in self.view.pins) is on or all(i.record != target for i in self.view.conversation):
            return False
        if on:
            after = step(self.view, Record(len(self.log) + 1, 0.0, Pinned(target)))
            pinned = sum(self.ruler.item(i) for i in after.conversation if i.record in after.pins)
            need = round((fixed(self.view, self.ruler) + pinned) * calibration(self.view))
            if need > self.budget.landing // 2:
                return False
        self.append(Pinned(target, on))
        return True

    def rewind(self, before: int) -> None:
        self.append(Rewound(before))

    def resume(self) -> None:
        """The process ends and another opens the log."""
        self.view = fold(self.log)
        self.ruler = Ruler(quarter_token)

    def switch(self, window: int | None, real: int | None = None) -> None:
        """The user chooses a model with another window."""
        self.claimed, self.real = window, real
        self.learned.pop(f"model-{window}", None)
        self.append(SettingsChanged(model=f"model-{window}"))

    def choose(self, rule: str) -> None:
        """The user chooses another budget."""
        self.rule = rule
        self.append(SettingsChanged(budget=rule))

    # ── looking ──

    def rewrites(self) -> list[Record]:
        return [r for r in self.log if isinstance(r.body, (Pruned, Compacted))]

    def compactions(self, gate: Gate | None = None) -> list[Compacted]:
        found = [r.body for r in self.log if isinstance(r.body, Compacted)]
        return [body for body in found if gate is None or body.gate is gate]

    def failures(self) -> list[CompactionFailed]:
        return [r.body for r in self.log if isinstance(r.body, CompactionFailed)]

    def check(self) -> None:
        """The fold of the log is the live view, and every view sent was valid."""
        assert fold(self.log) == self.view
        for view in self.sent[-3:]:
            check_pairs(view)


__all__ = [
    "PROMPTS", "Fault", "Result", "Said", "Simulation", "Summariser", "check_pairs", "drops_everything", "fails",
    "quarter_token", "short_summary",
]  # fmt: skip
