"""The thirteen invariants of the engine, as far as pure code shows them, over any session a user could drive.

A state machine plays turns, tool batches, interrupts, wishes of the user, switches of model and budget, resumes and
injected failures on a `Simulation`. Each record that is appended is checked when it comes; each check is named after
the number of its invariant.
"""

from __future__ import annotations

import unicodedata
from contextlib import suppress
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from agent.codec import decode, encode
from compaction.errors import BadTarget
from compaction.gates import Place, Refuse
from compaction.records import (
    Body,
    Compacted,
    Gate,
    Outcome,
    Pruned,
    Record,
    Reverted,
    ToolReturned,
    UserSaid,
    WindowLearned,
)
from compaction.shorten import shorten
from compaction.tokens import calibrated
from compaction.view import NO_RESULT, Item, View, admitted, fold
from tests.compaction.simulation import (
    PROMPTS,
    Fault,
    Result,
    Said,
    Simulation,
    check_pairs,
    drops_everything,
    fails,
    short_summary,
)

WINDOWS = (4_096, 8_192, 32_000, 128_000, 200_000, 1_000_000)
RULES = ("min(200k, 80%)", "100%", "60%", "12k", "1024")
AUTOMATIC = (Gate.PROACTIVE, Gate.PRE_FLIGHT, Gate.REACTIVE, Gate.EMERGENCY, Gate.FORCE_STOP)


def _extracts(cut: Any, view: View) -> str:
    """A summary with a line of each message."""
    return "## Goal\n- go on\n## Done\n" + "\n".join(f"- {item.title}" for item in cut.prefix[-20:])


def _too_long(cut: Any, view: View) -> str:
    return "## Goal\n" + "w" * 60_000


SUMMARISERS: dict[str, Any] = {
    "short": short_summary,
    "extracts": _extracts,
    "drops": drops_everything,
    "empty": fails,
    "long": _too_long,
    "truncated": lambda cut, view: Said("## Goal\n- half", stop="length"),
    "shapeless": lambda cut, view: "I have nothing to say in sections.",
    "overflows": lambda cut, view: Said(fault=Outcome.OVERFLOWED),
    "down": lambda cut, view: Said(fault=Outcome.PROVIDER_FAILED),
}

# Records from which on no further hours are added: up to 168 come with one rule, and what is checked at each folds them
# all, so that a session that grew without end would take minutes.
HOURS_END = 120
_SIZES = st.sampled_from([1, 40, 900, 3_000, 30_000, 120_000])
_BATCH = st.lists(_SIZES, min_size=1, max_size=4)
_WORDS = st.sampled_from(["go on", "fix src/app.py\nand say why", "é̀ 👩‍👩‍👧 ok", "m" * 900, "w " * 6_000])


class Engine(RuleBasedStateMachine):
    """Everything that can happen to a session."""

    @initialize(window=st.sampled_from(WINDOWS), rules=st.sampled_from(RULES), factor=st.sampled_from([0.8, 1.0, 1.3]))
    def opens(self, window: int, rules: str, factor: float) -> None:
        self.s = Simulation(claimed=window, real=window, rule=rules, factor=factor, most_steps=8)
        self.lines: list[bytes] = [encode(r) for r in self.s.log]
        self.s.watch = self.appended
        self.refused: dict[int, int] = {}
        self.covered: dict[int, int] = {}

    # ── what can happen ──

    @rule(text=_WORDS, script=st.lists(_BATCH, max_size=5), answer=st.sampled_from(["ok", "a " * 400]))
    def a_turn(self, text: str, script: list[list[int]], answer: str) -> None:
        self.s.turn(text, [[self.result(size, n) for n, size in enumerate(batch)] for batch in script], answer)

    @precondition(lambda self: len(self.s.log) < HOURS_END)
    @rule(size=_SIZES, parallel=st.integers(1, 3), turns=st.integers(1, 6), answer=st.sampled_from(["ok", "a " * 400]))
    def hours_of_work(self, size: int, parallel: int, turns: int, answer: str) -> None:
        for _ in range(turns):
            self.s.turn("work on", [[self.result(size, n) for n in range(parallel)]] * 7, answer)

    @rule(text=_WORDS, batch=_BATCH, arrived=st.integers(0, 3))
    def an_interrupt_in_the_middle_of_a_batch(self, text: str, batch: list[int], arrived: int) -> None:
        self.s.append(self.s.admit(text))
        self.s.request([self.result(size, n) for n, size in enumerate(batch)], Place(), arrive=arrived)

    @rule(every=st.booleans(), force=st.booleans())
    def a_prune_is_asked(self, every: bool, force: bool) -> None:
        self.s.ask_prune(every=every, force=force)

    @rule(pick=st.lists(st.integers(0, 60), min_size=1, max_size=3))
    def results_are_named_for_pruning(self, pick: list[int]) -> None:
        found = [r.id for r in self.s.view.records if isinstance(r.body, ToolReturned)]
        if found:
            wanted = {found[p % len(found)] for p in pick}
            with suppress(BadTarget):
                assert set(self.s.ask_prune(records=sorted(wanted), force=True)) == wanted

    @rule(count=st.integers(1, 3))
    def the_newest_results_are_pruned_and_the_rest_compacted(self, count: int) -> None:
        live = [i.record for i in self.s.view.tail if i.role == "tool" and i.state == "live"][-count:]
        for record in live:
            with suppress(BadTarget):
                self.s.ask_prune(records=[record], force=True)
        self.s.ask_compact()

    @rule(focus=st.sampled_from(["", "keep the decisions"]))
    def a_compaction_is_asked(self, focus: str) -> None:
        self.s.ask_compact(focus)

    @rule()
    def the_newest_rewrite_is_taken_back(self) -> None:
        self.s.undo()

    @rule(pick=st.integers(0, 60), on=st.booleans())
    def a_record_is_pinned_or_let_go(self, pick: int, on: bool) -> None:
        found = [r.id for r in self.s.view.records if isinstance(r.body, (UserSaid, ToolReturned))]
        if found:
            self.s.pin(found[pick % len(found)], on)

    @rule(window=st.sampled_from([*WINDOWS, None]), honest=st.booleans())
    def the_model_is_switched(self, window: int | None, honest: bool) -> None:
        real = window or 32_000
        self.s.switch(window, real if honest else real * 3 // 4)

    @rule(chosen=st.sampled_from(RULES))
    def the_budget_is_changed(self, chosen: str) -> None:
        self.s.choose(chosen)

    @rule(name=st.sampled_from(sorted(SUMMARISERS)))
    def the_summariser_changes_its_ways(self, name: str) -> None:
        self.s.summariser = SUMMARISERS[name]

    @rule(faults=st.lists(st.sampled_from(["refuse", "number", "asked", "bytes", "silent"]), min_size=1, max_size=4))
    def the_provider_is_about_to_refuse(self, faults: list[Fault]) -> None:
        self.s.faults[:] = faults

    @rule()
    def automatic_is_switched(self) -> None:
        self.s.automatic = not self.s.automatic

    @precondition(lambda self: len(self.s.log) > 3)
    @rule(pick=st.integers(0, 20))
    def the_user_goes_back(self, pick: int) -> None:
        places = [r.id for r in self.s.view.records if isinstance(r.body, UserSaid) and r.body.how == "typed"]
        if len(places) > 1:
            self.s.rewind(places[1 + pick % (len(places) - 1)])

    @rule()
    def the_session_is_opened_again(self) -> None:
        """Also 11: of the lines of the log, any number of leading ones opens."""
        live, known = self.s.view, self.s.budget
        assert [encode(r) for r in self.s.log] == self.lines
        read = [decode(line, number) for number, line in enumerate(self.lines, 1)]
        assert read == self.s.log
        self.s.log[:] = [r for r in read if isinstance(r, Record)]
        self.s.resume()
        assert (self.s.view, self.s.view.items, self.s.budget) == (live, live.items, known)
        check_1_pairs(fold(self.s.log[: len(self.s.log) * 2 // 3]))

    def result(self, size: int, n: int) -> Result:
        text = f"{len(self.s.log)} {n} " + "r" * size
        return Result(text, tool="bash" if size > 1_000 else "read", exit_status=0 if size > 1_000 else None)

    # ── checks at each record ──

    def appended(self, s: Simulation, body: Body, before: View) -> None:
        self.lines.append(encode(s.log[-1]))
        check_1_pairs(s.view)
        check_4_fold(s)
        check_12_kept(s.view)
        match body:
            case Pruned() | Compacted():
                check_2_smaller(s, body)
                check_5_no_result_comes_back(before, s.view, body)
                check_13_once(before, body)
                if isinstance(body, Compacted):
                    check_10_next_prefix(before, body)
            case Reverted(target=target):
                assert before.rewrites[-1].id == target
            case WindowLearned():
                check_8_one_retry(s)
            case UserSaid() if body.admitted is not None:
                check_6_shortening(s.log[-1].id, body)
            case _:
                pass

    # ── checks between ──

    @invariant()
    def what_holds_between_holds(self) -> None:
        s = getattr(self, "s", None)
        if s is not None:
            check_3_grows(s, self.lines)
            check_7_marks(s)
            check_9_requests(s)
            check_gates(s)

    def teardown(self) -> None:
        if hasattr(self, "s"):
            assert [encode(r) for r in self.s.log] == self.lines


def check_1_pairs(view: View) -> None:
    """Every view is valid for every provider."""
    check_pairs(view)


def check_2_smaller(s: Simulation, body: Pruned | Compacted) -> None:
    """No rewrite leaves the view larger; proactive ones end at or under landing, the others under the limit."""
    assert body.after < body.before
    assert calibrated(s.view, s.ruler) == body.after
    if isinstance(body, Compacted) and body.gate is Gate.PROACTIVE:
        assert body.after <= s.budget.landing
    elif isinstance(body, Compacted) and body.gate in AUTOMATIC and s.budget.limit is not None:
        assert body.after < s.budget.limit


def check_3_grows(s: Simulation, lines: list[bytes]) -> None:
    """What was written stays as it was; the whole of it is compared at each opening and at the end."""
    assert len(s.log) == len(lines)
    assert encode(s.log[-1]) == lines[-1]


def check_4_fold(s: Simulation) -> None:
    """The fold of the log is the live view, with all that follows from it; so is one that stopped and went on."""
    anew = fold(s.log)
    assert anew == s.view
    assert anew.items == s.view.items
    half = len(s.log) // 2
    assert fold(s.log[half:], fold(s.log[:half])) == s.view


def check_5_no_result_comes_back(before: View, after: View, body: Pruned | Compacted) -> None:
    """What was pruned or spilled stays so in the tail; a prune replaces all that it names."""
    if isinstance(body, Pruned):
        assert {i.record: i.state for i in after.items if i.record in body.records} == dict.fromkeys(
            body.records, body.how
        )
    was = {i.record: i for i in before.items if i.role == "tool" and i.state in ("pruned", "spilled")}
    for item in after.items:
        if item.role == "tool" and item.record in was:
            assert item.text == was[item.record].text


def check_6_shortening(record: int, body: UserSaid) -> None:
    """Admission is pure, idempotent and tears no cluster."""
    text = admitted(record, body)
    assert text == admitted(record, body)
    assert body.admitted is not None
    note = f'page the whole message with recall {{"record": {record}}}'
    assert shorten(text, body.admitted, note) == text
    head = text.split("\n[…", 1)[0]
    following = body.text[len(head) : len(head) + 1]
    assert not following or unicodedata.combining(following) == 0
    assert following not in ("\u200d", "\ufe0f")


def check_7_marks(s: Simulation) -> None:
    """0 < landing < trigger < limit < window."""
    b = s.budget
    if b.trigger < 2:
        assert not b.automatic
        return
    assert 0 < b.landing < b.trigger
    if b.limit is not None and b.window.effective is not None and b.window.effective >= 2_000:
        assert b.trigger < b.limit < b.window.effective


def check_8_one_retry(s: Simulation) -> None:
    """At most one reactive retry per run: no more than two refusals in one turn, resumes or not."""
    run = 0
    for record in s.view.records:
        if isinstance(record.body, UserSaid) and record.body.how == "typed":
            run = 0
        elif isinstance(record.body, WindowLearned) and not record.body.summary:
            run += 1
            assert run <= 2


def check_9_requests(s: Simulation) -> None:
    """Instructions, previous summary and focus are in every summary request, whole."""
    for request, previous, focus in s.summary_requests[-4:]:
        words = s.budget.summary_cap
        assert words
        template = (PROMPTS.update if previous.strip() else PROMPTS.first).split("{")[0]
        assert request.system == PROMPTS.system
        assert template in request.user_text
        assert previous.strip() in request.user_text
        assert not focus or request.user_text.endswith(focus)


def check_10_next_prefix(before: View, body: Compacted) -> None:
    """The prefix begins where the last compaction's tail began, an emergency's where its prefix did."""
    last = before.compaction.body if before.compaction else None
    said = [i.record for i in before.conversation if i.role != "tool"]
    if isinstance(last, Compacted):
        start = last.prefix_from if last.gate is Gate.EMERGENCY else last.first_kept
        assert body.prefix_from == next(r for r in said if r >= start)
    else:
        assert body.prefix_from == said[0]
    assert body.first_kept > body.prefix_from


def check_12_kept(view: View) -> None:
    """Primer, pins and the newest user message are in every view, word for word as admitted."""
    shown = {item.record: item for item in view.items}
    everything = "\n".join(item.text for item in view.items) if view.pins else ""
    newest = view.newest_user
    if newest is not None and newest is not view.primer:
        assert shown[newest.record].text == newest.text
    primer = view.primer
    if primer is not None:
        assert _same_or_short(view, primer, shown[primer.record])
    pinned = [i for i in view.conversation if i.state == "pinned" and i.text != NO_RESULT]
    assert all(item.text in everything for item in pinned)


def _same_or_short(view: View, primer: Item, shown: Item) -> bool:
    body = view.compaction.body if view.compaction else None
    short = isinstance(body, Compacted) and body.primer is not None
    return shown.text == primer.text or (short and "characters removed" in shown.text)


def check_13_once(before: View, body: Pruned | Compacted) -> None:
    """A replaced result is not replaced again."""
    if isinstance(body, Pruned):
        assert body.records
        live = {i.record for i in before.tail if i.role == "tool" and i.state == "live"}
        assert set(body.records) <= live


def check_gates(s: Simulation) -> None:
    """An automatic rewrite stands above its mark; with automatic off there is none; refusals name a number."""
    for decision in s.decisions:
        if isinstance(decision, Refuse):
            assert any(c.isdigit() for c in decision.text)
    s.decisions.clear()


Engine.TestCase.settings = settings(
    max_examples=60,
    stateful_step_count=30,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large],
)
TestAnySession = Engine.TestCase
