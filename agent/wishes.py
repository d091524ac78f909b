"""What the user asks for beside a message: compact, prune, undo, pin, budget, model, shell, …

Not a turn (that is `loop`) and not a gate's own doing. Each wish ends in one `Finished` with the exit status headless
gives, and changes the world only by a record.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace

from agent import compactor, metering
from agent.admission import admit
from agent.ending import End
from agent.instructions import build
from agent.model import UnknownModel
from agent.resuming import changed_effort
from agent.sanitise import clean
from agent.session import Session
from agent.session_log import LogFailed
from agent.settings import SettingsError
from agent.settings_file import save
from agent.toolbox import BY_NAME
from agent.wire import (
    Appended,
    Command,
    Compact,
    Finished,
    Inspect,
    Opened,
    Pin,
    Plan,
    Planned,
    Prune,
    Reload,
    Rename,
    Reviewing,
    Rewind,
    SetBudget,
    SetMode,
    SetModel,
    Shell,
    ToolRunning,
    Undo,
)
from compaction import gates
from compaction.budget import Budget, check_rule, chosen
from compaction.cut import choose_cut
from compaction.errors import BadBudget, BadTarget
from compaction.prune import PrunePlan, plan_prune
from compaction.records import (
    Compacted,
    CompactionFailed,
    Gate,
    Outcome,
    Pinned,
    Record,
    Reloaded,
    Reverted,
    Rewound,
    SettingsChanged,
    UserSaid,
    tag,
    tag_of,
)
from compaction.tokens import calibrated, calibration, fixed
from compaction.view import step


class Unopened(Exception):
    """A session that cannot be opened, or settings that cannot be used; with a sentence and an exit status."""

    def __init__(self, text: str, code: int = 2) -> None:
        super().__init__(text)
        self.code = code


def replay(session: Session, *, resumed: bool) -> None:
    """Tells the front end all there is: the screen cannot tell a resume from what it saw live."""
    view = session.view
    settings = session.kit.settings
    session.emit(
        Opened(
            session.id, str(session.log.path), str(session.workspace.folder), view.model, session.mode, resumed,
            (
                *settings.notices, *map(str, session.log.damage), *session.notices,
                *([_budget_words(session.budget)] if _is_cut(session.budget) else []),
            ),
        )
    )  # fmt: skip
    for record in session.log.records:
        session.emit(Appended(record, replay=record.id <= session.log.found))
    session.log.on_append.append(session.heard)
    session.metered()


def log_failed(session: Session | None, error: LogFailed) -> End:
    """The log cannot be written: nothing more will be, and the screen says so."""
    if session is not None:
        size = session.size().total
        session.tell_gate(Gate.ASKED, Outcome.LOG_FAILED, tag(Gate.ASKED, Outcome.LOG_FAILED), size, size, str(error))
    return End("failed", str(error), 1)


def at_once(session: Session, command: Command) -> None:
    """Wishes that change no record and wait for nothing."""
    match command:
        case SetMode(mode):
            session.mode = mode
            session.tell(f"mode: {mode}")
        case Inspect(again=again):
            session.emit(replace(metering.inspected(session), again=again))
        case Prune(probe=True, records=records):
            session.emit(Planned(_probed(session, records), offered=False))
        case _:
            raise AssertionError(f"{type(command).__name__} does not act at once")


async def carry_out(session: Session, command: Command) -> End:
    """One wish; its end is told as `Finished`."""
    finished = await _wish(session, command)
    session.emit(finished)
    return End.of(finished.code, None if finished.code == 0 else finished.text)


async def run_waiting(session: Session) -> None:
    """Carries out what waited for the end of the step."""
    waiting, session.waiting[:] = list(session.waiting), []
    for command in waiting:
        await carry_out(session, command)


async def _wish(session: Session, command: Command) -> Finished:
    try:
        match command:
            case Compact():
                return await _compact(session, command)
            case Prune():
                return await _prune(session, command)
            case Undo():
                return await _undo(session)
            case Pin(record, on):
                return await _pin(session, record, on)
            case SetBudget(rule):
                return await _budget(session, rule)
            case SetModel():
                return await _model(session, command)
            case Rewind(before):
                return await _rewind(session, before)
            case Reload():
                return await _reload(session)
            case Rename(name):
                await session.append(SettingsChanged(name=name))
                return Finished("rename", True, 0, None, f"the session is called {name!r}")
            case _:
                raise AssertionError(f"{type(command).__name__} is no wish")
    except BadTarget as error:
        return Finished(type(command).__name__.lower(), False, 4, None, str(error))
    except BadBudget as error:
        return Finished("budget", False, 2, None, str(error))


async def _compact(session: Session, command: Compact) -> Finished:
    view, budget = session.view, session.budget
    if command.preview:
        plan = metering.compact_plan(session, command.up_to)
        session.emit(Planned(replace(plan, focus=command.focus, up_to=command.up_to)))
        return Finished("compact", False, 0, None, "a preview: nothing was changed")
    size = session.size().total
    if gates.unshrinkable(view, session.ruler, budget) > budget.landing:
        body = CompactionFailed(
            Gate.ASKED, Outcome.REFUSED_FIXED, gates.refuse_fixed(view, session.ruler, budget), size
        )
        (record,) = await session.append(body)
        return _finished(session, record)
    cut = choose_cut(view, session.ruler, budget, Gate.ASKED, up_to=command.up_to)
    if cut is None:
        name = tag(Gate.ASKED, Outcome.NOTHING_TO_DO)
        text = "nothing to compact: the conversation has nothing before its last step that is not kept anyway"
        session.tell_gate(Gate.ASKED, Outcome.NOTHING_TO_DO, name, size, size, text)
        return Finished("compact", False, 4, name, text, size, size)
    decision = gates.Compact(Gate.ASKED, cut, size)
    since = session.log.next_id
    try:
        review = _review(session) if command.review else None
        record = await compactor.compact(session, decision, command.focus, review)
    except asyncio.CancelledError:
        # Stopped while its record was written: what is on disk is in force.
        done = next((r for r in session.view.records if r.id >= since and isinstance(r.body, Compacted)), None)
        if done is not None:
            return _finished(session, done)
        return Finished("compact", False, 130, _last_tag(session), "stopped; nothing was changed", size, size)
    return _finished(session, record)


def _review(session: Session) -> compactor.Review:
    async def review(body: Compacted) -> str | None:
        return await session.answers.review(Reviewing(body.summary, body.fact_sheet, body.before, body.after))

    return review


def _last_tag(session: Session) -> str | None:
    body = session.view.records[-1].body
    return tag_of(body) if isinstance(body, CompactionFailed) else None


def _finished(session: Session, record: Record) -> Finished:
    body = record.body
    if isinstance(body, Compacted):
        text = f"compacted: {body.before:,} to {body.after:,} tokens"
        return Finished("compact", True, 0, tag_of(body), text, body.before, body.after, body.first_kept)
    assert isinstance(body, CompactionFailed)
    text = f"not compacted, nothing was changed: {body.detail}"
    return Finished("compact", False, 1, tag_of(body), text, body.size, body.size)


async def _prune(session: Session, command: Prune) -> Finished:
    plan = plan_prune(
        session.view, session.ruler, session.budget, inside_turn=False, asked=True, every=command.every,
        records=command.records, force=command.force,
    )  # fmt: skip
    session.emit(Planned(metering.prune_plan(session, plan), offered=command.dry_run))
    if command.dry_run:
        return Finished("prune", False, 0 if plan.records else 4, None, "a plan: nothing was changed")
    if not plan.records:
        name = tag(Gate.ASKED, Outcome.NOTHING_TO_DO)
        size = session.size().total
        return Finished("prune", False, 4, name, f"nothing to prune: {plan.why_nothing}", size, size)
    record = await compactor.prune(session, gates.Prune(Gate.ASKED, plan))
    body = record.body
    before, after = getattr(body, "before", 0), getattr(body, "after", 0)
    text = f"pruned {len(plan.records)} results: {before:,} to {after:,} tokens"
    return Finished("prune", True, 0, tag(Gate.ASKED, Outcome.PRUNED), text, before, after)


def _probed(session: Session, records: tuple[int, ...]) -> Plan:
    """What pruning those of the records that can go would come to, however little; `refused` says why others cannot."""
    wanted = list(dict.fromkeys(records))
    refused: list[tuple[int, str]] = []
    while True:
        try:
            plan = plan_prune(
                session.view, session.ruler, session.budget, inside_turn=False, asked=True, records=wanted, force=True
            )
        except BadTarget as error:
            wanted.remove(error.record)
            refused.append((error.record, error.why))
            if wanted:
                continue
            plan = PrunePlan((), (), 0, "none of these can go")
        return replace(metering.prune_plan(session, plan), refused=tuple(refused))


async def _undo(session: Session) -> Finished:
    view, budget = session.view, session.budget
    if not view.rewrites:
        return Finished("undo", False, 4, None, "nothing to undo: no prune or compaction is in force")
    target = view.rewrites[-1].id
    body = Reverted(target, 0, 0)
    after = calibrated(step(view, Record(session.log.next_id, 0.0, body)), session.ruler)
    before = calibrated(view, session.ruler)
    if budget.limit is not None and after > budget.limit:
        text = f"undoing would need {after:,} tokens, but at most {budget.limit:,} can be sent; nothing was changed"
        return Finished("undo", False, 3, None, text, before, after)
    await session.append(replace(body, before=before, after=after))
    text = f"record {target} taken back: {before:,} to {after:,} tokens; no automatic rewrite until it has grown again"
    return Finished("undo", True, 0, None, text, before, after)


async def _pin(session: Session, target: int, on: bool) -> Finished:
    view, budget = session.view, session.budget
    item = next((i for i in view.conversation if i.record == target), None)
    if item is None:
        raise BadTarget(target, "no message or result of this session has that number")
    if (target in view.pins) is on:
        text = f"record {target} is {'already' if on else 'not'} pinned"
        return Finished("pin", False, 4, None, text)
    if on:
        after = step(view, Record(session.log.next_id, 0.0, Pinned(target)))
        pinned = sum(session.ruler.item(i) for i in after.conversation if i.record in after.pins)
        need = round((fixed(view, session.ruler) + pinned) * calibration(view))
        if need > budget.landing // 2:
            text = (
                f"pins and fixed part would need {need:,} tokens, more than the {budget.landing // 2:,} they may take; "
                "nothing was changed"
            )
            return Finished("pin", False, 3, None, text, need, budget.landing // 2)
    await session.append(Pinned(target, on))
    return Finished("pin", True, 0, None, f"record {target} is {'pinned' if on else 'no longer pinned'}")


def _budget_words(budget: Budget) -> str:
    text = f"working budget {gates.k(budget.budget)} ({budget.policy.rule})"
    return f"{text}, cut to what the window can take" if _is_cut(budget) else text


def _is_cut(budget: Budget) -> bool:
    """Whether the rule asked for more than the window can take."""
    return budget.limit is not None and chosen(budget.policy.rule, budget.window.effective) > budget.limit


async def _budget(session: Session, rule: str) -> Finished:
    rule = rule.strip()
    kept = "default" if rule == "default" else check_rule(rule)
    await session.append(SettingsChanged(budget=kept))
    session.refresh()
    session.metered()
    problem = session.save_budget(kept)
    text = _budget_words(session.budget)
    if problem:
        text += f"; for this session only: {problem}"
    return Finished("budget", True, 0, None, text)


async def _model(session: Session, command: SetModel) -> Finished:
    endpoints = session.kit.endpoints
    name = endpoints.name_of(command.name)
    endpoints.adopt(name, command.api_base, remember=False)
    try:
        target = await session.kit.target(name)
    except UnknownModel as error:
        return Finished("model", False, 2, None, str(error))
    effort = changed_effort(session.view, session.kit.settings, name)
    await session.append(SettingsChanged(model=name, endpoint=target.endpoint.label, effort=effort))
    session.refresh()
    session.metered()
    window = session.target.window
    size = "unknown" if window.tokens is None else f"{window.tokens:,} tokens"
    cut = f"; {_budget_words(session.budget)}" if _is_cut(session.budget) else ""
    kept = _kept(session, name, command)
    text = f"model {name}, window {size} ({window.source}); its cache is cold{cut}{kept}"
    return Finished("model", True, 0, None, text)


def _kept(session: Session, name: str, command: SetModel) -> str:
    """Writes an address and a lasting choice into the settings; the end of a sentence about it."""
    places = session.kit.places
    session.kit.endpoints.adopt(name, None, remember=command.remember)
    try:
        if command.api_base is not None:
            save(places, ("models", name, "api_base"), command.api_base)
        if command.remember:
            save(places, ("model",), name)
    except SettingsError as error:
        return f"; for this run only: {error}"
    return "; new sessions start with it" if command.remember else ""


async def _rewind(session: Session, before: int) -> Finished:
    record = session.log.record(before)
    if record is None or not isinstance(record.body, UserSaid):
        raise BadTarget(before, "not a message of yours to go back to")
    await session.append(Rewound(before))
    session.refresh()
    session.metered()
    return Finished("rewind", True, 0, None, f"going on from before record {before}; nothing was erased")


async def _reload(session: Session) -> Finished:
    view = session.view
    frozen = build(session.kit.places, session.workspace.folder, session.kit.settings, session.target.window.effective)
    tools = view.tools
    if (frozen.system, frozen.instructions) == (view.system, view.instructions):
        return Finished("reload", False, 4, None, "the instructions are as they were at the start")
    await session.append(Reloaded(frozen.system, frozen.instructions, tools))
    return Finished("reload", True, 0, None, "changed instructions taken in; the cache starts again from there")


async def shell(session: Session, command: Shell) -> End:
    """`!command`: run in the user's name; with `join` the output waits in the context for the next request."""
    tool = BY_NAME["bash"]
    call = f"shell-{session.log.next_id}"
    session.emit(ToolRunning(call, "shell", command.command))
    try:
        result = await tool.run({"command": command.command}, session.workspace, call)
    except asyncio.CancelledError:
        session.tell("the command was stopped", "warning")
        return End("interrupted", None, 130)
    text = f"I ran `{command.command}`:\n\n{clean(result.text)}"
    if command.join:
        await session.append(replace(admit(session, text), how="shell"))
    else:
        session.emit(ToolRunning(call, "shell", command.command, clean(result.text)))
    return End()
