"""The bed's stand-ins for the commands of sites."""

import os
import subprocess

import pytest

from tests.site_commands import SiteCommands


def run(commands: SiteCommands, *argv: str) -> subprocess.CompletedProcess[str]:
    environment = {"PATH": commands.path(os.environ["PATH"])}
    return subprocess.run(argv, env=environment, capture_output=True, text=True, timeout=20, check=False)


def test_a_command_says_what_was_recorded_and_remembers_what_it_was_asked(site_commands: SiteCommands) -> None:
    site_commands.say("saldo", "all\n", arguments=["-b"])
    site_commands.say("saldo", "it's 100 % \\n $(touch x)\n", arguments=["-b", "--dcgp"], errors="old\n", code=3)
    first, second = run(site_commands, "saldo", "-b"), run(site_commands, "saldo", "-b", "--dcgp")
    assert (first.stdout, first.returncode) == ("all\n", 0)
    assert (second.stdout, second.stderr, second.returncode) == ("it's 100 % \\n $(touch x)\n", "old\n", 3)
    assert site_commands.asked("saldo") == ["-b", "-b --dcgp"]


def test_what_nobody_gave_an_answer_for_fails(site_commands: SiteCommands) -> None:
    site_commands.say("lfs", "", arguments=["quota", "/scratch/a"])
    assert run(site_commands, "lfs", "quota", "/scratch/a").returncode == 0
    assert run(site_commands, "lfs", "quota", "/other").returncode == 64
    site_commands.say("lfs", "any\n")
    assert run(site_commands, "lfs", "quota", "/other").stdout == "any\n"


def test_a_command_that_hangs_says_its_beginning_first(site_commands: SiteCommands) -> None:
    site_commands.hang("quota", after="Disk quotas")
    argv = ["quota"]
    with pytest.raises(subprocess.TimeoutExpired) as found:
        subprocess.run(
            argv, env={"PATH": site_commands.path(os.environ["PATH"])}, capture_output=True, timeout=0.5, check=False
        )
    assert found.value.stdout == b"Disk quotas"
