"""`voy site probe` and shapes on a Slurm that really runs, that is full, and that does not answer."""

from __future__ import annotations

import json
import time
from typing import Any

from tests.place import Place


def shapes(place: Place, *asked: str) -> dict[str, dict[str, Any]]:
    place.write("ok.py", "print(1)")
    told = json.loads(place.voy("plan", "--shapes", "--json", *asked, "--", "python", "ok.py").stdout)
    return {shape["name"]: shape for shape in told["shapes"]}


def test_a_profile_made_by_asking_plans_as_the_cluster_itself_does(slurm: Place) -> None:
    place = slurm
    place.write("ok.py", "print(1)")
    place.voy("site", "probe", "--name", "lab", "--write")
    assert "the profile says what the cluster says" in place.voy("site", "probe", "--on", "lab").stdout
    wish = ["--json", "-n", "2", "-g", "2", "--", "python", "ok.py"]
    ours, theirs = (json.loads(place.voy("plan", "--on", site, *wish).stdout) for site in ("lab", "slurm"))
    amounts = [{key: fact["value"] for key, fact in plan["resources"].items()} for plan in (ours, theirs)]
    assert amounts[0] == amounts[1]


def test_a_job_looks_at_a_node_and_leaves_nothing_behind(slurm: Place) -> None:
    place = slurm
    before = sorted(path.name for path in place.scratch.iterdir())
    told = json.loads(place.voy("site", "probe", "--with-job", "--json").stdout)
    node = told["node"]
    assert node["path"] == "/tmp" and node["size"] > 0 and node["medium"] in ("disk", "memory")
    assert node["internet"] in ("open", "none") and told["unknown"] == {}
    if place.bed and place.bed.kind == "P":  # its nodes have a network of their own, without a way out
        assert node["internet"] == "none" and node["host"] in place.bed.nodes
    assert sorted(path.name for path in place.scratch.iterdir()) == before


def test_a_job_that_does_not_come_is_cancelled(production: Place) -> None:
    place = production
    assert place.bed
    place.fill()
    told = json.loads(place.voy("site", "probe", "--with-job", "--wait", "2s", "--json").stdout)
    assert told["node"] is None and "was cancelled" in told["unknown"]["node"]
    assert place.bed.run(["squeue", "--noheader", "--name=voy-probe", "--states=PENDING,RUNNING"]).stdout == ""


def test_on_a_full_cluster_the_whole_waits_and_the_half_starts_now(production: Place) -> None:
    place = production
    assert place.bed
    blocker = place.bed.submit(["--nodes=2", "--exclusive", "--time=30", "--wrap=sleep 200"])
    place.bed.wait_state(blocker, "RUNNING")
    found = shapes(place, "-n", "4", "-c", "8", "-t", "1h")
    assert list(found)[:2] == ["as-asked", "nodes-2"]
    whole, half = found["as-asked"], found["nodes-2"]
    assert 60 < whole["wait"] <= 30 * 60 + 60
    assert half["wait"] < 60
    assert (half["nodes"], half["time"], half["submittable"]) == (2, 7200, True)


def test_a_shape_is_submitted_by_its_name(production: Place) -> None:
    place = production
    assert place.bed
    place.write("ok.py", "print(1)")
    run = place.submit("--shape", "nodes-2", "-n", "4", "-t", "1h", "--", "python", "ok.py")
    job = place.bed.job(place.status(run)["job"])
    assert (job["NumNodes"].split("-")[0], job["TimeLimit"]) == ("2", "02:00:00")
    answer = place.voy("submit", "--shape", "nodes-3", "-n", "4", "--", "python", "ok.py", code=2)
    assert answer.stderr.startswith("error: this job has no shape `nodes-3`\n  it has: as-asked, nodes-2,")


def test_what_slurm_refuses_is_said_in_its_words(production: Place) -> None:
    """The plan knows nothing of node features; Slurm does."""
    found = shapes(production, "--constraint", "no_such_feature")
    assert found["as-asked"]["obstacle"] == "allocation failure: Invalid feature specification"
    assert not found["as-asked"]["submittable"] and found["as-asked"]["start"] is None


def test_a_controller_that_hangs_is_told_as_unknown_in_bounded_time(production: Place) -> None:
    place = production
    assert place.bed
    place.write("ok.py", "print(1)")
    place.voy("site", "probe", "--name", "lab", "--write")
    place.bed.controller.pause()
    started = time.monotonic()
    answer = place.voy("site", "probe", "--on", "lab", "--write", code=1)
    assert time.monotonic() - started < 45
    assert "Slurm does not answer; nothing is known and nothing was written" in answer.stderr
    assert "Socket timed out" in answer.stderr
    started = time.monotonic()
    answer = place.voy("plan", "--on", "lab", "--shapes", "--", "python", "ok.py")
    assert time.monotonic() - started < 45
    assert "as-asked        not known" in answer.stdout
    assert "note: when they would start is not known: allocation failure: Socket timed out" in answer.stdout
