"""`voy init`: what it finds, what it writes, and that the spec takes every word of it."""

from __future__ import annotations

import os
import re
import stat
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from voyageur.project import document, look
from voyageur.spec import Spec, read_spec, toml
from voyageur.spec.keys import KEYS
from voyageur.spec.read import LEAVES

VOY = [sys.executable, "-c", "from voyageur.cli import main; main()"]


class Project:
    def __init__(self, root: Path) -> None:
        self.home, self.folder = root / "home", root / "project"
        self.home.mkdir()
        self.folder.mkdir()

    def write(self, name: str, text: str) -> None:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def init(self, *flags: str, code: int = 0, path: str = "/usr/bin:/bin") -> subprocess.CompletedProcess[str]:
        environment = {"PATH": path, "HOME": str(self.home), "XDG_STATE_HOME": str(self.home / "state")}
        answer = subprocess.run(
            [*VOY, "init", *flags],
            cwd=self.folder,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=30,
        )
        assert answer.returncode == code, answer.stderr
        return answer

    def text(self, has_gpus: bool = False) -> str:
        return document(look(self.folder, {}, has_gpus=has_gpus, has_slurm=True))

    def spec(self, site: str | None = None, has_gpus: bool = False) -> Spec:
        """The file that would be written, as the spec reads it."""
        (self.folder / "voyageur.toml").write_text(self.text(has_gpus))
        environment = {"VOY_SITE": site} if site else {}
        return read_spec(folder=self.folder, flags={}, environment=environment)


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


def uncommented(text: str) -> dict[str, Any]:
    """The file with all its examples taken in; those of sites and experiments are tables of their own."""
    head = text.partition("# [sites.")[0]
    live = re.sub(r"^# (\w+ = )", r"\1", head, flags=re.MULTILINE)
    return toml.flat(tomllib.loads(live), LEAVES)


def test_an_empty_folder_shows_every_key_and_every_example_is_right(project: Project) -> None:
    text = project.init("--print").stdout
    assert not (project.folder / "voyageur.toml").exists()
    examples = uncommented(text)
    assert set(examples) == set(KEYS) - {"experiment"}
    for key, value in examples.items():
        KEYS[key](value)


def test_what_is_written_for_an_empty_folder_says_nothing(project: Project) -> None:
    answer = project.init()
    assert "nothing was found" in answer.stdout
    assert "voy plan -- python YOUR_PROGRAM.py" in answer.stdout
    assert len(answer.stdout.splitlines()) == 2
    assert read_spec(folder=project.folder, flags={}, environment={}).sources == {}


def test_a_file_that_is_there_is_left_alone(project: Project) -> None:
    project.write("voyageur.toml", 'command = "true"\n')
    answer = project.init(code=2)
    assert answer.stderr.startswith("error: there is a voyageur.toml already")
    assert "hint: `voy init --print`" in answer.stderr
    assert (project.folder / "voyageur.toml").read_text() == 'command = "true"\n'
    project.init("--force")
    assert "Voyageur" in (project.folder / "voyageur.toml").read_text()
    assert sorted(os.listdir(project.folder)) == ["voyageur.toml"]


def test_a_table_in_pyproject_counts_as_a_file(project: Project) -> None:
    project.write("pyproject.toml", '[tool.voyageur]\ncommand = "true"\n')
    assert "[tool.voyageur] already" in project.init(code=2).stderr


@pytest.mark.skipif(os.geteuid() == 0 and sys.platform != "linux", reason="root writes everywhere")
def test_a_folder_where_nothing_can_be_written(project: Project) -> None:
    if os.geteuid() == 0:  # root is stopped by no mode: a folder stands where the file should
        (project.folder / "voyageur.toml").mkdir()
        answer = project.init("--force", code=2)
    else:
        project.folder.chmod(stat.S_IRUSR | stat.S_IXUSR)
        answer = project.init(code=2)
        project.folder.chmod(stat.S_IRWXU)
    assert "error: voyageur.toml cannot be written" in answer.stderr
    assert "hint: `voy init --print`" in answer.stderr


def test_home_is_no_project(project: Project) -> None:
    project.folder = project.home
    assert "is no project" in project.init(code=2).stderr
    assert "[resources]" in project.init("--print").stdout


@pytest.mark.parametrize(
    ("files", "command"),
    [
        ({"train.py": ""}, "train.py"),
        ({"main.py": "", "train.py": ""}, "train.py"),
        ({"src/main.py": "", "helper.py": ""}, "src/main.py"),
        ({"model.py": "", "fit.py": "import argparse\nif __name__ == '__main__': pass\n"}, "fit.py"),
        ({"a.py": "if __name__ == '__main__': 1\n", "b.py": "import argparse\nif __name__ == '__main__': 1\n"}, "b.py"),
        ({"model.py": "", "options.py": "argparse.ArgumentParser()\n"}, "options.py"),
        ({"analysis.py": "print(1)\n"}, "analysis.py"),
        ({"weather/__main__.py": ""}, "-m weather"),
        ({"with space/train.py": ""}, "'with space/train.py'"),
        (
            {".venv/lib/train.py": "", "env/pyvenv.cfg": "", "env/main.py": "", "go.py": "__name__ == '__main__'"},
            "go.py",
        ),
    ],
)
def test_the_program(project: Project, files: dict[str, str], command: str) -> None:
    for name, text in files.items():
        project.write(name, text)
    written = project.spec().given["command"]
    assert written.removeprefix("python3 ").removeprefix("python ") == command


def test_what_the_program_wants_is_said(project: Project) -> None:
    project.write("train.py", 'p.add_argument("--data", required=True)\np.add_argument("-o", "--out-dir")\n')
    text = project.text()
    assert "# train.py cannot do without --data: add what it needs" in text
    assert "`--out-dir {checkpoints}`" in text


def test_gpus_are_taken_in_only_where_there_are_some(project: Project) -> None:
    project.write("train.py", "import os, torch\nmodel.cuda()\n")
    assert project.spec(has_gpus=True).resources.gpus == 1
    assert project.spec(has_gpus=False).resources.gpus == 0
    assert "# gpus = 1 " in project.text()


def test_the_launch_style_is_offered_with_the_line_that_asks_for_it(project: Project) -> None:
    project.write("train.py", "import net\nnet.begin()\n")
    project.write("net.py", "import torch.distributed as d\ndef begin(): d.init_process_group('nccl')\n")
    line = r'^# with = "torchrun" +# net.py:2 calls torch.distributed.init_process_group$'
    assert re.search(line, project.text(), re.MULTILINE)


def test_lightning_is_recognized(project: Project) -> None:
    project.write("train.py", "import torch\nfrom pytorch_lightning import Trainer\n")
    assert re.search(r'^# with = "lightning" +# Lightning', project.text(), re.MULTILINE)


def test_data_stays_but_a_package_called_data_travels(project: Project) -> None:
    project.write("datasets/a.bin", "x" * 11 * 1024**2)
    project.write("data/loader.py", "x" * 11 * 1024**2)
    assert project.spec().snapshot.exclude == ("datasets",)


OLD_SCRIPT = """#!/bin/bash
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=4   # one for each GPU
#SBATCH -c 12
#SBATCH --time=1-12
#SBATCH --mem=118GB           # all of it
#SBATCH --account=def-prof
#SBATCH -p gpu,long
#SBATCH --gres=gpu:a100:4
#SBATCH --qos=<qos>
#SBATCH --job-name=mine --array=1-4
#SBATCH --signal=B:USR1@300
module purge
module load StdEnv/2020 python/3.9.6
module load scipy-stack # more
source /opt/envs/torch/bin/activate
export NCCL_DEBUG=INFO
export WANDB_API_KEY=do-not-copy-me
export DERIVED="$HOME/x"
srun --cpu-bind=none python -u train.py \\
    --data $SLURM_TMPDIR/data --name 'a b'
"""


def test_an_old_sbatch_script_is_taken_over(project: Project) -> None:
    project.write("job.sbatch", OLD_SCRIPT)
    spec = project.spec(site="slurm")
    assert spec.command == ("python", "-u", "train.py", "--data", "{tmp}/data", "--name", "a b")
    assert (spec.account, spec.partition, spec.qos) == ("def-prof", "gpu", None)
    resources = spec.resources
    assert (resources.nodes, resources.tasks, resources.cpus) == (2, 4, 48)
    assert (resources.gpus, resources.gpu) == (4, "a100")
    assert (str(resources.memory), str(resources.time)) == ("118G", "1d12h")
    assert str(spec.checkpoint.warn) == "5m"
    assert spec.env.modules == ("StdEnv/2020", "python/3.9.6", "scipy-stack")
    assert spec.env.venv == "/opt/envs/torch"
    assert spec.env.variables == {"NCCL_DEBUG": "INFO"}
    text = project.text()
    assert "do-not-copy-me" not in text
    assert "not taken over from job.sbatch: --qos=<qos>, --array=1-4" in text
    assert "# job.sbatch:7, --account=def-prof" in text


def test_what_is_true_on_the_cluster_alone_does_not_stop_a_run_here(project: Project) -> None:
    project.write("job.sbatch", OLD_SCRIPT)
    spec = project.spec(site="local")
    assert (spec.account, spec.partition, spec.env.modules, spec.env.venv) == (None, None, None, None)
    assert (spec.resources.gpus, spec.resources.gpu) == (0, None)
    assert spec.resources.nodes == 2


@pytest.mark.parametrize(
    ("option", "key", "value"),
    [
        ("--time=90", "resources.time", "90m"),
        ("-t 0-03:00", "resources.time", "0-03:00"),
        ("-t02:00:00", "resources.time", "02:00:00"),
        ("--mem=4000", "resources.memory", "4000M"),
        ("--mem-per-cpu=2G --cpus-per-task=4", "resources.memory", "8G"),
        ("--mem-per-gpu=10G", "resources.memory_per_gpu", "10G"),
        ("--gpus-per-node=v100l:2", "resources.gpus", 2),
        ("--gres=gpu", "resources.gpus", 1),
        ("--gpus=8 --nodes=2", "resources.gpus", 4),
        ("--gpus-per-task=1 --ntasks=4", "resources.gpus", 4),
        ("--ntasks=8 --nodes 2", "resources.tasks", 4),
        ("--no-requeue", "requeue", False),
        ("--constraint='a100|v100'", "constraint", "a100|v100"),
    ],
)
def test_each_option_of_sbatch(project: Project, option: str, key: str, value: Any) -> None:
    project.write("job.sh", f"#!/bin/bash\n#SBATCH {option}\npython x.py\n")
    assert project.spec(site="slurm").given[key] == value


@pytest.mark.parametrize(
    "option", ["--time=UNLIMITED", "--mem=0", "--account=<project>", "--gres=tmp:10G", "--time=$T"]
)
def test_what_cannot_be_said_is_left_out_and_named(project: Project, option: str) -> None:
    project.write("job.sh", f"#!/bin/bash\n#SBATCH {option}\npython x.py\n")
    assert set(project.spec(site="slurm").given) == {"command", "site"}
    assert option in project.text()


def test_a_command_with_variables_of_its_script_is_only_shown(project: Project) -> None:
    project.write("job.sh", "#!/bin/bash\n#SBATCH -t 1:00:00\nLR=1\npython x.py --lr $LR\n")
    assert "command" not in project.spec().given
    assert re.search(
        r'^# command = "python x.py --lr \$LR" +# .*\$LR is set by the script', project.text(), re.MULTILINE
    )


def test_a_command_with_variables_of_every_run_goes_through_a_shell(project: Project) -> None:
    project.write("job.sh", "#!/bin/bash\n#SBATCH -t 1:00:00\npython x.py --user $USER\n")
    assert project.spec().command == ("bash", "-c", "exec python x.py --user $USER")


def test_other_scripts_become_experiments_to_take_in(project: Project) -> None:
    project.write("train.sh", "#!/bin/bash\n#SBATCH -t 2:00:00\npython train.py\n")
    project.write("eval.sh", "#!/bin/bash\n#SBATCH -t 1:00:00\npython eval.py\n")
    text = project.text()
    table = text[text.index("# [experiment.eval]") :]
    assert (
        tomllib.loads(re.sub("^# ", "", table, flags=re.MULTILINE))["experiment"]["eval"]["command"] == "python eval.py"
    )
    assert project.spec().command == ("python", "train.py")


def test_the_older_text_file_that_holds_only_the_command(project: Project) -> None:
    project.write(
        "hpc_files/experiment_configurations.txt", "python ${source_dir}/train.py \\\n  --out ${scratch_dir}/o\n"
    )
    assert project.spec().command == ("python", "./train.py", "--out", "{scratch}/o")


@pytest.mark.parametrize("name", ["tr'ain.py", 'a"b.py', "emoji-🌀.py", "back\\slash.py", "$(touch x).py"])
def test_odd_names_survive(project: Project, name: str) -> None:
    project.write(name, "import argparse\nif __name__ == '__main__': pass\n")
    assert project.spec().command[-1] == name


def test_a_large_project_is_looked_at_quickly(project: Project) -> None:
    for number in range(3_000):
        project.write(f"pkg{number % 30}/m{number}.py", "import os\n")
    answer = project.init()
    assert "voyageur.toml written" in answer.stdout


def test_experiments_are_offered_once_so_that_all_examples_together_are_toml(project: Project) -> None:
    text = project.init("--print").stdout
    live = re.sub(r"^# (\[|[\w.]+ = )", r"\1", text, flags=re.MULTILINE)
    assert "baseline" in tomllib.loads(live)["experiment"]


@pytest.mark.parametrize("name", ["train.py", "job.sh", "Makefile"])
def test_a_pipe_is_not_waited_for_and_a_device_is_not_read(project: Project, name: str) -> None:
    os.mkfifo(project.folder / name)
    (project.folder / "main.py").symlink_to("/dev/zero")
    (project.folder / "pyproject.toml").symlink_to("/dev/zero")
    project.write("fit.py", "print(1)")
    project.init()
    assert re.search(r'^command = "python3? fit.py"', (project.folder / "voyageur.toml").read_text(), re.MULTILINE)


def test_an_old_script_on_a_machine_without_slurm_leads_to_a_plan_that_works(project: Project, tmp_path: Path) -> None:
    project.write("job.sbatch", OLD_SCRIPT)
    project.write("train.py", "print(1)")
    (tmp_path / "bin").mkdir()
    for name in ("bash", "git", "env", "python3"):
        (tmp_path / "bin" / name).symlink_to(f"/usr/bin/{name}")
    (tmp_path / "bin" / "python").symlink_to("/usr/bin/python3")
    answer = project.init(path=str(tmp_path / "bin"))
    assert "next: look through it, then `voy plan`\n" in answer.stdout
    text = (project.folder / "voyageur.toml").read_text()
    assert re.search(r'^# site = "slurm" +# job.sbatch is a Slurm script, but this machine has no Slurm$', text, re.M)
    planned = subprocess.run(
        [*VOY, "plan"],
        cwd=project.folder,
        env={"PATH": str(tmp_path / "bin"), "HOME": str(project.home)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert planned.returncode == 0, planned.stderr
    assert re.search("^site +local$", planned.stdout, re.MULTILINE)


def test_an_older_text_file_with_several_commands_is_only_shown(project: Project) -> None:
    project.write("experiment_configurations.txt", "# two\npython a.py\npython b.py\n")
    assert "command" not in project.spec().given
    assert re.search(r'^# command = "python a.py" +# .*several commands, this is the first$', project.text(), re.M)


def test_the_only_image_of_a_container_is_proposed(project: Project) -> None:
    project.write("train.py", "print()")
    project.write("image.sif", "")
    project.init()
    line = next(line for line in (project.folder / "voyageur.toml").read_text().splitlines() if "image.sif" in line)
    assert line.startswith('# image = "image.sif"')
    assert "the only container image in this folder" in line
