"""One open session: its log, and the facts and choices of the moment that belong to it.

Not a turn (that is `loop`) and not a rewrite (that is `compactor`); it answers what both ask: which endpoint, how large
a window, which budget, what size, what price, and it tells the front end.

Invariants
 1. Nothing here is state that the log does not hold, but for what is found anew at each opening (endpoint, keys,
    probes) and the front end's waiting answers.
 2. Every event goes out through `emit`, on the worker's loop.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from agent.answers import Answers
from agent.counting.child import CountChild
from agent.endpoints import Endpoints
from agent.hooks.answers import Hooked
from agent.instructions import remember
from agent.ladders import Ladders
from agent.log_file import Disk
from agent.mcp.servers import Servers
from agent.model import Endpoint, Model, UnknownModel
from agent.model_names import doubt
from agent.models.catalogue import Catalogue
from agent.models.probe import Probed
from agent.models.weights import is_embedded, weights
from agent.permissions.rules import Rules, granted
from agent.permissions.rules import remember as remember_rules
from agent.places import Places, slug
from agent.seeing import blind, sees
from agent.session_log import SessionLog
from agent.settings import Settings, SettingsError, without_budget
from agent.settings.file import save_budget
from agent.shadow.keeping import Keeper, keeper_for
from agent.spending import Spending
from agent.tools import TOOLS, Tool, Workspace
from agent.wire import Appended, Command, Event, Gated, Meter, Metered, Mode, Told, ToolRunning
from compaction import gates
from compaction.attempts import ceiling, shares_window
from compaction.budget import Budget, Window, budget_for
from compaction.cache import Prices, request_cost
from compaction.records import (
    Body,
    Compacted,
    CompactionFailed,
    Outcome,
    Pruned,
    Record,
    SettingsChanged,
    Usage,
    tag_of,
)
from compaction.summary import Prompts
from compaction.tokens import Ruler, Size, calibration, measure
from compaction.view import View

# The log is what a user may read back; a learned sentence of the model longer than this is no fact but an essay.
MOST_LEARNINGS = 4_000

# The longest a summary may take, seconds: a page of text at the slowest speeds seen, retries included. What binds
# before it is the model's own silence deadline; this one catches a stream that drips for ever.
SUMMARY_DEADLINE = 300.0


def rules_file(places: Places, folder: Path) -> Path:
    """Where a project's remembered permissions are kept: never inside the repository they are about."""
    return places.data / "permissions" / f"{slug(folder)}.json"


@dataclass(frozen=True, slots=True)
class Target:
    """A model to ask, with what is known of it."""

    endpoint: Endpoint
    window: Window
    prices: Prices | None


@dataclass(frozen=True)
class Kit:
    """What a session is given: made once by whoever wires the program.

    `clock` gives seconds since the epoch. `interactive`: somebody can answer an `Asking`. `environ` is what commands
    inherit from. `summary_deadline` is the longest a summary may take, seconds. `disk` is what logs are written with,
    None the real one. `counted` is the process behind `count`, where it has one. `load` reads the settings again, as
    they were read for this run; it raises `SettingsError`. `servers` are the MCP servers.
    """

    settings: Settings
    places: Places
    model: Model
    catalogue: Catalogue
    endpoints: Endpoints
    count: Callable[[str], int]
    summary_prompts: Prompts
    emit: Callable[[Event], None]
    clock: Callable[[], float]
    environ: Mapping[str, str]
    interactive: bool = True
    versions: str = ""
    summary_deadline: float = SUMMARY_DEADLINE
    disk: Disk | None = None
    counted: CountChild | None = None
    load: Callable[[], Settings] | None = None
    servers: Servers | None = None

    async def target(self, model: str) -> Target:
        """A model by name, after its server was asked what it runs with. Raises `UnknownModel`."""
        await self.endpoints.load_keys()
        why = doubt(model, self.settings, self.catalogue.names())
        if why is not None:
            raise UnknownModel(why)
        if not is_embedded(model):
            await self.catalogue.probe(self.endpoints.resolve(model))
            self.catalogue.settle(self.endpoints.resolve(model), self.settings.claim_for(model))
        return self.known(model)

    def known(self, model: str) -> Target:
        """A model by name with what is known of it; asks no server. Raises `UnknownModel` for a missing file."""
        endpoint, claim = self.endpoints.resolve(model), self.settings.claim_for(model)
        if is_embedded(model):
            found = weights(model, claim.window)
            self.catalogue.note_probe(endpoint, Probed(found.window, found.max_output))
        return Target(endpoint, self.catalogue.window(endpoint, claim), self.catalogue.prices(endpoint, claim))


@dataclass
class Session:
    """An open session on the worker's loop. `meter` works out the numbers of the screen; `tools` run calls, by name."""

    kit: Kit
    log: SessionLog
    workspace: Workspace
    ruler: Ruler
    mode: Mode
    rules: Rules
    meter: Callable[[Session], Meter]
    target: Target = field(init=False)
    budget: Budget = field(init=False)
    answers: Answers = field(init=False)
    steered: list[str] = field(default_factory=list)
    waiting: list[Command] = field(default_factory=list)
    notices: list[str] = field(default_factory=list)
    hooked: Hooked = field(default_factory=Hooked)
    keeper: Keeper = field(init=False)
    tools: dict[str, Tool] = field(default_factory=lambda: {tool.name: tool for tool in TOOLS})
    ladders: Ladders = field(init=False)
    spending: Spending = field(default_factory=Spending)
    opened: int = field(init=False)

    def __post_init__(self) -> None:
        self.answers = Answers(self.kit.emit)
        self.ladders = Ladders(self.ruler)
        self.keeper = keeper_for(self.log.folder, self.workspace.folder, self.kit.environ, self.kit.places.sessions)
        # What was chosen from this record on was chosen by whoever sits here, after the flags of this run.
        self.opened = self.log.next_id
        self.refresh()

    # ── facts and choices ──

    @property
    def view(self) -> View:
        """The view of the log as it stands."""
        return self.log.view

    @property
    def id(self) -> str:
        """The session's id."""
        started = self.view.started
        return started.session if started else self.log.folder.name

    @property
    def emit(self) -> Callable[[Event], None]:
        """Where events go."""
        return self.kit.emit

    def refresh(self) -> None:
        """Works out endpoint, window and budget again: after a change of model, budget or window."""
        self.target = self.target_for(self.view.model)
        self.budget = budget_for(self.target.window, self.kit.settings.policy_for(self.view.model, self.rule()))

    def budget_of(self, target: Target) -> Budget:
        """The budget there would be with another model."""
        return budget_for(target.window, self.kit.settings.policy_for(target.endpoint.name))

    def rule(self) -> str | None:
        """The budget rule chosen in this session for the model in force; None leaves it to the settings.

        A flag or variable of this run is newer than what an earlier run chose, older than what this one did.
        """
        flagged = self.kit.settings.origin["context.budget"].startswith(("flag ", "variable "))
        model = self.view.started.model if self.view.started else ""
        rules: dict[str, str | None] = {}
        for record in self.view.records:
            if isinstance(record.body, SettingsChanged):
                model = record.body.model or model
                if record.body.budget is not None and (record.id >= self.opened or not flagged):
                    rules[model] = None if record.body.budget == "default" else record.body.budget
        return rules.get(self.view.model)

    def target_for(self, name: str) -> Target:
        """A model by name, with its window (the log's own ceilings included) and prices."""
        target = self.kit.known(name)
        started = self.view.started
        if (
            target.window.tokens is None
            and started
            and started.window
            and (started.model, started.endpoint)
            == (
                name,
                target.endpoint.label,
            )
        ):
            # A reading command asks no server: what it said when the session started is the best there is.
            window = replace(target.window, tokens=started.window, source=started.window_source)
            target = replace(target, window=window)
        if target.window.output_apart and shares_window(self.view, target.endpoint.name, target.endpoint.label):
            target = replace(target, window=replace(target.window, output_apart=False))
        least = ceiling(self.view, target.endpoint.name, target.endpoint.label)
        if least is not None and (target.window.tokens is None or least < target.window.tokens):
            return replace(target, window=replace(target.window, ceiling=least))
        return target

    def summariser(self) -> Target:
        """The model that summarises: the session's own, or the one the settings name."""
        name = self.kit.settings.summariser
        if name == "same" or self.kit.endpoints.name_of(name) == self.view.model:
            return self.target
        return self.target_for(self.kit.endpoints.name_of(name))

    def blind(self) -> str | None:
        """The sentence for a model that takes no images; None when it does."""
        model = self.view.model
        return None if sees(model, self.kit.settings, self.kit.catalogue) else blind(model)

    # ── numbers ──

    def size(self) -> Size:
        """The size the next request starts from, tokens."""
        return measure(self.view, self.ruler)

    def estimate_text(self, text: str) -> int:
        """A text's calibrated tokens."""
        return round(self.ruler.count(text) * calibration(self.view))

    def price_of(self, model: str, usage: Usage | None) -> float | None:
        """Dollars for a request; None where no price or no usage is known."""
        prices = self.target_for(model).prices
        return None if usage is None or prices is None else request_cost(usage, prices)

    def warm_s(self) -> float:
        """How long the provider keeps a prompt cache, seconds."""
        return self.kit.settings.cache_ttl_for(self.view.model)

    # ── writing and telling ──

    async def append(self, *bodies: Body) -> tuple[Record, ...]:
        """Writes records; then the meter goes out.

        A cancellation waits for the disk and then goes on: whoever cleans up after it finds the records in the view.
        Raises `LogFailed`.
        """
        writing = asyncio.ensure_future(self.log.append(*bodies))
        cancelled: asyncio.CancelledError | None = None
        while not writing.done():
            try:
                await asyncio.wait([writing])
            except asyncio.CancelledError as error:
                cancelled = error
        records = writing.result()
        if self.target.window.ceiling is not None:
            # An answer to as large a request takes back what a refusal without a number let one guess.
            self.refresh()
        self.metered()
        if cancelled is not None:
            raise cancelled
        return records

    def metered(self) -> None:
        """Sends the numbers of the screen."""
        self.emit(Metered(self.meter(self)))
        if self.kit.counted is not None and (trouble := self.kit.counted.trouble()):
            self.warn(trouble)

    def heard(self, record: Record) -> None:
        """Tells the front end of a record that is on disk now; a rewrite or its failure as a gate's end too."""
        self.emit(Appended(record))
        body = record.body
        match body:
            case Pruned(how="spilled"):
                self.tell_gate(body.gate, Outcome.SPILLED, tag_of(body), body.before, body.after)
            case Pruned():
                self.tell_gate(body.gate, Outcome.PRUNED, tag_of(body), body.before, body.after)
            case Compacted():
                self.tell_gate(body.gate, Outcome.COMPACTED, tag_of(body), body.before, body.after)
                self.learn(body.learnings)
            case CompactionFailed():
                self.tell_gate(body.gate, body.outcome, tag_of(body), body.size, body.size, body.detail)
            case _:
                pass

    def tell_gate(self, gate: str, outcome: str, tag: str, before: int, after: int, text: str = "") -> None:
        """One `gate` event."""
        self.emit(Gated(str(gate), str(outcome), tag, before, after, text or self._why(before)))

    def _why(self, before: int) -> str:
        if self.budget.limit is not None and before >= self.budget.limit:
            return gates.window_full(before, self.budget)
        return gates.over_budget(self.budget) if before >= self.budget.trigger else ""

    def tell(self, text: str, level: str = "info") -> None:
        """A sentence for people."""
        self.emit(Told(text, "warning" if level == "warning" else "error" if level == "error" else "info"))

    def learn(self, text: str) -> None:
        """Keeps what a summary says of the project for later sessions; losing it loses nothing of this one."""
        if text.strip():
            problem = remember(self.kit.places, self.workspace.folder, text[:MOST_LEARNINGS])
            if problem:
                self.tell(problem, "warning")

    def remember_window(self, endpoint: Endpoint, window: int | None) -> None:
        """Stores what a provider said of its window, and says so when it contradicts a claim."""
        if window is None:
            return
        claimed = self.target_for(endpoint.name).window
        self.kit.catalogue.learn(endpoint, window, self.kit.settings.claim_for(endpoint.name))
        if claimed.tokens != window:
            was = "unknown" if claimed.tokens is None else f"{claimed.tokens:,} ({claimed.source})"
            self.tell(f"{endpoint.name} says its window is {window:,} tokens; it was {was}. Kept for later sessions.")

    def tool_output(self, call: str, text: str) -> None:
        """What a running command printed since the last word of it."""
        self.emit(ToolRunning(call, "", "", text))

    def allow(self, tool: str, prefix: str, *, project: bool) -> None:
        """The user said yes for more than once: for the session, or for the project from now on."""
        rules = granted(tool, prefix)
        self.rules = self.rules.with_session(*rules)
        if project:
            try:
                remember_rules(rules_file(self.kit.places, self.workspace.folder), self.workspace.folder, *rules)
            except OSError as error:
                self.warn(f"allowed for this session only: it could not be written down ({error.strerror or error})")

    def save_budget(self, rule: str) -> str | None:
        """Keeps a budget rule for this model in the settings; a sentence when that failed."""
        model = self.view.model
        if rule == "default":
            # What the files said when this program started is void too.
            self.kit = replace(self.kit, settings=without_budget(self.kit.settings, model))
            self.refresh()
            self.metered()
        try:
            save_budget(self.kit.places, model, rule)
        except SettingsError as error:
            return str(error)
        return None

    def warn(self, text: str) -> None:
        """A sentence about something that went wrong and was survived."""
        self.tell(text, "warning")

    async def aclose(self) -> None:
        """Ends what commands left running and gives the log back; what runs has ended before."""
        await self.workspace.close()
        await self.log.aclose()
