"""What is told of the commands in the background: rows and sentences to people, notices to the model.

Not the jobs (those are `agent.tools.jobs`). The model is told of a job's end once, at the end of the conversation.
"""

from __future__ import annotations

from agent.sanitise import one_line
from agent.session import Session
from agent.tools.jobs import Job
from agent.wire import InspectJobs, JobRow, Jobs, StopJob
from compaction.records import Noted

# The topic of the notices, for those who read the log.
TOPIC = "job"

# A command in a sentence, characters.
NAMED = 60


def listen(session: Session) -> None:
    """From now on people are told of what begins and ends."""
    session.workspace.jobs.changed = lambda job: _changed(session, job)


def at_once(session: Session, command: InspectJobs | StopJob) -> None:
    """The list, or a job's end; both may be asked for whatever runs."""
    jobs = session.workspace.jobs
    match command:
        case InspectJobs():
            session.emit(Jobs(_rows(session, tails=True), asked=True))
        case StopJob(job=number):
            job = jobs.all.get(number)
            if job is None or not job.runs:
                session.tell(f"Job {number} does not run.", "warning")
            else:
                jobs.stop_soon(job, "stopped by the user")


def notes(session: Session) -> tuple[Noted, ...]:
    """A notice for each job that ended unheard by the model; from now on it counts as told."""
    said: list[Noted] = []
    for job in session.workspace.jobs.untold():
        job.told = True
        named = one_line(job.command, NAMED)
        text = f"[job {job.number} {job.standing()} ({named}); bash with job {job.number} reads what it printed]"
        said.append(Noted(text, TOPIC, to_model=True))
    return tuple(said)


def ending(session: Session) -> tuple[str, ...]:
    """The sentence for a session that is closed while jobs run."""
    running = len(session.workspace.jobs.running())
    jobs = "1 job" if running == 1 else f"{running} jobs"
    return (f"{jobs} in the background ended with the session before",) if running else ()


def _changed(session: Session, job: Job) -> None:
    session.emit(Jobs(_rows(session, tails=False)))
    if not (job.runs or job.awaited):
        level = "info" if job.stopped or job.status == 0 else "warning"
        session.tell(f"Job {job.number} {job.standing()} ({one_line(job.command, NAMED)}).", level)


def _rows(session: Session, *, tails: bool) -> tuple[JobRow, ...]:
    return tuple(
        JobRow(
            job.number, job.command, job.runs, job.standing(), job.since, str(job.path), job.tail() if tails else ""
        )
        for job in session.workspace.jobs.all.values()
    )  # fmt: skip
