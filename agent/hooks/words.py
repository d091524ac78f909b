"""What is said of hooks: the page that `/hooks` shows, with the fields and answers that a hook's author needs.

Nothing here runs or decides anything.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from agent.sanitise import one_line, visible
from agent.settings.hooks import TIMEOUT, Hook

DESCRIBED = f"""\
A hook is a command of yours that runs at an event, in the project's top folder, with the
environment that commands get. In config.toml, or in a project's file once it is trusted:

    [[hooks]]
    event = "before_tool"
    match = "bash(git push)"      # a tool (edit, mcp__*), or a rule as in permissions
    command = "scripts/may-push"
    timeout = "{TIMEOUT:.0f}s"

It gets one JSON object on its standard input. Always there: event, session, path (of the
session's log), folder, model, mode. Beside them:

    before_tool         tool, call, title, arguments
    after_tool          the same, and result: text, failed, exit_status, paths, changed
    prompt              prompt (as it is sent), typed
    before_compaction   plan: gate, focus, size, target, records, first_kept, previous,
                        most_summary (tokens)
    after_compaction    record, compaction: gate, before, after, first_kept, summary
    session_start       resumed
    turn_end            stop (done, refused, failed), error, answer

Exit status 0 goes on. Then standard output may be one JSON object:

    {{"decision": "block", "reason": "…"}}   before_tool, after_tool, prompt,
                                           before_compaction
    {{"arguments": {{…}}}}                     before_tool: run it so; judged again
    {{"context": "…"}}                       prompt, after_tool, session_start: the model
                                           reads it
    {{"summary": "…"}}                       before_compaction: in place of the model's

Exit status 2 blocks, with standard error as the reason. Any other end, or none in time, is
told to you and the event goes on; a tool's call is then not run. A hook can forbid, never
allow: rules and questions come after it as always.

Your hooks run with your rights; a project's run in the sandbox that commands run in, where
there is one. Before a file of the project is written that a hook's command names, you are
asked."""


def title(hook: Hook) -> str:
    """A hook in a few words."""
    about = f"{hook.event} {hook.match}" if hook.match else hook.event
    return f"{one_line(about, 40)} hook ({one_line(hook.command, 60)})"


def effect(hook: Hook) -> str:
    """What it would do, for somebody who is asked to trust it."""
    calls = f" calls of {one_line(hook.match, 80)}" if hook.match else " every call of a tool"
    when = {
        "before_tool": f"before{calls}",
        "after_tool": f"after{calls}",
        "prompt": "on every message you send, which it reads",
        "before_compaction": "before every compaction",
        "after_compaction": "after every compaction",
        "session_start": "whenever a session opens here",
        "turn_end": "at the end of every turn",
    }[hook.event]
    return f"runs the command {visible(hook.command)} {when}"


def page(hooks: Sequence[Hook], last: Callable[[Hook], str]) -> str:
    """The hooks in force, and how hooks are written."""
    rows: list[str] = []
    for hook in hooks:
        limit = "" if hook.timeout == TIMEOUT else f", at most {hook.timeout:g} s"
        rows += [
            f"{hook.event}{' ' + visible(hook.match) if hook.match else ''}{limit}",
            f"    {visible(hook.command)}",
            f"    from {visible(hook.origin)}",
            f"    last: {last(hook) or 'not run yet in this session'}",
            "",
        ]
    return "\n".join([*(rows or ["There are no hooks.", ""]), DESCRIBED])
