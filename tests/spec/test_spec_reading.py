"""One wish out of files, variables and flags; every value knows where it came from."""

from pathlib import Path

import pytest

from tests.spec.asking import Asking
from voyageur.spec import Given
from voyageur.units import Duration, Size


@pytest.fixture
def asking(tmp_path: Path) -> Asking:
    return Asking(tmp_path)


def test_no_file_at_all_is_a_wish_of_defaults(asking: Asking) -> None:
    spec = asking.spec()
    assert (spec.command, spec.site, spec.project.name, spec.project.start_in) == ((), None, "weather", ".")
    assert (spec.resources.nodes, spec.resources.gpus, spec.resources.time) == (1, 0, Duration.parse("1h"))
    assert spec.source("resources.nodes") == "default"


def test_an_empty_file_works(asking: Asking) -> None:
    assert asking.project("").spec().resources.nodes == 1


def test_later_wins_key_by_key(asking: Asking) -> None:
    asking.user("[resources]\nnodes = 1\ngpus = 1\ncpus = 1\ntasks = 1\nmemory = '1G'\ntime = '1h'\n")
    asking.project(
        "site = 'narval'\n"
        "[resources]\ngpus = 2\ncpus = 2\ntasks = 2\nmemory = '2G'\ntime = '2h'\n"
        "[sites.narval.resources]\ncpus = 3\ntasks = 3\nmemory = '3G'\ntime = '3h'\n"
        "[sites.other.resources]\ncpus = 99\n"
        "[experiment.long.resources]\ntasks = 4\nmemory = '4G'\ntime = '4h'\n"
    )
    flags = {"experiment": Given("long", "-e"), "resources.time": Given("6h", "-t")}
    spec = asking.spec(flags, {"VOY_MEMORY": "5G", "VOY_TIME": "5h"})
    wish = spec.resources
    assert (wish.nodes, wish.gpus, wish.cpus, wish.tasks) == (1, 2, 3, 4)
    assert (wish.memory, wish.time) == (Size.parse("5G"), Duration.parse("6h"))
    assert {key: spec.source(f"resources.{key}") for key in ("nodes", "gpus", "cpus", "tasks", "memory", "time")} == {
        "nodes": f"{asking.user_file}:2",
        "gpus": "voyageur.toml:3",
        "cpus": "voyageur.toml:9",
        "tasks": "voyageur.toml:16",
        "memory": "VOY_MEMORY",
        "time": "-t",
    }


@pytest.mark.parametrize(
    ("flags", "variables", "account"),
    [
        ({}, {}, "def-project"),
        ({}, {"VOY_SITE": "narval"}, "def-narval"),
        ({"site": Given("beluga", "--on")}, {"VOY_SITE": "narval"}, "def-beluga"),
        ({"experiment": Given("far", "-e")}, {}, "def-beluga"),
        ({"account": Given("def-flag", "-a"), "site": Given("narval", "--on")}, {}, "def-flag"),
    ],
)
def test_what_is_only_true_on_one_cluster(
    asking: Asking, flags: dict[str, Given], variables: dict[str, str], account: str
) -> None:
    asking.project(
        "account = 'def-project'\n[sites.narval]\naccount = 'def-narval'\n[sites.beluga]\naccount = 'def-beluga'\n"
        "[experiment.far]\nsite = 'beluga'\n"
    )
    assert asking.spec(flags, variables).account == account


def test_the_site_named_in_the_users_own_file_counts(asking: Asking) -> None:
    asking.user("site = 'narval'\n[sites.narval]\naccount = 'def-me'\n")
    assert asking.spec().account == "def-me"


def test_environment_variables_are_merged_name_by_name(asking: Asking) -> None:
    asking.user("[env.variables]\nA = 'user'\nB = 'user'\n")
    asking.project("[env.variables]\nB = 'project'\nC = 3\n[experiment.x.env.variables]\nC = 'experiment'\n")
    spec = asking.spec({"experiment": Given("x", "-e")})
    assert spec.env.variables == {"A": "user", "B": "project", "C": "experiment"}


def test_environment_variables_for_one_cluster(asking: Asking) -> None:
    asking.project("site = 'narval'\n[env.variables]\nA = '1'\nB = '1'\n[sites.narval.env.variables]\nB = '2'\n")
    assert asking.spec().env.variables == {"A": "1", "B": "2"}


def test_pyproject(asking: Asking) -> None:
    asking.pyproject(
        "[project]\nname = 'x'\n[tool.voyageur]\ncommand = 'python train.py'\n"
        "[tool.voyageur.resources]\nnodes = 2\n[tool.voyageur.experiment.big.resources]\nnodes = 4\n"
    )
    assert asking.spec().source("resources.nodes") == "pyproject.toml:6"
    big = asking.spec({"experiment": Given("big", "-e")})
    assert (big.resources.nodes, big.source("resources.nodes")) == (4, "pyproject.toml:8")
    assert big.command == ("python", "train.py")


def test_a_pyproject_of_another_tool_is_not_ours(asking: Asking) -> None:
    asking.pyproject("[tool.ruff]\nline-length = 120\n")
    assert asking.spec().project.file is None


def test_the_project_file_beside_pyproject_wins(asking: Asking) -> None:
    asking.pyproject("[tool.voyageur.resources]\nnodes = 2\n").project("[resources]\nnodes = 3\n")
    assert asking.spec().resources.nodes == 3


def test_typed_in_a_subfolder_the_project_is_found_above(asking: Asking) -> None:
    asking.project("")
    (asking.folder / "src" / "deep").mkdir(parents=True)
    spec = asking.spec(inside="src/deep")
    assert (spec.project.root, spec.project.start_in) == (asking.folder, "src/deep")
    assert spec.project.name == "weather"


def test_a_config_named_by_hand_leaves_the_project_where_the_user_stands(asking: Asking, tmp_path: Path) -> None:
    config = tmp_path / "other.toml"
    config.write_text("[resources]\nnodes = 7\n")
    spec = asking.project("[resources]\nnodes = 3\n").spec(config=config)
    assert (spec.resources.nodes, spec.project.root) == (7, asking.folder)
    assert spec.source("resources.nodes") == "other.toml:2"


@pytest.mark.parametrize(
    ("written", "command"),
    [
        ("'python train.py --lr 0.1'", ("python", "train.py", "--lr", "0.1")),
        (
            "\"python train.py --note 'two words' $(touch x)\"",
            ("python", "train.py", "--note", "two words", "$(touch", "x)"),
        ),
        ('["python", "a b.py", "", "é🙂", "line\\nbreak"]', ("python", "a b.py", "", "é🙂", "line\nbreak")),
        ("'''\npython train.py\n  --lr 0.1  # the best so far\n'''", ("python", "train.py", "--lr", "0.1")),
    ],
)
def test_a_command_as_text_or_as_list(asking: Asking, written: str, command: tuple[str, ...]) -> None:
    assert asking.project(f"command = {written}\n").spec().command == command


def test_what_was_typed_arrives_word_for_word(asking: Asking) -> None:
    typed = ("python", "train.py", "--name", "%j $(touch x) `id` \\ ' \" \n 🙂", "")
    assert asking.project("").spec({"command": Given(typed, "the command line")}).command == typed


@pytest.mark.parametrize(
    ("written", "seconds"), [("'3d'", 259_200), ("'1-12:00:00'", 129_600), ("01:30:00", 5_400), ("'0-03:00'", 10_800)]
)
def test_times_as_people_write_them_also_without_quotes(asking: Asking, written: str, seconds: int) -> None:
    assert asking.project(f"[resources]\ntime = {written}\n").spec().resources.time == Duration(seconds)


def test_auto_leaves_it_to_the_site(asking: Asking) -> None:
    wish = asking.project("[resources]\ncpus = 'auto'\nmemory = 'auto'\ngpu = 'auto'\n").spec().resources
    assert (wish.cpus, wish.memory, wish.gpu) == (None, None, None)


def test_an_experiment_needs_no_table(asking: Asking) -> None:
    assert asking.project("").spec({"experiment": Given("baseline", "-e")}).experiment == "baseline"


def test_an_inline_table_has_the_line_it_stands_on(asking: Asking) -> None:
    spec = asking.project("\nresources = { nodes = 2 }\nlaunch.with = 'per-node'\n").spec()
    assert spec.source("resources.nodes") == "voyageur.toml:2"
    assert (spec.launch.with_, spec.source("launch.with")) == ("per-node", "voyageur.toml:3")


def test_an_empty_variable_says_nothing(asking: Asking) -> None:
    assert asking.project("account = 'a'\n").spec(variables={"VOY_ACCOUNT": ""}).account == "a"


@pytest.mark.parametrize("name", ["a b", "two\nlines", "🙂", "$(touch x)", "-rf", "."])
def test_a_project_folder_may_have_any_name(tmp_path: Path, name: str) -> None:
    (tmp_path / "x" / name).mkdir(parents=True, exist_ok=True)
    folder = (tmp_path / "x" / name).resolve()
    asking = Asking(tmp_path)
    asking.folder = folder
    assert asking.project("").spec().project.name == folder.name


def test_the_users_own_file_is_named_as_people_write_it(asking: Asking) -> None:
    spec = asking.user("account = 'a'\n").spec(variables={"HOME": str(asking.user_file.parent)})
    assert spec.source("account") == "~/config.toml:1"


def test_an_experiment_of_the_user_and_of_the_project_are_one_key_by_key(asking: Asking) -> None:
    asking.user(
        "site = 'narval'\n[experiment.base]\naccount = 'user'\nqos = 'user'\n"
        "[experiment.base.sites.narval]\nqos = 'user-narval'\npartition = 'user-narval'\n"
        "[experiment.base.env.variables]\nA = 'user'\nB = 'user'\n"
    )
    asking.project("[experiment.base]\nqos = 'project'\nenv.variables.B = 'project'\n[experiment.other]\n")
    spec = asking.spec({"experiment": Given("base", "-e")})
    assert (spec.account, spec.qos, spec.partition) == ("user", "project", "user-narval")
    assert spec.env.variables == {"A": "user", "B": "project"}


def test_the_experiment_may_be_chosen_by_a_variable_or_in_the_users_own_file(asking: Asking) -> None:
    asking.project("[experiment.big.resources]\nnodes = 4\n[experiment.small.resources]\nnodes = 2\n")
    assert asking.spec(variables={"VOY_EXPERIMENT": "big"}).resources.nodes == 4
    assert asking.user("experiment = 'small'\n").spec().resources.nodes == 2


@pytest.mark.parametrize("name", ["VOY_RUN", "VOY_REWRITE_GOLDEN", "VOY_ZEBRA", "VOY_TIME_LIMIT"])
def test_other_variables_with_our_beginning_say_nothing(asking: Asking, name: str) -> None:
    assert asking.spec(variables={name: "1"}).sources == {}


def test_in_a_job_no_variable_is_a_wish(asking: Asking) -> None:
    assert asking.spec(variables={"VOY_RUN_DIR": "/r", "VOY_CODE": "/c", "VOY_TIMEE": "1"}).sources == {}


def test_a_mark_in_front_of_the_text_does_not_matter(asking: Asking) -> None:
    (asking.folder / "voyageur.toml").write_bytes(b"\xef\xbb\xbfaccount = 'a'\n")
    assert (asking.spec().account, asking.spec().source("account")) == ("a", "voyageur.toml:1")


def test_a_truth_reaches_the_program_as_it_was_written(asking: Asking) -> None:
    spec = asking.project("[env.variables]\nA = true\nB = false\nC = 0.5\nD = 3\n").spec()
    assert spec.env.variables == {"A": "true", "B": "false", "C": "0.5", "D": "3"}


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ('command = """\npython train.py\n[resources]\nnodes = 9\n"""\n[resources]\nnodes = 2\n', 7),
        ("command = '''\nx\nresources.nodes = 9\n'''\n[resources]\nnodes = 2\n", 6),
        ("[snapshot]\nexclude = [\n  'nodes = 3',\n  '[resources]',\n]\n[resources]\nnodes = 2\n", 7),
        ('qos = \'a\' # """ not a text\n[resources]\nnodes = 2\n', 3),
        ("qos = \"a'b\" # it's\n[resources] # [x\nnodes = 2\n", 3),
    ],
)
def test_a_line_inside_a_long_text_is_no_key(asking: Asking, text: str, line: int) -> None:
    assert asking.project(text).spec().source("resources.nodes") == f"voyageur.toml:{line}"


def test_a_pyproject_named_by_hand_is_read_as_one(asking: Asking) -> None:
    asking.pyproject("[project]\nname = 'x'\n[tool.voyageur.resources]\nnodes = 2\n")
    spec = asking.spec(config=asking.folder / "pyproject.toml")
    assert (spec.resources.nodes, spec.source("resources.nodes")) == (2, "pyproject.toml:4")


def test_tables_of_sites_are_remembered_with_their_place(asking: Asking) -> None:
    asking.project("[sites.narvall]\naccount = 'a'\n")
    assert asking.spec().site_tables == {"narvall": "voyageur.toml:2"}
