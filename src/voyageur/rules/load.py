"""Numbers of jobs, and what the scheduler and the login nodes are asked to bear."""

from __future__ import annotations

from collections.abc import Iterator

from voyageur.findings import Finding, Level
from voyageur.rules.model import Advice, Case, Check, Rule
from voyageur.rules.reading import array_tasks, is_cluster, partition_of, shell_words, starts, value_of
from voyageur.site import Site
from voyageur.units import Duration

JOB_LIMIT = Rule(
    id="job-limit",
    numbers=(24,),
    level=Level.ERROR,
    because="jobs beyond the limit are refused; the tasks of an array count one by one",
    fix="submit fewer, or wait until some have ended",
    source="Alliance documentation: Running jobs, Job arrays",
)
MANY_SUBMITS = Rule(
    id="many-submits",
    numbers=(25,),
    level=Level.WARNING,
    because="each sbatch call is work for a controller that everybody shares",
    fix="put the tasks into one job, or leave a pause between the calls: `sleep 1`",
    source="Alliance documentation: Running jobs; CSCS documentation: fair use",
)
SHORT_TASKS = Rule(
    id="short-tasks",
    numbers=(26,),
    level=Level.WARNING,
    because="each task of an array is a job, with a job's costs for the scheduler",
    fix="let each task do the work of several: GLOST, META, GNU parallel or HyperQueue",
    source="Alliance documentation: Job arrays; CSCS documentation: running jobs",
)
POLLING = Rule(
    id="polling",
    numbers=(27,),
    level=Level.WARNING,
    because="questions every few seconds slow the scheduler down for everybody",
    fix="`voy wait` waits for runs, and asks once for all of them",
    source="Alliance documentation: Running jobs, Job scheduling policies; TACC documentation: good conduct",
)
UNANSWERED = Rule(
    id="unanswered",
    numbers=(28,),
    level=Level.ERROR,
    because="`Socket timed out` says nothing about the job: it may be in the queue already, and would be there twice",
    fix="look for it with `voy status`",
    source="Alliance documentation: Frequently asked questions",
)
RESUBMIT = Rule(
    id="resubmit-from-job",
    numbers=(29,),
    level=Level.ERROR,
    because="compute nodes have no sbatch there, so the chain breaks at its first link",
    fix="leave `sbatch` out of the program; a run that stops in good order is submitted again from a login node",
    source="Alliance documentation: Trillium quickstart, Running jobs",
)
CONNECTIONS = Rule(
    id="connections",
    numbers=(30,),
    level=Level.WARNING,
    because="every new connection costs a second factor, and many in a short time look like an attack",
    fix="in ~/.ssh/config, for this host: `ControlMaster auto`, `ControlPath ~/.ssh/%C`, `ControlPersist 10m`",
    source="Alliance documentation: Multifactor authentication; JSC documentation: access",
)

_FEW_DOZEN = 36


def job_limit(case: Case) -> Iterator[Finding]:
    if not is_cluster(case):
        return
    new, there = array_tasks(case), case.known.jobs.submitted if case.known.jobs else 0
    limit = min(_job_limits(case), default=None)
    if limit is not None and there + new > limit:
        have = f"you have {there} jobs there" if there else "you have none there"
        what = f"{new} more job{'' if new == 1 else 's'}, and {have}: the limit is {limit}"
        yield JOB_LIMIT.broken(what, source=case.site.limits.source)
    longest = case.site.limits.array
    if longest and value_of(case, "--array") is not None and new > longest:
        what = f"an array of {new} tasks, and {case.site.name} takes {longest}"
        yield JOB_LIMIT.broken(what, fix=f"cut it into arrays of {longest} tasks", source=case.site.limits.source)


def _job_limits(case: Case) -> Iterator[int]:
    queue, charged = partition_of(case), case.plan.account.value
    mine = [account.most_submitted for account in case.known.accounts if account.name == charged]
    known = [case.site.limits.submitted, queue.submitted if queue else None, *mine]
    return (limit for limit in known if limit is not None)


def many_submits(case: Case) -> Iterator[Finding]:
    count = case.known.submitted_lately
    if is_cluster(case) and count >= _FEW_DOZEN:
        pause = case.site.limits.sbatch_pause
        fix = (
            f"put the tasks into one job, or leave {pause} between the calls: `sleep {pause.seconds}`" if pause else ""
        )
        what = f"{count} runs were submitted in the last ten minutes, each with an sbatch call of its own"
        yield MANY_SUBMITS.broken(what, fix=fix or None, source=case.site.limits.source)


def short_tasks(case: Case) -> Iterator[Finding]:
    time, useful = case.plan.shape.time.value, case.site.times.useful or Duration(3600)
    if is_cluster(case) and array_tasks(case) > 1 and time < useful:
        pieces = case.plan.chain is not None
        what = f"{array_tasks(case)} {'pieces' if pieces else 'tasks'} of {time}; a job should take {useful} or more"
        fix = "cut the run into longer pieces: `--chain auto`" if pieces else None
        yield SHORT_TASKS.broken(what, fix=fix, source=case.site.times.source)


_QUESTIONS = ("squeue", "sq", "sinfo", "sacct")


def polling(case: Case) -> Iterator[Finding]:
    words = shell_words(case)
    if starts(case, "partition-stats"):
        yield POLLING.broken("`partition-stats` is run from a job", fix="leave it out: it is for people at a prompt")
    elif starts(case, *_QUESTIONS) and {"watch", "while", "until"} & set(words):
        yield POLLING.broken(f"`{starts(case, *_QUESTIONS)}` is asked again and again")


def polling_advice(site: Site) -> Iterator[Finding]:
    if pause := site.limits.poll_pause:
        what = f"ask squeue at most once in {pause}"
        yield POLLING.advice(what, source=site.limits.source)


def unanswered(case: Case) -> Iterator[Finding]:
    for run in case.known.unanswered if is_cluster(case) else ():
        what = f"nobody knows yet whether Slurm took {run}, an earlier run of this experiment"
        yield UNANSWERED.broken(what, fix=f"`voy status {run}`")


def resubmit(case: Case) -> Iterator[Finding]:
    if case.site.limits.sbatch_in_jobs is False and (word := starts(case, "sbatch")):
        what = f"the command calls `{word}`, and {case.site.name} has no sbatch inside jobs"
        yield RESUBMIT.broken(what, source=case.site.limits.source)


def connections(site: Site) -> Iterator[Finding]:
    if site.access.reuse:
        factors = f" ({', '.join(site.access.factors)})" if site.access.factors else ""
        yield CONNECTIONS.advice(f"keep one connection open and reuse it{factors}", source=site.access.source)


RULES = (JOB_LIMIT, MANY_SUBMITS, SHORT_TASKS, POLLING, UNANSWERED, RESUBMIT, CONNECTIONS)
CHECKS: tuple[Check, ...] = (job_limit, many_submits, short_tasks, polling, unanswered, resubmit)
ADVICE: tuple[Advice, ...] = (polling_advice, connections)
