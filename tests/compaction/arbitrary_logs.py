"""Strategies that make logs for property tests.

`wild_logs`: anything that could stand in a file: calls never answered, answers to no call, the same call id again,
rewrites of whatever, cuts in the middle of a group. `orderly_sessions`: what the program itself writes, with the
moments at which a request would be sent.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from hypothesis import strategies as st

from compaction.cut import choose_cut
from compaction.prune import plan_prune
from compaction.records import (
    AssistantSaid,
    Body,
    Compacted,
    Gate,
    Noted,
    Pinned,
    Pruned,
    Record,
    Reloaded,
    Reverted,
    Rewound,
    SettingsChanged,
    ToolReturned,
    UserSaid,
)
from compaction.view import View, step
from tests.compaction.build_log import budget, calls, log, notice, returned, ruler, says, started, user

_WORDS = st.sampled_from(["", "one", "two words", "three\nlines\nhere", "w " * 700, "<pinned>", "é" * 3])
_IDS = st.sampled_from(["a", "b", "c"])
_INDEX = st.integers(0, 40)

_CALLS = st.tuples(st.just("calls"), st.lists(_IDS, min_size=1, max_size=3), _WORDS, st.none() | st.just('[{"t":1}]'))
_RETURNED = st.tuples(st.just("returned"), _IDS, _WORDS, st.none() | st.just("f.txt"))
# Calls and results are drawn three times as often as the rest, or rewrites would find nothing to rewrite.
_WILD = st.one_of(
    _CALLS,
    _CALLS,
    _CALLS,
    _RETURNED,
    _RETURNED,
    _RETURNED,
    st.tuples(st.just("user"), _WORDS, st.sampled_from(["typed", "steered", "shell"]), st.none() | st.integers(0, 300)),
    st.tuples(st.just("says"), _WORDS, st.sampled_from(["done", "aborted", "failed"])),
    st.tuples(st.just("noted"), _WORDS, st.sampled_from(["error", "nested"]), st.booleans()),
    st.tuples(st.just("pruned"), st.lists(_INDEX, max_size=4), st.sampled_from(["pruned", "spilled"])),
    st.tuples(st.just("compacted"), _INDEX, st.sampled_from(list(Gate)), st.none() | st.integers(0, 50)),
    st.tuples(st.just("reverted"), _INDEX),
    st.tuples(st.just("rewound"), _INDEX),
    st.tuples(st.just("pinned"), _INDEX, st.booleans()),
    st.tuples(st.just("settings"), st.sampled_from(["model", "effort"]), st.sampled_from(["x", "y"])),
)


def _wild_body(drawn: tuple[Any, ...], so_far: list[Body]) -> Body:
    """A body from what was drawn; numbers become ids of records that stand before it."""
    here = len(so_far) + 1
    match drawn:
        case ("user", text, how, most):
            return UserSaid(text, how, admitted=most)
        case ("says", text, stop):
            return says(text, stop=stop)
        case ("calls", ids, text, thinking):
            return calls(*ids, text=text, thinking=thinking)
        case ("returned", call, text, spilled):
            return returned(call, text, spilled=spilled)
        case ("noted", text, topic, to_model):
            return notice(text, topic, to_model=to_model)
        case ("pruned", ids, how):
            pinned = {b.target for b in so_far if isinstance(b, Pinned)}
            gone = {_one_of(so_far, ToolReturned, i) for i in ids}
            return Pruned(tuple(sorted(gone - pinned)), how, Gate.ASKED, 0, 0)
        case ("compacted", index, gate, most):
            return Compacted("## Goal\ng", "", 1 + index % here, 0, None, "", gate, 0, 0, "", primer=most)
        case ("reverted", index):
            return Reverted(_one_of(so_far, (Pruned, Compacted), index), 0, 0)
        case ("rewound", index):
            return Rewound(max(2, 1 + index % here))
        case ("pinned", index, on):
            return Pinned(1 + index % here, on)
        case ("settings", "model", value):
            return SettingsChanged(model=value)
        case ("settings", _, value):
            return SettingsChanged(effort=value)
        case _:
            raise AssertionError(drawn)


def _one_of(so_far: list[Body], kinds: type[Body] | tuple[type[Body], ...], index: int) -> int:
    """The id of some record of these kinds; of any record when there is none."""
    ids = [n for n, body in enumerate(so_far, 1) if isinstance(body, kinds)]
    return ids[index % len(ids)] if ids else 1 + index % (len(so_far) + 1)


def _wild(drawn: list[tuple[Any, ...]]) -> tuple[Record, ...]:
    bodies: list[Body] = [started()]
    for one in drawn:
        bodies.append(_wild_body(one, bodies))
    return tuple(Record(n, 0.0, body) for n, body in enumerate(bodies, 1))


wild_logs = st.lists(_WILD, min_size=8, max_size=40).map(_wild)


@dataclass
class Session:
    """A log the program could have written, and the lengths it had when a request was sent."""

    records: list[Record] = field(default_factory=lambda: list(log()))
    view: View = field(default_factory=View)
    requests: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.view = View(tuple(self.records))

    def append(self, *bodies: Body) -> None:
        for body in bodies:
            record = Record(len(self.records) + 1, 0.0, body)
            self.records.append(record)
            self.view = step(self.view, record)

    def send(self) -> None:
        self.requests.append(len(self.records))


# Sizes of results in words; 30 of 30,000 fill the default budget several times.
_SIZES = st.sampled_from([1, 40, 900, 9_000, 30_000])
_STEP = st.tuples(st.lists(_SIZES, min_size=1, max_size=4), st.booleans(), st.booleans(), st.booleans())
_ORDERLY = st.one_of(
    st.tuples(st.just("turn"), st.lists(_STEP, max_size=5), st.integers(1, 200)),
    st.tuples(st.just("turn"), st.lists(_STEP, min_size=2, max_size=8), st.integers(1, 200)),
    st.tuples(st.just("prune"), st.booleans()),
    st.tuples(st.just("spill"), _INDEX),
    st.tuples(st.just("compact"), st.sampled_from([Gate.ASKED, Gate.PROACTIVE, Gate.REACTIVE, Gate.EMERGENCY])),
    st.tuples(st.just("undo"),),
    st.tuples(st.just("pin"), _INDEX, st.booleans()),
    st.tuples(st.just("rewind"), _INDEX),
    st.tuples(st.just("nested"),),
    st.tuples(st.just("shell"),),
    st.tuples(st.just("model"), st.sampled_from(["x", "scripted"])),
    st.tuples(st.just("effort"), st.sampled_from(["low", "high"])),
    st.tuples(st.just("reload"), st.sampled_from(["be kind", "be brief"])),
)  # fmt: skip


def _orderly(drawn: list[tuple[Any, ...]]) -> Session:
    session = Session()
    for number, one in enumerate(drawn):
        _play(session, one, number)
    return session


def _play(session: Session, drawn: tuple[Any, ...], number: int) -> None:
    view = session.view
    match drawn:
        case ("turn", steps, length):
            session.append(user(f"turn {number} " + "u " * length))
            session.send()
            for sizes, backwards, steered, rewritten in steps:
                # Some providers number calls anew in each reply.
                ids = [f"call_{n}" for n in range(len(sizes))]
                session.append(calls(*ids, text="looking", seen=session.records[-1].id))
                order = list(zip(ids, sizes, strict=True))
                for place, (call, size) in enumerate(reversed(order) if backwards else order):
                    session.append(returned(call, f"{number} {call} " + "w " * size, paths=(f"{call}.py",)))
                    if steered and place == 0:
                        session.append(user(f"steered {number}", how="steered"))
                if rewritten:
                    _play(session, ("prune", False), number)
                session.send()
            session.append(says(f"answer {number}", seen=session.records[-1].id))
        case ("prune", every):
            plan = plan_prune(view, ruler(), budget(), inside_turn=False, asked=True, every=every, force=True)
            if plan.records:
                session.append(Pruned(plan.records, "pruned", Gate.ASKED, 0, 0))
        case ("spill", index):
            live = [i.record for i in view.tail if i.role == "tool" and i.state == "live"]
            if live:
                session.append(Pruned((live[index % len(live)],), "spilled", Gate.PROACTIVE, 0, 0))
        case ("compact", gate):
            cut = choose_cut(view, ruler(), budget(), gate)
            if cut is not None:
                summary = "" if gate is Gate.EMERGENCY else f"## Goal\n{number}"
                before = view.compaction.id if view.compaction else None
                session.append(
                    Compacted(
                        summary, "", cut.first_kept, cut.prefix_from, before, "", gate, 0, 0, "", primer=90
                    )
                )  # fmt: skip
        case ("undo",):
            if view.rewrites:
                session.append(Reverted(view.rewrites[-1].id, 0, 0))
        case ("pin", index, on):
            said = [r.id for r in view.records if isinstance(r.body, (UserSaid, ToolReturned))]
            if said:
                session.append(Pinned(said[index % len(said)], on))
        case ("rewind", index):
            places = [r.id for r in view.records if isinstance(r.body, UserSaid) and r.body.how == "typed"]
            if len(places) > 1:
                session.append(Rewound(places[1 + index % (len(places) - 1)]))
        case ("nested",):
            session.append(Noted(f"rules {number}", "nested", to_model=True))
        case ("shell",):
            session.append(user(f"$ ls {number}", how="shell"))
        case ("model", name):
            session.append(SettingsChanged(model=name))
        case ("effort", name):
            session.append(SettingsChanged(effort=name))
        case ("reload", system):
            session.append(Reloaded(system, (), ()))
        case _:
            raise AssertionError(drawn)


orderly_sessions = st.lists(_ORDERLY, min_size=1, max_size=14).map(_orderly)


def check_valid(view: View) -> None:
    """Each call is followed by exactly one result, in the calls' order, and no result stands elsewhere."""
    waiting: list[str] = []
    for item in view.items:
        if item.role == "tool":
            assert waiting, f"a result without its call: {item}"
            assert item.call == waiting.pop(0)
        else:
            assert not waiting, f"calls without results: {waiting}"
            waiting = [call.id for call in item.calls]
    assert not waiting, f"calls without results: {waiting}"


def replies(view: View) -> list[Record]:
    return [r for r in view.records if isinstance(r.body, AssistantSaid)]
