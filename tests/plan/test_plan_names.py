"""Names of runs and folders, whatever the user calls things."""

import json
import re
from pathlib import PurePosixPath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.plan.wishes import CLUSTER, MACHINE, plan
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


@pytest.mark.parametrize(
    ("name", "is_secret"),
    [
        ("WANDB_API_KEY", True),
        ("HF_TOKEN", True),
        ("DB_PASSWORD_FILE", True),
        ("CLIENT_SECRET", True),
        ("TOKENIZERS_PARALLELISM", False),
        ("KEYBOARD", False),
        ("MONKEY", False),
    ],
)
def test_a_variable_that_looks_like_a_secret_is_pointed_out(name: str, is_secret: bool) -> None:
    notes = plan(env__variables={name: "k3y"}).notes
    assert any(f'env.secrets = ["{name}"]' in note for note in notes) == is_secret
    assert not any("k3y" in note for note in notes)


def test_the_name_of_a_clusters_gpu_is_not_dropped_in_silence() -> None:
    (note,) = plan(MACHINE, gpu="a100").notes
    assert "`a100` (asked for by --gpu)" in note
    assert plan(CLUSTER, gpu="a100").notes == ()
