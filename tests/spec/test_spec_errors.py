"""What a user reads who wrote something wrong. The texts stand in golden/."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.spec.asking import Asking
from voyageur.errors import VoyageurError
from voyageur.spec import Given

pytest_plugins = ["tests.golden"]
Golden = Callable[[str, str], None]


@pytest.fixture
def asking(tmp_path: Path) -> Asking:
    return Asking(tmp_path)


FILES = {
    "unknown-key": "[resources]\nnodes = 2\ngpu_s = 4\n",
    "unknown-table": "[resource]\nnodes = 2\n",
    "unknown-key-of-a-site": "[sites.narval]\nacount = 'def-prof'\n",
    "unknown-key-of-an-experiment": "[experiment.big]\ncomand = 'python train.py'\n",
    "time-without-unit": "[resources]\ntime = 90\n",
    "time-negative": "[resources]\ntime = '-3h'\n",
    "time-nonsense": "[resources]\ntime = 'soon'\n",
    "memory-without-unit": "[resources]\nmemory = 32000\n",
    "memory-nonsense": "[resources]\nmemory = 'lots'\n",
    "nodes-zero": "[resources]\nnodes = 0\n",
    "nodes-negative": "[resources]\nnodes = -1\n",
    "nodes-broken": "[resources]\nnodes = 1.5\n",
    "nodes-true": "[resources]\nnodes = true\n",
    "gpus-negative": "[resources]\ngpus = -1\n",
    "command-empty": "command = ''\n",
    "command-empty-list": "command = []\n",
    "command-of-numbers": "command = [1, 2]\n",
    "command-open-quote": 'command = "python \'train.py"\n',
    "command-with-nul": 'command = ["python", "a\\u0000b"]\n',
    "experiment-up-and-away": "experiment = '../../etc'\n",
    "experiment-emoji": "experiment = '🙂'\n",
    "project-with-spaces": "project = 'my project'\n",
    "account-two-words": "account = 'def prof'\n",
    "modules-of-numbers": "[env]\nmodules = [1]\n",
    "requeue-perhaps": "requeue = 'perhaps'\n",
    "data-no-table": "data = 'x.tar'\n",
    "data-name": "[data]\n\"my images\" = 'x.tar'\n",
    "data-stage": "[data]\nimages = { from = 'x.tar', stage = 'unpak' }\n",
    "data-key": "[data]\nimages = { from = 'x.tar', to = '/tmp' }\n",
    "data-number": "[data]\nimages = 3\n",
    "results-every": "[results]\nevery = 10\n",
    "not-toml": "[resources\nnodes = 2\n",
    "twice": "[resources]\nnodes = 2\nnodes = 3\n",
    "experiment-no-table": "[experiment]\nbig = 3\n",
    "experiment-key-and-table": "experiment = 'base'\n[experiment.base]\nqos = 'a'\n",
}


@pytest.mark.parametrize("name", FILES)
def test_a_mistake_in_the_file(asking: Asking, golden: Golden, name: str) -> None:
    flags = {"experiment": Given("big", "-e")} if "[experiment.big]" in FILES[name] else {}
    golden(f"{name}.txt", asking.project(FILES[name]).error(flags) + "\n")


FLAGS = {
    "flag-nodes-zero": {"resources.nodes": Given("0", "--nodes")},
    "flag-time-negative": {"resources.time": Given("-3h", "--time")},
    "flag-experiment-unknown": {"experiment": Given("basline", "--exp-name")},
    "flag-experiment-far-off": {"experiment": Given("zebra", "--exp-name")},
    "flag-command-empty": {"command": Given(("",), "the command line")},
    "flag-experiment-up-and-away": {"experiment": Given("../x", "--exp-name")},
    "flag-time-zero": {"resources.time": Given("0", "--time")},
}


@pytest.mark.parametrize("name", FLAGS)
def test_a_mistake_in_a_flag(asking: Asking, golden: Golden, name: str) -> None:
    golden(f"{name}.txt", asking.project("[experiment.baseline]\n").error(FLAGS[name]) + "\n")


def test_a_mistake_in_a_variable(asking: Asking, golden: Golden) -> None:
    golden("variable-time.txt", asking.error(variables={"VOY_TIME": "90"}) + "\n")


def test_a_variable_that_is_almost_one_of_ours(asking: Asking, golden: Golden) -> None:
    golden("variable-misspelled.txt", asking.error(variables={"VOY_TIMEE": "3h"}) + "\n")


@pytest.mark.parametrize(
    ("wrong", "right"),
    [("VOY_NODE", "VOY_NODES"), ("VOY_MEM", "VOY_MEMORY"), ("VOY_EXPERIMNT", "VOY_EXPERIMENT")],
)
def test_the_variable_that_was_meant_is_named(asking: Asking, wrong: str, right: str) -> None:
    assert f"did you mean {right}?" in asking.error(variables={wrong: "1"})


def test_a_pyproject_named_by_hand_that_has_nothing_of_ours(asking: Asking, golden: Golden) -> None:
    asking.pyproject("[project]\nname = 'x'\n")
    with pytest.raises(VoyageurError) as caught:
        asking.spec(config=asking.folder / "pyproject.toml")
    golden("pyproject-without-table.txt", caught.value.text().replace(str(asking.folder), "…") + "\n")


def test_a_file_that_is_not_text(asking: Asking, golden: Golden) -> None:
    (asking.folder / "voyageur.toml").write_bytes(b"command = '\xff'\n")
    golden("not-utf8.txt", asking.error() + "\n")


def test_a_value_where_a_table_belongs_is_not_answered_with_its_own_name(asking: Asking) -> None:
    text = asking.project("resources = 5\n").error()
    assert "did you mean `resources`" not in text


@pytest.mark.parametrize("tool", ["voyageur = 5", "voyageur = 'x'", "voyageur = []"])
def test_a_pyproject_whose_table_is_none(asking: Asking, tool: str) -> None:
    assert "pyproject.toml" in asking.pyproject(f"[tool]\n{tool}\n").error()


def test_a_value_with_a_nul_byte_cannot_be_exported(asking: Asking) -> None:
    assert "A" in asking.project('[env.variables]\nA = "x\\u0000y"\n').error()


@pytest.mark.parametrize("written", ["'" + "9" * 400 + "d'", "'" + "9" * 5000 + "'"])
def test_an_absurd_time_is_a_mistake_and_no_crash(asking: Asking, written: str) -> None:
    assert "resources.time" in asking.project(f"[resources]\ntime = {written}\n").error()


def test_a_mistake_in_an_experiment_that_is_not_chosen_is_found_too(asking: Asking) -> None:
    assert "unknown key" in asking.project("[experiment.other]\ncomand = 'x'\n").error()


def test_the_users_own_file_is_read_as_strictly(asking: Asking) -> None:
    assert "config.toml:1" in asking.user("acount = 'x'\n").error()


@pytest.mark.parametrize("written", ["experiment = ", "partition = ", "constraint = ", "project = "])
def test_a_value_with_a_line_break_does_not_spread_over_the_message(asking: Asking, written: str) -> None:
    text = asking.project(f'{written}"two\\n#SBATCH --nodes=99"\n').error()
    assert "voyageur.toml:1" in text
    assert "two" in text
    assert "\n#SBATCH" not in text


@pytest.mark.parametrize("written", ["'A B' = '1'", "VOY_RUN = '1'", "A = [1]"])
def test_a_mistake_in_the_variables_names_its_line(asking: Asking, written: str) -> None:
    text = asking.project(f"command = 'true'\n[env.variables]\n{written}\n").error()
    assert "voyageur.toml:2" in text or "voyageur.toml:3" in text


def test_a_key_that_resembles_none_gets_no_wild_guess(asking: Asking) -> None:
    assert "did you mean" not in asking.project("[resources]\nzebra = 4\n").error()


def test_an_impossible_experiment_is_not_advised_to_get_a_table(asking: Asking) -> None:
    text = asking.project("[experiment.baseline]\n").error({"experiment": Given("../x", "--exp-name")})
    assert "[experiment.../x]" not in text
