"""An environment that is made in a job, where the site wants that, on a real Slurm."""

from __future__ import annotations

import json

from tests.env.wheels import make_wheel
from tests.place import Place


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


def test_a_job_that_cannot_make_it_says_why(simple: Place) -> None:
    make_wheel(simple.project / "wheels", "broken", code="import nothing_of_the_kind\n")
    simple.write("requirements.txt", "--no-index\n--find-links wheels\nbroken\n")
    answer = simple.voy("env", "build", "--job", code=1)
    assert "error: broken does not import" in answer.stderr
    assert "error: the job made no environment" in answer.stderr
    assert not list((simple.scratch / ".voyageur" / "environments").glob("*.json"))
