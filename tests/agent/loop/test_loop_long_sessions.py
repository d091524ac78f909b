"""Long sessions: what one more record costs does not grow with what was said before; work is counted, not time."""

from __future__ import annotations

from pathlib import Path

from agent.ladders import Ladders
from agent.models.stub_tokens import tokens
from compaction import cache
from compaction.records import AssistantSaid, Body, Noted, Stop, ToolCall, ToolReturned, Usage, UserSaid
from tests.agent.loop.harness import NAME, Story, calls, output, scripted


def spoken(turns: int, first: int) -> list[Body]:
    """Turns of two steps as records numbered from `first`."""
    bodies: list[Body] = []

    def says(text: str, *made: ToolCall) -> None:
        usage = Usage(1_000 + len(bodies), 0, 0, 9)
        stop: Stop = "calls" if made else "done"
        bodies.append(AssistantSaid(text, made, usage, stop, NAME, first + len(bodies) - 1, None, 900))

    for turn in range(turns):
        bodies.append(UserSaid(f"question {turn}"))
        says("", ToolCall(f"c{turn}", "read", f'{{"path":"a{turn}.py"}}'))
        bodies.append(ToolReturned(f"c{turn}", "read", "read", f"text {turn} " * 40, characters=300))
        says("done")
    return bodies


class Counted:
    """A counter of tokens that counts its own work."""

    def __init__(self) -> None:
        self.characters = 0

    def __call__(self, text: str) -> int:
        self.characters += len(text)
        return tokens(text)


async def test_a_record_more_is_counted_and_nothing_else_again(tmp_path: Path) -> None:
    count = Counted()
    async with Story(tmp_path, scripted(["ok"]), window=1_000_000, count=count) as story:
        await story.session.log.append(*spoken(300, story.session.log.next_id))
        story.session.metered()
        before = count.characters
        await story.session.append(Noted("n" * 100, "x", to_model=True))
        assert count.characters - before < 200
        before = count.characters
        await story.say("a question")
        assert count.characters - before < 1_000


async def test_kept_ladders_are_those_made_anew(tmp_path: Path) -> None:
    async with Story(tmp_path, scripted([calls(output(900, n)) for n in range(6)])) as story:
        kept = story.session.ladders
        seen = 0

        def check(record: object) -> None:
            nonlocal seen
            seen += 1
            view = story.session.view
            assert kept.now(view) == cache.ladder(view, story.session.ruler)
            for reply in (r for r in view.records[-4:] if isinstance(r.body, AssistantSaid)):
                anew = Ladders(story.session.ruler).sent(story.records, reply)
                assert kept.sent(story.records, reply) == anew

        story.session.log.on_append.append(check)
        await story.say("go")
        assert seen > 10
