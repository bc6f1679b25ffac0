"""Clusters as people read them, and as programs do."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from datetime import date
from pathlib import Path

import msgspec
import pytest

from voyageur.show.ages import days_since, in_words
from voyageur.show.site_page import short_source, site_text
from voyageur.show.sites import site_document, sites_document, sites_text
from voyageur.site import Site, load_profile, profile_names
from voyageur.site.profile import from_toml

pytest_plugins = ["tests.golden"]
Golden = Callable[[str, str], None]

TODAY = date(2026, 11, 18)

OAK = """
title = "Oak, the cluster of a department that has thought of everything"

[access]
source  = "Handbook: Logging in"
date    = "2026-04-01"
login   = ["oak.example.org", "oak2.example.org"]
port    = 2222
jump    = "gate.example.org"
factors = ["key", "token"]
keys    = false
session = "12h"
renew   = "oak-key sign --for a-day"
reuse   = true
transfer = ["dtn.oak.example.org"]
transfer_above = "10G"
globus  = "oak#data"

[request]
source    = "Handbook: Jobs"
date      = "2026-04-01"
account   = "required"
account_example = "dept-you"
partition = "required"
nodelist  = "forbidden"
forbidden = ["--mem=0"]
gpu_type  = "required"

[times]
source  = "Handbook: Jobs"
date    = "2026-04-01"
maximum = "3d"
tiers   = ["3h", "1d"]

[queues]
source = "Handbook: Queues; a guide of users"
date   = "2025-01-15"
weak   = true
note   = "the guide and the handbook disagree on `long`"
trap   = "test"

  [queues.partitions.main]
  default    = true
  time_limit = "1d"
  nodes      = 40
  nodes_per_job = 8
  cpus       = 64
  memory     = "500000M"
  local_disk = "1T"
  running    = 10

    [queues.partitions.main.gpus.l40s]
    per_node    = 4
    counts      = [1, 2, 4]
    cpus_each   = 8
    memory_each = "100G"
    own_memory  = "48G"
    also        = ["l40"]

  [queues.partitions.long]
  flag       = "main"
  qos        = "long"
  time_limit = "3d"
  nodes_least   = 2
  nodes_per_job = 4
  cpus       = 64
  installed  = "512G"
  charge     = 0.5

    [queues.partitions.long.gpus.v100]
    per_node = 4

  [queues.partitions.test]
  purpose    = "debug"
  time_limit = "30m"
  submitted  = 2
  charge     = 0.0
  note       = "quick"

  [queues.partitions.secret]
  restricted = true

[local_disk]
source   = "Handbook: Files"
date     = "2026-04-01"
variable = "TMPDIR"
medium   = "memory"
size     = "10G"

[storage]
source = "Handbook: Files"
date   = "2026-04-01"
quota_command = "quota -s"
no_touch = true

  [storage.places.home]
  path  = "/home/$USER"
  size  = "50G"
  files = 100_000
  jobs  = "read-only"
  backup = true

  [storage.places.scratch]
  path = "/scratch/$USER"
  soft_size = "1T"
  grace = "7d"
  purge_days = 30

[network]
source   = "Handbook: Network"
date     = "2026-04-01"
internet = "proxy"
proxy_module = "httpproxy"
variables = { NCCL_SOCKET_IFNAME = "ib0", GLOO_USE_IPV6 = "0" }

[software]
source  = "Handbook: Software"
date    = "2026-04-01"
purge   = false
conda   = "discouraged"
containers = ["apptainer"]
container_module = "apptainer/1.3"
architecture = "aarch64"
gpu_vendor   = "nvidia"

[limits]
source = "Handbook: Jobs"
date   = "2026-04-01"
submitted = 1000
sbatch_in_jobs = false

[accounting]
source = "Handbook: Money"
date   = "2026-04-01"
unit   = "core-hours"
by     = ["gpus", "cores"]
balance_command = "oak-budget"

[conduct]
source    = "Handbook: Manners"
date      = "2026-04-01"
login_cpu = "10m"
agents    = "forbidden"
requests  = ["ask for the state of jobs every few minutes, and not more often than that", "be kind"]
"""


def oak(extra: str = "") -> Site:
    return from_toml("oak", extra + OAK)


def plain(site: Site, columns: int | None = 80) -> str:
    return site_text(site, TODAY, colours=False, columns=columns)


# ── a page ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_the_page_of_a_cluster(golden: Golden) -> None:
    golden("oak.txt", plain(oak()) + "\n")


def test_in_a_pipe_every_fact_is_one_line() -> None:
    lines = plain(oak(), columns=None).splitlines()
    assert "                - ask for the state of jobs every few minutes, and not more often than that" not in lines
    assert "  please        - ask for the state of jobs every few minutes, and not more often than that" in lines
    assert "  weak: the guide and the handbook disagree on `long`" in lines


def test_a_cluster_of_which_nothing_is_known_says_so_where_people_look(golden: Golden) -> None:
    golden("unknown.txt", plain(from_toml("fog", 'title = "Fog"')) + "\n")


def test_a_retired_cluster_says_where_to_go() -> None:
    site = from_toml("elm", 'title = "Elm"\nstatus = "retired"\nended = "2025-09-30"\nsuccessor = "oak"')
    assert "retired, ended 2025-09-30; what came after it: `--on oak`" in plain(site)


def test_commands_are_not_broken_at_the_edge() -> None:
    for columns in range(40, 90):
        assert "`oak-key sign --for a-day`" in plain(oak(), columns)


def test_colours_change_nothing_but_colour() -> None:
    painted = site_text(oak(), TODAY, colours=True, columns=80)
    assert "\x1b[33m  weak:" in painted
    assert re.sub(r"\x1b\[\d+m", "", painted) == plain(oak())


def test_what_comes_from_a_file_cannot_command_the_terminal() -> None:
    site = from_toml(
        "bad", 'title = "T\\u001b[2J"\n[access]\nlogin = ["h\\u001b]0;x"]\n[conduct]\nrequests = ["a\\nb"]'
    )
    assert "\x1b" not in plain(site)
    assert "- a\\nb" in plain(site)


@pytest.mark.parametrize("name", profile_names())
def test_every_built_in_page_fits_and_says_all_its_notes(name: str) -> None:
    site = load_profile(name)
    page = plain(site)
    assert max(map(len, page.splitlines())) <= 80
    assert not re.search(r"\bNone\b|\b(?:Policy|Reach|Welcome|Use|Medium|Unit)\.|\{(?!account)", page)
    words = " ".join(page.split())
    shown = {"access", "request", "times", "queues", "storage", "local_disk", "network", "software", "conduct"}
    for group, facts in site.groups():
        if group in shown and facts.note:
            assert " ".join(facts.note.split()) in words, group
    for partition in site.partitions:
        assert partition.name in page


@pytest.mark.parametrize(
    ("name", "lines"),
    [
        ("narval", ["ssh USER@narval.alliancecan.ca", "--gpus-per-node=TYPE:COUNT", "partition must not be named"]),
        ("daint", ["ssh -J USER@ela.cscs.ch USER@daint.alps.cscs.ch", "`cscs-key sign`", "--gpus-per-task=1"]),
        ("leonardo", ["--partition=boost_usr_prod --qos=boost_qos_lprod", "`lrd_all_serial`", "internet none"]),
        ("perlmutter", ["--qos=regular --constraint=gpu&hbm80g", "memory must not be asked for", "QOS must be named"]),
        ("vista", ["never give --mem, --gres, --gpus-per-task, --nodelist", "start ranks with ibrun", "aarch64"]),
        ("jupiter", ["never from /p", "NCCL_SOCKET_IFNAME=ib0", "from= clause"]),
        ("lumi", ["AMD GPUs", "paid for each 8 CPUs or 64G", "/scratch/{account}"]),
        ("delta", ["1000M a core when not asked for", "30m when not given", "may be stopped for others"]),
        ("plai", ["proof not known", "a folder of your own in /scratch-ssd", "internet not known"]),
    ],
)
def test_what_people_must_find_on_a_page(name: str, lines: list[str]) -> None:
    words = " ".join(plain(load_profile(name)).split())
    for line in lines:
        assert line in words


@pytest.mark.parametrize(
    ("source", "short"),
    [
        ("Docs: Daint; Docs: SSH, Slurm; Docs: Slurm", "Docs: Daint, SSH, Slurm"),
        ("Docs: Jobs; a guide of users", "Docs: Jobs; a guide of users"),
        ("a guide", "a guide"),
    ],
)
def test_pages_of_one_documentation_stand_behind_its_name(source: str, short: str) -> None:
    assert short_source(source) == short


# ── all of them ──────────────────────────────────────────────────────────────────────────────────────────────────────


def listed() -> list[Site]:
    retired = from_toml("elm", 'title = "Elm"\nstatus = "retired"\nsuccessor = "oak"\n[access]\ndate = "2024-11-01"')
    return [retired, oak(), from_toml("fog", 'title = "Fog"')]


def own(site: Site, *lineage: str) -> Site:
    return msgspec.structs.replace(site, lineage=lineage)


def test_the_list_of_clusters(golden: Golden) -> None:
    sites = [*listed(), own(from_toml("ash", 'title = "Ash"'), "your own ash")]
    sites.append(own(from_toml("narval", 'title = "N"'), "any-alliance", "narval", "your own narval"))
    golden("list.txt", sites_text(sites, {"birch": "birch.toml: unknown key"}, TODAY, colours=False) + "\n")


def test_whose_profile_it_is_stands_there_only_where_it_differs() -> None:
    text = sites_text(listed(), {}, TODAY, colours=False)
    assert "PROFILE" not in text
    assert "all of these are built in" in text


def test_the_list_fits_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("voyageur.show.style.columns", lambda: 80)
    sites = [load_profile(name) for name in profile_names()]
    text = sites_text(sites, {"birch": "x" * 200}, TODAY, colours=False)
    assert max(map(len, text.splitlines())) <= 80
    assert all(re.search(rf"^{name} ", text, re.MULTILINE) for name in profile_names())


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("2026-11-18", "today"),
        ("2026-11-17", "1 day"),
        ("2026-11-04", "2 weeks"),
        ("2026-04-18", "7 months"),
        ("2026-04", "7 months"),
        ("2025-05-28", "17 months"),
        ("2024-10-15", "2 years"),
        ("2027-01-01", "today"),
        ("last spring", "not known"),
        ("", "not known"),
    ],
)
def test_ages_in_words(text: str, words: str) -> None:
    assert in_words(days_since(text, TODAY)) == words


# ── for programs ─────────────────────────────────────────────────────────────────────────────────────────────────────


def test_the_list_as_a_document() -> None:
    birch, elm, fog, first = sites_document(listed(), {"birch": "unknown key"}, TODAY)
    assert (birch["name"], birch["problem"], birch["title"]) == ("birch", "unknown key", None)
    assert (elm["status"], elm["successor"], elm["days"]) == ("retired", "oak", 747)
    assert (fog["oldest"], fog["days"], fog["weak"]) == (None, None, [])
    assert (first["oldest"], first["weak"], first["profile"]) == ("2025-01-15", ["queues"], "built-in")
    assert set(birch) == set(elm)


def test_a_cluster_as_a_document() -> None:
    document = json.loads(msgspec.json.encode(site_document(oak())))
    main, long, *_ = document["queues"]["partitions"]
    assert (document["name"], document["access"]["session"]) == ("oak", 43_200)
    assert (main["memory"], main["gpus"][0]["counts"]) == (500_000 * 1024**2, [1, 2, 4])
    assert (long["memory"], long["installed"], long["gpus"][0]["cpus_each"]) == (None, 512 * 1024**3, None)
    assert [part["charge"] for part in document["queues"]["partitions"]] == [1.0, 0.5, 0.0, 1.0]
    assert (document["request"]["account"], document["limits"]["sbatch_in_jobs"]) == ("required", False)


@pytest.mark.parametrize("name", profile_names())
def test_every_built_in_site_is_a_document(name: str) -> None:
    document = json.loads(msgspec.json.encode(site_document(load_profile(name))))
    assert document["name"] == name
    assert len(document["queues"]["partitions"]) == len(load_profile(name).partitions)


def test_golden_pages_are_of_sites_that_only_the_tests_know() -> None:
    """Facts of real clusters change; these pages must not."""
    names = {file.stem for file in (Path(__file__).parent / "golden").iterdir()}
    assert not names & set(profile_names())
