"""Slurm's answers, as a real cluster gave them (tests/recorded), and what is read from them."""

from datetime import datetime
from pathlib import Path, PurePosixPath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from voyageur.plan.environment import STANDARD_PATH, job_variables
from voyageur.slurm_text import (
    JobRow,
    Phase,
    Reply,
    accounting_argv,
    accounting_rows,
    cancel_argv,
    clean_environment,
    config_from,
    export_file,
    find_in_accounting_argv,
    find_in_queue_argv,
    gpus_from,
    job_id_from,
    jobs_found,
    node_groups,
    queue_argv,
    queue_rows,
    refusal_hint,
    reply_from,
    state_word,
    stuck_advice,
    submit_argv,
    time_limit_from,
)
from voyageur.units import Duration, Size

RECORDED = Path(__file__).parent / "recorded"
MARK = "5d3a9c01e7b24f68"  # the word with which squeue.txt and sacct.txt were asked for

IMITATOR = "imitator\n1|COMPLETED|None|N/A|node1|train-0123456789ab"


def recorded(name: str) -> str:
    return (RECORDED / name).read_text(encoding="utf-8")


# ── submitting ───────────────────────────────────────────────────────────────────────────────────────────────────────


def test_traces_of_a_job_around_us_are_removed_and_what_finds_the_cluster_stays() -> None:
    around = {
        "PATH": "/usr/bin",
        "HOME": "/home/ana",
        "SLURM_CONF": "/etc/slurm/slurm.conf",
        "SLURM_CONF_SERVER": "ctl:6817",
        "SLURM_NTASKS": "4",
        "SLURM_MEM_PER_NODE": "100",
        "SBATCH_JOB_NAME": "evil",
        "SBATCH_TIMELIMIT": "77",
        "SRUN_CPUS_PER_TASK": "3",
        "SALLOC_ACCOUNT": "x",
        "MY_SLURM_NOTE": "mine",
    }
    assert clean_environment(around) == {
        "PATH": "/usr/bin",
        "HOME": "/home/ana",
        "SLURM_CONF": "/etc/slurm/slurm.conf",
        "SLURM_CONF_SERVER": "ctl:6817",
        "MY_SLURM_NOTE": "mine",
    }


@pytest.mark.parametrize(
    ("answer", "job"),
    [
        ("4711\n", "4711"),
        ("4711;narval\n", "4711"),
        ("Welcome to Narval!\nMaintenance on day 12\n4711\n", "4711"),
        ("4711\n** your quota is 93% used **\n", "4711"),
        ("  4711  \n\n", "4711"),
        ("", None),
        ("Welcome\n", None),
        ("quota: 93 %\n", None),
    ],
)
def test_the_job_id_is_found_among_banners(answer: str, job: str | None) -> None:
    assert job_id_from(answer) == job


@pytest.mark.parametrize(
    ("code", "output", "errors", "reply"),
    [
        (0, "4711\n", "", Reply.ACCEPTED),
        (0, "4711\n", "sbatch: warning: can't run 1 processes on 4 nodes, setting nnodes to 1\n", Reply.ACCEPTED),
        (0, "", "", Reply.UNKNOWN),
        (0, "Welcome to Narval!\n", "", Reply.UNKNOWN),
        (None, "", "", Reply.UNKNOWN),
        (None, "4711\n", "", Reply.UNKNOWN),
        (-9, "", "", Reply.UNKNOWN),
        (-2, "", "", Reply.UNKNOWN),
        (
            1,
            "",
            "sbatch: error: Batch job submission failed: Socket timed out on send/recv operation\n",
            Reply.UNKNOWN,
        ),
        (1, "", "sbatch: error: Batch job submission failed: Zero Bytes were transmitted or received\n", Reply.UNKNOWN),
        (1, "", "sbatch: error: Batch job submission failed: Unexpected message received\n", Reply.UNKNOWN),
        (
            1,
            "",
            "sbatch: error: Batch job submission failed: Unable to contact slurm controller (connect failure)\n",
            Reply.UNREACHED,
        ),
        (
            1,
            "",
            "sbatch: error: invalid partition specified: nope\n"
            "sbatch: error: Batch job submission failed: Invalid partition name specified\n",
            Reply.REFUSED,
        ),
        (
            1,
            "",
            "sbatch: error: Batch job submission failed: Invalid account or account/partition combination specified\n",
            Reply.REFUSED,
        ),
        (
            1,
            "",
            "sbatch: error: Memory specification can not be satisfied\n"
            "sbatch: error: Batch job submission failed: Requested node configuration is not available\n",
            Reply.REFUSED,
        ),
        (
            1,
            "",
            "sbatch: error: AssocMaxSubmitJobLimit\nsbatch: error: Batch job submission failed: "
            "Job violates accounting/QOS policy (job submit limit, user's size and/or time limits)\n",
            Reply.REFUSED,
        ),
        (1, "", "sbatch: error: Batch script contains DOS line breaks (\\r\\n)\n", Reply.REFUSED),
        (
            255,
            "",
            "sbatch: unrecognized option '--frobnicate'\nTry \"sbatch --help\" for more information\n",
            Reply.REFUSED,
        ),
    ],
)
def test_what_sbatch_answered(code: int | None, output: str, errors: str, reply: Reply) -> None:
    assert reply_from(code, output, errors) is reply


@pytest.mark.parametrize(
    ("errors", "word"),
    [
        ("sbatch: error: Batch job submission failed: Invalid account or account/partition combination", "--account"),
        ("sbatch: error: invalid partition specified: nope", "--partition"),
        ("sbatch: error: Batch job submission failed: Invalid qos specification", "--qos"),
        ("sbatch: error: Batch job submission failed: Requested time limit is invalid", "--time"),
        ("sbatch: error: Batch job submission failed: Requested node configuration is not available", "fewer"),
        ("sbatch: error: AssocMaxSubmitJobLimit", "wait"),
        ("sbatch: error: something never heard of", "sbatch --test-only"),
    ],
)
def test_a_refusal_comes_with_what_to_do(errors: str, word: str) -> None:
    assert word in refusal_hint(errors)


def test_questions_are_lists_of_words_that_need_no_shell() -> None:
    moment = datetime(2026, 11, 16, 14, 2, 3)
    argv = ["sbatch", "--parsable", "--export=ALL", "--export-file=/dev/stdin", "/s/a b/job.sh", "s1"]
    assert submit_argv(PurePosixPath("/s/a b/job.sh"), "s1") == argv

    assert "--states=all" in queue_argv(MARK)
    assert "--name=train-x" in find_in_queue_argv("train-x")
    assert "2026-11-16T14:02:03" in accounting_argv(["1", "2"], moment, MARK)
    assert "1,2" in accounting_argv(["1", "2"], moment, MARK)
    assert "--state" in find_in_accounting_argv("train-x", moment)
    assert cancel_argv(["12"]) == ["scancel", "12"]


def test_a_job_gets_the_named_variables_and_a_plain_path() -> None:
    here = {"HOME": "/home/a b", "PATH": "/conda/bin", "TOKEN": "hush", "LANG": "x\ny"}
    given = export_file(job_variables(here))
    assert given.split("\0") == [f"PATH={STANDARD_PATH}", "HOME=/home/a b", "LANG=x\ny", ""]


# ── the queue ────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("answer", ["squeue.txt", "squeue-of-a-plain-cluster.txt"])
def test_a_real_queue_with_hostile_names_is_read_row_by_row(answer: str) -> None:
    rows = {row.job: row for row in queue_rows(recorded(answer), MARK)}
    assert {job: (row.state, row.reason) for job, row in rows.items()} == {
        "4": ("COMPLETED", "None"),
        "5": ("FAILED", "NonZeroExitCode"),
        "6": ("FAILED", "JobLaunchFailure"),
        "7": ("RUNNING", "None"),
        "8": ("PENDING", "JobHeldUser"),
        "9": ("PENDING", "PartitionTimeLimit"),
        "10": ("COMPLETED", "None"),
        "11": ("COMPLETED", "None"),
        "12": ("RUNNING", "None"),
        "13": ("PENDING", "DependencyNeverSatisfied"),
        "14": ("COMPLETED", "None"),
        "15": ("CANCELLED", "JobHeldUser"),
    }
    assert rows["10"].name == "two\nlines"
    assert rows["11"].name == "a|b|\"c\"|'d' $(touch x) é🙂"
    assert rows["12"].name == IMITATOR
    assert rows["4"].name == "train-0123456789ab"
    assert (rows["7"].node_list, rows["8"].expected_start) == ("node1", "")


name = st.text(st.characters(exclude_categories=["Cs"]), max_size=40) | st.just(IMITATOR)


@given(st.lists(name, max_size=5))
def test_no_name_can_add_change_or_hide_a_row_of_the_queue(names: list[str]) -> None:
    answer = "".join(f"{MARK}|{job}|RUNNING|None|N/A|node1|{text}\n" for job, text in enumerate(names, 1))
    rows = queue_rows(answer, MARK)
    assert [row.job for row in rows] == [str(job) for job in range(1, len(names) + 1)]
    assert [row.name for row in rows] == [text.rstrip("\n") for text in names]


@given(st.text(max_size=200))
def test_any_text_at_all_is_read_without_a_crash(answer: str) -> None:
    assert queue_rows(answer, MARK) == []
    accounting_rows(answer.replace("x", MARK), MARK)
    assert node_groups(answer) == [] or "|" in answer
    jobs_found(answer)
    job_id_from(answer)
    config_from(answer)
    gpus_from(answer)
    time_limit_from(answer)


# ── the accounting ───────────────────────────────────────────────────────────────────────────────────────────────────


def accounted() -> dict[str, JobRow]:
    rows = accounting_rows(recorded("sacct.txt"), MARK)
    return {f"{row.job}.{row.step}" if row.step else row.job: row for row in rows}


def test_a_real_accounting_with_hostile_names_is_read_row_by_row() -> None:
    rows = accounted()
    assert {job: (row.state, row.exit_code, row.signal, row.ended) for job, row in rows.items() if not row.step} == {
        "4": ("COMPLETED", 0, 0, True),
        "5": ("FAILED", 3, 0, True),
        "6": ("FAILED", 0, 9, True),
        "7": ("RUNNING", 0, 0, False),
        "8": ("PENDING", 0, 0, False),
        "9": ("PENDING", 0, 0, False),
        "10": ("COMPLETED", 0, 0, True),
        "11": ("COMPLETED", 0, 0, True),
        "12": ("RUNNING", 0, 0, False),
        "13": ("PENDING", 0, 0, False),
        "14": ("COMPLETED", 0, 125, True),
        "15": ("CANCELLED", 0, 0, True),
    }
    assert rows["10"].name == "two\nlines"
    assert rows["12"].name == IMITATOR


def test_a_step_that_ran_out_of_memory_is_seen_below_a_completed_job() -> None:
    rows = accounted()
    assert (rows["14"].state, rows["14.0"].state) == ("COMPLETED", "OUT_OF_MEMORY")
    assert rows["14.batch"].name == "batch"


@given(st.lists(name, max_size=5))
def test_no_name_can_add_change_or_hide_a_row_of_the_accounting(names: list[str]) -> None:
    answer = "".join(
        MARK.join([str(job), text, "FAILED", "node1", "2026-11-16T14:02:55", "0:0", f"{job}:0"]) + "\n"
        for job, text in enumerate(names, 1)
    )
    rows = accounting_rows(answer, MARK)
    assert [(row.job, row.exit_code) for row in rows] == [(str(job), job) for job in range(1, len(names) + 1)]
    assert [row.name for row in rows] == names


def test_jobs_are_found_again_by_name_and_refused_submissions_are_not_jobs() -> None:
    assert jobs_found("15|CANCELLED by 0|None assigned\n") == ["15"]
    assert jobs_found("16|FAILED|None assigned\n17|FAILED|node1\n") == ["17"]
    assert jobs_found("12\n13\n") == ["12", "13"]
    assert jobs_found("") == []


# ── states ───────────────────────────────────────────────────────────────────────────────────────────────────────────

# sacct.1 and squeue.1, JOB STATE CODES, of Slurm 22.05 to 24.11.
WAITING = "PENDING REQUEUED REQUEUE_FED REQUEUE_HOLD SPECIAL_EXIT RESV_DEL_HOLD"
RUNNING = "RUNNING SUSPENDED CONFIGURING STAGE_OUT SIGNALING RESIZING STOPPED POWER_UP_NODE"
ENDED = "COMPLETED CANCELLED FAILED TIMEOUT DEADLINE NODE_FAIL BOOT_FAIL OUT_OF_MEMORY PREEMPTED REVOKED"


@pytest.mark.parametrize(
    ("word", "phase"),
    [
        *((word, Phase.WAITING) for word in WAITING.split()),
        *((word, Phase.RUNNING) for word in RUNNING.split()),
        ("COMPLETING", Phase.ENDING),
        *((word, Phase.ENDED) for word in ENDED.split()),
        ("UPDATE_DB", Phase.UNKNOWN),
        ("FRIED_BY_LIGHTNING", Phase.UNKNOWN),
        ("", Phase.UNKNOWN),
    ],
)
def test_every_state_has_a_phase_and_an_unheard_of_one_is_unknown(word: str, phase: Phase) -> None:
    assert JobRow(job="1", state=state_word(word)).phase is phase


@given(st.text(max_size=30))
def test_no_state_is_an_exception(text: str) -> None:
    assert isinstance(JobRow(job="1", state=state_word(text)).phase, Phase)


@pytest.mark.parametrize(
    ("text", "word"),
    [("CANCELLED by 1000", "CANCELLED"), ("COMPLETED+", "COMPLETED"), ("running", "RUNNING"), (" ", "UNKNOWN")],
)
def test_state_words(text: str, word: str) -> None:
    assert state_word(text) == word


@pytest.mark.parametrize(
    "reason",
    [
        "launch failed requeued held",
        "JobHeldAdmin",
        "JobHeldUser",
        "DependencyNeverSatisfied",
        "PartitionTimeLimit",
        "PartitionConfig",
        "AssocGrpCPUMinutesLimit",
        "AssocGrpGRESMinutes",
        "AssocGrpBillingMinutes",
        "job requeued in held state",
        "Job's account not permitted to use this partition (short allows rrg-b not def-a)",
        "QOSMaxWallDurationPerJobLimit",
        "AssocMaxNodePerJobLimit",
    ],
)
def test_a_job_that_will_not_start_by_itself_comes_with_advice(reason: str) -> None:
    assert stuck_advice(reason)


@pytest.mark.parametrize("reason", ["Priority", "Resources", "BeginTime", "None", "Dependency", ""])
def test_a_job_that_only_has_to_wait_comes_with_none(reason: str) -> None:
    assert stuck_advice(reason) is None


# ── what the cluster is ──────────────────────────────────────────────────────────────────────────────────────────────


def test_a_real_answer_of_sinfo() -> None:
    groups = node_groups(recorded("sinfo.txt"))
    assert [group.partition for group in groups if group.default] == ["low", "low"]
    first = groups[0]
    assert (first.nodes, first.cpus, first.memory, first.gpus) == (1, 8, Size.parse("4000M"), {"v100": 4})
    assert (first.time_limit, first.state) == (Duration.parse("1d"), "mixed")
    assert groups[-1].time_limit == Duration.parse("10m")


def test_a_line_of_sinfo_with_plus_signs_and_unlimited_time() -> None:
    (group,) = node_groups("debug|infinite|12|40+|192000+|(null)|down*\n")
    assert (group.cpus, group.memory, group.gpus) == (40, Size.parse("192000M"), {})
    assert (group.time_limit, group.state) == (None, "down")


@pytest.mark.parametrize(
    ("resources", "gpus"),
    [
        ("gpu:a100:4(S:0-1),shard:8", {"a100": 4}),
        ("gpu:4", {"": 4}),
        ("gpu:a100:2,gpu:v100:2", {"a100": 2, "v100": 2}),
        ("gpu:a100:4(IDX:0,1,2,3),craynetwork:4", {"a100": 4}),
        ("gpu:nvidia_a100_1g.5gb:7(S:0)", {"nvidia_a100_1g.5gb": 7}),
        ("gpu:a100:2(S:0),gpu:a100:2(S:1)", {"a100": 4}),
        ("(null)", {}),
        ("", {}),
    ],
)
def test_gpus_of_a_node(resources: str, gpus: dict[str, int]) -> None:
    assert gpus_from(resources) == gpus


@pytest.mark.parametrize(
    ("text", "limit"),
    [
        ("7-00:00:00", Duration.parse("7d")),
        ("1:00:00", Duration.parse("1h")),
        ("10:00", Duration.parse("10m")),
        ("infinite", None),
        ("UNLIMITED", None),
        ("n/a", None),
        ("", None),
    ],
)
def test_time_limits(text: str, limit: Duration | None) -> None:
    assert time_limit_from(text) == limit


def test_a_real_answer_of_scontrol_show_config() -> None:
    config = config_from(recorded("scontrol-show-config.txt"))
    assert config["ClusterName"] == "bed"
    assert config["KillWait"] == "5 sec"
    assert config["MessageTimeout"] == "10 sec"
