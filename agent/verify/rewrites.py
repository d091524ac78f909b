"""What the engine never writes into a prune or a compaction, and what it writes only after something changed.

Pure: of one record and the view before it. Nothing is counted here: sizes are taken from the record, so one that lies
about them is seen only where two of its numbers cannot both be.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from compaction.budget import LIMIT_MARGIN
from compaction.cut import legal_cuts, prefix_start
from compaction.records import (
    Body,
    Compacted,
    CompactionFailed,
    Gate,
    Pruned,
    Reverted,
    SettingsChanged,
    Started,
    ToolReturned,
    WindowLearned,
    tag_of,
)
from compaction.room import PRIMER_SHARE
from compaction.tokens import IMAGE, MESSAGE
from compaction.view import View

# Summary, fact sheet and learnings are capped near 10,000 tokens, 100,000 characters of the longest words; twice that
# is no summary.
MOST_OF_A_SUMMARY = 200_000

# A message this long (characters) standing whole in a summary is no quotation.
LONG_MESSAGE = 1_000


@dataclass(frozen=True, slots=True)
class Known:
    """What the log says of the marks in force, tokens: None where something it does not hold has changed them.

    `landing` is the first one; `most` is what can be sent at the most, the answer's own room not taken off.
    """

    landing: int | None = None
    most: int | None = None

    def after(self, body: Body, model: str) -> Known:
        """What is known after one more record; `model` is the one in force then."""
        match body:
            case Started():
                return Known(body.landing, _most(body.window))
            case SettingsChanged(model=None, budget=None):
                return self
            case SettingsChanged(model=None):
                return replace(self, landing=None)
            case SettingsChanged():
                return Known()
            case WindowLearned(window=None) if body.model == model:
                return replace(self, landing=None)
            case WindowLearned() if body.model == model:
                return Known(None, _most(body.window))
            case _:
                return self


def _most(window: int | None) -> int | None:
    return None if window is None else window - window // LIMIT_MARGIN


def wrong_tag(body: Pruned | Compacted | CompactionFailed) -> Iterator[str]:
    """A gate that cannot end so."""
    try:
        tag_of(body)
    except ValueError as error:
        yield str(error)


def wrong_prune(body: Pruned, view: View) -> Iterator[str]:
    """What is wrong with a prune or a late spill of this view."""
    yield from wrong_tag(body)
    if body.after > body.before:
        yield f"made the view larger: {body.before:,} before, {body.after:,} after"
    if not body.records or len(set(body.records)) != len(body.records):
        yield "replaces nothing, or something twice"
    results = {item.record: item for item in view.conversation if item.role == "tool"}
    shown = {item.record for item in view.tail}
    for target in body.records:
        # A call without its result is shown under its reply's number, and that is no result.
        if target not in results or not isinstance(view.body_of(target), ToolReturned):
            yield f"replaces record {target}, which is no result in force"
        elif target in view.replaced:
            yield f"replaces record {target} again"
        elif target in view.pins:
            yield f"replaces record {target}, which is pinned"
        elif results[target].state != "live":
            yield f"replaces record {target}, which is {results[target].state} already"
        elif target not in shown:
            yield f"replaces record {target}, which a compaction has taken out of the view"


def wrong_compaction(body: Compacted, view: View) -> Iterator[str]:
    """What is wrong with a compaction of this view."""
    yield from wrong_tag(body)
    if body.after >= body.before:
        yield f"made the view no smaller: {body.before:,} before, {body.after:,} after"
    items = view.conversation
    if body.first_kept not in {items[at].record for at in legal_cuts(view)}:
        yield f"cuts before record {body.first_kept}, where no cut is legal"
    start = prefix_start(view)
    if start < len(items) and body.prefix_from != items[start].record:
        yield f"summarises from record {body.prefix_from} on; the last summary ends at {items[start].record}"
    if body.previous != (view.compaction.id if view.compaction else None):
        yield f"stands on the summary of record {body.previous}, which is not the one in force"
    text = "\n".join((body.summary, body.fact_sheet, body.learnings))
    long = [i.text for i in items if i.record < body.first_kept and len(i.text) >= LONG_MESSAGE]
    whole = sum(message in text for message in long)
    if len(text) > MOST_OF_A_SUMMARY or (whole > 1 and whole * 2 >= len(long)):
        yield "holds the conversation itself, not a summary of it"


def doubtful(body: Body, view: View, known: Known) -> Iterator[str]:
    """What is wrong unless the settings were others when the session was opened again: no log says that they were."""
    match body:
        case Compacted():
            if body.gate is Gate.PROACTIVE and known.landing is not None and body.after > known.landing:
                yield f"a proactive compaction that ended above landing, at {body.after:,}"
            if body.gate is not Gate.ASKED and known.most is not None and body.after > known.most:
                yield f"an automatic compaction that ended at {body.after:,}; at most {known.most:,} can be sent"
            if body.primer is not None and known.landing is not None and _small(view, known.landing):
                yield f"the first message is shown in {body.primer:,} characters, and was small enough to stay whole"
        case Reverted():
            if known.most is not None and body.after > known.most:
                yield f"an undo that ended at {body.after:,}; at most {known.most:,} can be sent"
        case _:
            pass


def _small(view: View, landing: int) -> bool:
    """Whether a compaction keeps the first message whole for sure: no tokenizer has more tokens than bytes."""
    primer = view.primer
    if primer is None:
        return True
    return MESSAGE + len(primer.text.encode()) + IMAGE * len(primer.images) <= landing // PRIMER_SHARE
