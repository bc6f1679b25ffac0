"""The run's folder: all of it or nothing, few files, and readable whatever happened to it."""

import contextlib
import json
import os
from pathlib import Path

import pytest

from tests.record.folders import TOKEN, add_attempt, add_marker, make_run, planned
from voyageur.errors import ClusterError, RunError
from voyageur.record import load
from voyageur.record.create import RunExists, create_run
from voyageur.runtime import folder as files
from voyageur.script import render


def test_a_new_run_has_few_private_files(tmp_path: Path) -> None:
    run = make_run(tmp_path, secrets={"HF_TOKEN": "hf_canary"})
    names = {file.name for file in run.folder.iterdir()}
    assert names == {"run.json", "plan.json", "job.sh", "runtime.pyz", "events.jsonl", "secrets.json"}
    assert run.folder.stat().st_mode & 0o077 == 0
    assert all(file.stat().st_mode & 0o077 == 0 for file in run.folder.iterdir())
    assert os.access(run.script, os.X_OK)
    with_value = [file.name for file in run.folder.iterdir() if b"hf_canary" in file.read_bytes()]
    assert with_value == ["secrets.json"]
    run.forget_secrets()
    run.forget_secrets()
    assert not (run.folder / "secrets.json").exists()


def test_a_run_that_has_lived_a_full_life_has_at_most_ten_files(tmp_path: Path) -> None:
    run = make_run(tmp_path, secrets={"A": "b"})
    for _ in range(5):
        files.claim_attempt(str(run.folder), {"job": "7", "submission": "s1", "node": "n1", "beat": 0.0})
    (run.folder / files.LOG).write_text("x")
    files.write_atomically(str(run.folder / files.STOP), b"x")
    add_marker(run, attempt=5)
    assert len(list(run.folder.iterdir())) <= 10
    assert len(list(run.folder.glob("attempt-*"))) == 1


def test_what_was_asked_for_is_written_down_with_its_source(tmp_path: Path) -> None:
    record = make_run(tmp_path).record
    assert record.command == ("python", "train.py")
    assert record.spec["command"]["source"] == "the command line"
    assert (record.token, record.job_name, record.run) == (TOKEN, f"train-{TOKEN}", "train-0123")


def test_a_command_that_is_no_utf8_is_still_a_run(tmp_path: Path) -> None:
    plan, spec = planned(tmp_path, ("python", "a\udcff.py"))
    run = create_run(plan, spec, render(plan), {})
    assert b"a\xff.py" in run.script.read_bytes()


def test_a_second_run_of_the_same_id_is_refused_and_the_first_untouched(tmp_path: Path) -> None:
    run = make_run(tmp_path)
    run.note("submitted", job="7")
    with pytest.raises(RunExists):
        make_run(tmp_path)
    assert load(run.folder).job == "7"
    assert [entry.name for entry in run.folder.parent.iterdir()] == [run.id]


@pytest.mark.parametrize("nth", range(1, 12))
@pytest.mark.parametrize("problem", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_an_interruption_at_any_write_leaves_no_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, nth: int, problem: BaseException
) -> None:
    calls, fsync = 0, os.fsync

    def failing(descriptor: int) -> None:
        nonlocal calls
        calls += 1
        if calls == nth:
            raise problem
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", failing)
    with contextlib.suppress(ClusterError, KeyboardInterrupt):
        make_run(tmp_path, secrets={"A": "b"})
        assert calls < nth
        return
    assert list(tmp_path.glob("weather/hpc_outputs/*")) == []
    assert list(tmp_path.glob("weather/hpc_outputs/.*")) == []


def test_a_full_disk_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(ClusterError) as caught:
        make_run(tmp_path)
    assert caught.value.what == "the run's folder cannot be made: No space left on device"
    assert "--scratch" in (caught.value.hint or "")


def test_a_folder_that_cannot_be_made_says_so(tmp_path: Path) -> None:
    (tmp_path / "weather").write_text("a file where a folder should be")
    with pytest.raises(ClusterError) as caught:
        make_run(tmp_path)
    assert caught.value.text().startswith("error: the run's folder cannot be made: ")


# ── events ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_events_survive_a_writer_that_was_killed_at_any_byte(tmp_path: Path) -> None:
    run = make_run(tmp_path)
    run.note("submitted", job="7")
    file = run.folder / files.EVENTS
    whole = file.read_bytes()
    start = len(whole.splitlines(keepends=True)[0])
    for cut in range(start, len(whole)):
        file.write_bytes(whole[:cut])
        assert [event["event"] for event in load(run.folder).events][:1] == ["intended"]
        load(run.folder).note("cancel asked", who="é🙂")
        assert load(run.folder).events[-1]["event"] == "cancel asked"


@pytest.mark.parametrize("rubbish", [b"\xff\xfe\n", b"[]\n", b"null\n", b'"event"\n', b"\0\0\0\n", b"{}\n", b"\n\n"])
def test_rubbish_between_events_is_passed_over(tmp_path: Path, rubbish: bytes) -> None:
    run = make_run(tmp_path)
    with open(run.folder / files.EVENTS, "ab") as file:
        file.write(rubbish)
    run.note("submitted", job="7")
    assert [event["event"] for event in load(run.folder).events] == ["intended", "submitted"]


def test_an_event_about_a_name_that_is_no_utf8_can_be_written(tmp_path: Path) -> None:
    """The supervisor notes `prog\\xff cannot be started`; a crash there would leave a run without an end."""
    run = make_run(tmp_path)
    run.note("attempt ended", problem="prog\udcff cannot be started")
    assert load(run.folder).events[-1]["event"] == "attempt ended"


def test_a_run_without_events_can_be_read(tmp_path: Path) -> None:
    run = make_run(tmp_path)
    (run.folder / files.EVENTS).unlink()
    assert load(run.folder).events == ()


# ── the marker ───────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_marker_is_believed_when_it_is_whole_our_own_and_of_the_newest_attempt(tmp_path: Path) -> None:
    run = add_marker(add_attempt(make_run(tmp_path), 2), attempt=2)
    assert run.marker is not None
    assert run.marker["end"] == "done"


def test_a_marker_cut_anywhere_or_changed_is_not_believed(tmp_path: Path) -> None:
    run = add_marker(add_attempt(make_run(tmp_path)))
    file = run.folder / files.MARKER
    whole = file.read_bytes()
    for cut in range(len(whole)):
        file.write_bytes(whole[:cut])
        assert load(run.folder).marker is None
    file.write_bytes(whole.replace(b'"done"', b'"failed"'))
    assert load(run.folder).marker is None
    file.write_text(json.dumps({"end": "done", "attempt": 1}))
    assert load(run.folder).marker is None


def test_a_marker_of_another_run_or_an_older_attempt_is_not_believed(tmp_path: Path) -> None:
    run = add_attempt(make_run(tmp_path), 2)
    assert add_marker(run, attempt=2, token="f" * 12).marker is None
    assert add_marker(run, attempt=1).marker is None


# ── records that cannot be read ──────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"{}", b'{"run": "\xff"}', b"\x80"])
def test_a_damaged_record_is_an_error_with_a_name(tmp_path: Path, content: bytes) -> None:
    run = make_run(tmp_path)
    (run.folder / files.RECORD).write_bytes(content)
    with pytest.raises(RunError) as caught:
        load(run.folder)
    assert caught.value.what == "train-0123 has no readable record"
