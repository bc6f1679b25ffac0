"""Names of runs and folders, whatever the user calls things."""

import json
import re
from pathlib import PurePosixPath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.plan.wishes import CLUSTER, plan
from voyageur.plan import document, draw_identity, folder_name
from voyageur.plan.identity import slug_from, slug_of_command


@pytest.mark.parametrize(
    ("command", "slug"),
    [
        (["python", "train.py", "--lr", "1"], "train"),
        (["python", "-m", "pkg.train", "--lr", "1"], "train"),
        (["python", "src/deep/Train_Big.py"], "train_big"),
        (["./run.sh"], "run"),
        (["torchrun", "--nproc-per-node=4", "train.py"], "train"),
        (["/usr/bin/env"], "env"),
        (["python", "train.py", "-m", "5"], "train"),
        (["/"], "run"),
        (["🙂"], "run"),
    ],
)
def test_a_run_is_named_after_what_it_runs(command: list[str], slug: str) -> None:
    assert slug_of_command(command) == slug


@given(st.text(max_size=60))
def test_a_slug_is_safe_in_a_job_name_a_path_and_a_shell(text: str) -> None:
    assert re.fullmatch(r"[a-z0-9_]([a-z0-9_-]{0,39})", slug_from(text))


@given(st.text(min_size=1, max_size=80))
def test_a_folder_name_is_one_plain_part_of_a_path(text: str) -> None:
    name = folder_name(text)
    assert re.fullmatch(r"[A-Za-z0-9._-]{1,80}", name)
    assert name not in (".", "..")
    assert PurePosixPath("/s") / name == PurePosixPath(f"/s/{name}")


@given(st.text(min_size=1, max_size=20), st.text(min_size=1, max_size=20))
def test_two_projects_never_share_a_folder(one: str, other: str) -> None:
    assert (folder_name(one) == folder_name(other)) == (one == other)


def test_identities_differ() -> None:
    assert len({draw_identity("train").token for _ in range(100)}) == 100
    identity = draw_identity("train")
    assert identity.job_name.startswith(identity.run)


def test_the_whole_plan_is_one_json_document() -> None:
    made = json.loads(json.dumps(document(plan(CLUSTER, nodes=2, gpus=4, time="3h"))))
    assert made["resources"]["nodes"] == {"value": 2, "because": "asked for by --nodes"}
    assert made["resources"]["time"]["value"] == "3h"
    assert made["resources"]["memory"]["value"] == "128G"
    assert made["launch"]["value"] == "per-node"
    assert {"flag", "because"} <= set(made["directives"][0])


@pytest.mark.parametrize(
    ("word", "note"),
    [
        ("{checkpoint}", "`{checkpoint}` in the command is left as it is; did you mean `{checkpoints}`?"),
        ("{checkpoints}", None),
        ("{{checkpoint}}", None),
        ("{zebra}", None),
        ('{"lr": 1}', None),
    ],
)
def test_a_placeholder_that_is_almost_ours_is_pointed_out(word: str, note: str | None) -> None:
    assert plan(command=["python", "train.py", word]).notes == ((note,) if note else ())
