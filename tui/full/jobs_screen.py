"""/jobs: the commands in the background, what each printed last, and their end.

Not the jobs: rows come from the worker, once a second while the screen is open, and stopping is asked of it.
"""

from __future__ import annotations

from typing import ClassVar

from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from agent.wire import Event, InspectJobs, JobRow, Jobs, StopJob
from tui.flow import wrap
from tui.full.overlay import Overlay
from tui.full.prompt import Wished
from tui.plain import one_line, safe

# Seconds: a server's log moves about so fast, and nobody reads faster.
AGAIN = 1.0


class JobsScreen(Overlay):
    """The list above, the marked one's output below."""

    DEFAULT_CSS = """
    JobsScreen OptionList, JobsScreen OptionList:focus { height: auto; max-height: 40%; }
    JobsScreen #jobs-tail { height: 1fr; margin: 1 0; overflow: hidden; }
    .-short JobsScreen #jobs-tail { margin: 0; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("s,delete", "stop", "stop the marked job", id="stop-job"),
        Binding("escape,q,ctrl+c", "leave", "close"),
    ]

    def __init__(self, event: Jobs) -> None:
        super().__init__()
        self._rows: tuple[JobRow, ...] = event.rows

    @classmethod
    def open(cls, app: App[int], event: Jobs) -> None:
        """Show it, unless it is shown already."""
        if not any(isinstance(screen, cls) for screen in app.screen_stack):
            app.push_screen(cls(event))

    def compose(self) -> ComposeResult:
        """Title, jobs, output, keys."""
        with Vertical(classes="sheet whole-screen"):
            yield Static(Content.styled("Commands in the background", "bold"))
            yield OptionList(markup=False)
            yield Static(id="jobs-tail", markup=False)
            yield Static(Content.styled("s stops the marked one · esc closes", "dim"))

    def on_mount(self) -> None:
        """The newest is marked."""
        self.query_one(OptionList).focus()
        self._show()
        self.set_interval(AGAIN, lambda: self.post_message(Wished(InspectJobs())))

    def hear(self, event: Event) -> None:
        """Another state of things."""
        if isinstance(event, Jobs) and event.asked:
            self._rows = event.rows
            self._show()

    def _show(self) -> None:
        options = self.query_one(OptionList)
        marked = options.highlighted
        words = [_row(job) for job in self._rows]
        if options.option_count != len(words):
            options.clear_options()
            options.add_options(Option(row) for row in words)
            options.highlighted = len(words) - 1 if words else None
        else:
            for index, row in enumerate(words):
                options.replace_option_prompt_at_index(index, row)
            options.highlighted = marked
        self._tail()

    def _tail(self) -> None:
        job, view = self._marked(), self.query_one("#jobs-tail", Static)
        if job is None:
            view.update(Content.styled("No command was put into the background.", "dim"))
            return
        lines = wrap(safe(job.tail).rstrip("\n") or "(no output yet)", max(8, self.size.width - 4))
        view.update(Content("\n".join(lines[-max(1, view.size.height) :])))

    def _marked(self) -> JobRow | None:
        at = self.query_one(OptionList).highlighted
        return self._rows[at] if at is not None and at < len(self._rows) else None

    def on_option_list_option_highlighted(self) -> None:
        """Another one's output."""
        self._tail()

    def on_resize(self) -> None:
        """More lines of it, or fewer."""
        self.call_after_refresh(self._tail)

    def action_stop(self) -> None:
        """Its end is told like any other."""
        job = self._marked()
        if job is not None and job.runs:
            self.post_message(Wished(StopJob(job.number)))


def _row(job: JobRow) -> Content:
    standing = (f"  {safe(job.standing)}", "" if job.runs else "dim")
    return Content.assemble(f"{job.number}  {one_line(job.command, 100)}", standing)
