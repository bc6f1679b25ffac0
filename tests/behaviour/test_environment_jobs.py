"""An environment that is made in a job, where the site wants that, on a real Slurm."""

from __future__ import annotations

import json
from pathlib import Path

from tests.env.wheels import make_wheel
from tests.place import Place
from tests.runtime.datasets import flip_byte


def test_a_job_makes_it_and_its_log_is_shown(simple: Place) -> None:
    make_wheel(simple.project / "wheels", "alpha", scripts={"say": "alpha:main"})
    simple.write("requirements.txt", "--no-index\n--find-links wheels\nalpha\n")
    simple.write("voyageur.toml", '[env]\nrequirements = ["requirements.txt"]\n')
    answer = simple.voy("env", "build", "--job", "--json")
    built = json.loads(answer.stdout)
    assert built["packages"] == ["alpha==1.0"]
    assert "tried from another place: alpha" in answer.stderr
    assert not list((simple.scratch / ".voyageur" / "environments").glob("*.order"))
    again = simple.voy("env", "build", "--job", "--json")
    assert json.loads(again.stdout) == built
    assert again.stderr == ""


def test_two_jobs_at_once_make_it_once(simple: Place) -> None:
    """Each has an order of its own, so that the second finds its when the first has ended."""
    make_wheel(simple.project / "wheels", "alpha")
    simple.write("requirements.txt", "--no-index\n--find-links wheels\nalpha\n")
    simple.voy("env", "lock")
    both = [simple.start("env", "build", "--job", "--json") for _ in range(2)]
    said = [process.communicate(timeout=280) for process in both]
    assert [process.returncode for process in both] == [0, 0], said
    first, second = (json.loads(out) for out, _ in said)
    assert first == second
    assert sum("installed by" in errors for _, errors in said) == 1
    assert not list((simple.scratch / ".voyageur" / "environments").glob("*.order"))


def test_a_job_makes_a_damaged_one_again(simple: Place) -> None:
    make_wheel(simple.project / "wheels", "alpha")
    simple.write("requirements.txt", "--no-index\n--find-links wheels\nalpha\n")
    built = json.loads(simple.voy("env", "build", "--job", "--json").stdout)
    archive = Path(built["archive"])
    whole = archive.read_bytes()
    flip_byte(archive, archive.stat().st_size // 2)
    simple.voy("env", "build", "--job", "--again")
    assert archive.read_bytes() == whole


def test_a_job_that_is_refused_leaves_no_order(simple: Place) -> None:
    make_wheel(simple.project / "wheels", "alpha")
    simple.write("requirements.txt", "--no-index\n--find-links wheels\nalpha\n")
    simple.write("voyageur.toml", '[sites.slurm]\npartition = "nowhere"\n')
    assert "nowhere" in simple.voy("env", "build", "--job", code=2).stderr
    assert not list((simple.scratch / ".voyageur" / "environments").glob("*.order"))


def test_a_job_that_cannot_make_it_says_why(simple: Place) -> None:
    make_wheel(simple.project / "wheels", "broken", code="import nothing_of_the_kind\n")
    simple.write("requirements.txt", "--no-index\n--find-links wheels\nbroken\n")
    answer = simple.voy("env", "build", "--job", code=1)
    assert "error: broken does not import" in answer.stderr
    assert "error: the job made no environment" in answer.stderr
    assert not list((simple.scratch / ".voyageur" / "environments").glob("*.json"))
