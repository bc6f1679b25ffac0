"""Profiles that extend profiles: a user's own over the package's, and everything that can be wrong with them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from voyageur.errors import SiteError
from voyageur.site import Medium, Policy, Site, Status, load_profile, profile_names
from voyageur.site.profile import from_toml, own_names
from voyageur.units import Duration, Size

PAGE = "the page `Sites` of the documentation lists the keys there are"


@pytest.fixture
def own(tmp_path: Path) -> Path:
    folder = tmp_path / "sites"
    folder.mkdir()
    return folder


def write(own: Path, name: str, text: str) -> None:
    (own / f"{name}.toml").write_text(text, encoding="utf-8")


def refusal(name: str, own: Path | None) -> SiteError:
    with pytest.raises(SiteError) as caught:
        load_profile(name, own)
    assert caught.value.exit_code == 2 and caught.value.hint
    return caught.value


def partition_names(site: Site) -> list[str]:
    return [partition.name for partition in site.partitions]


# ── what inherits what ───────────────────────────────────────────────────────────────────────────────────────────────


def test_ones_own_profile_of_a_clusters_name_is_laid_over_it(own: Path) -> None:
    write(
        own,
        "narval",
        'title = "Narval, as we use it"\n'
        '[request]\nsource = "our lab"\ndate = 2026-11-01\naccount_example = "def-ada"\n'
        '[queues.partitions."gpu nodes"]\ntime_limit = "2d"\n'
        '[queues.partitions."gpu nodes".gpus.a100]\ncpus_each = 8\n'
        '[storage.places.lab]\npath = "/project/def-ada"\n',
    )
    site, plain = load_profile("narval", own), load_profile("narval")
    gpus = site.partitions[-1]
    assert site.lineage == ("any-alliance", "narval", "your own narval")
    assert (site.title, site.request.account_example) == ("Narval, as we use it", "def-ada")
    assert site.request.source == f"our lab; {plain.request.source}" and site.request.date == "2026-11-01"
    assert (gpus.time_limit, gpus.memory, gpus.gpus[0].cpus_each) == (Duration.parse("2d"), Size.parse("510000M"), 8)
    assert gpus.gpus[0].memory_each == Size.parse("124G")
    assert partition_names(site) == partition_names(plain)
    assert [place.name for place in site.storage.places] == [
        *(place.name for place in plain.storage.places),
        "lab",
    ]
    assert site.request.account is Policy.CONDITIONAL
    assert site.network == plain.network


def test_the_packages_profile_stays_what_it_is(own: Path) -> None:
    write(own, "narval", 'title = "mine"\n')
    assert load_profile("narval").title != "mine"


def test_an_empty_profile_changes_nothing(own: Path) -> None:
    write(own, "fir", "")
    site = load_profile("fir", own)
    assert site.lineage == ("any-alliance", "fir", "your own fir")
    assert site.partitions == load_profile("fir").partitions


def test_a_new_site_may_extend_a_cluster(own: Path) -> None:
    write(own, "lab", 'extends = "rorqual"\ntitle = "our corner"\n[queues]\ntrap = "x"\n')
    site = load_profile("lab", own)
    assert (site.name, site.title, site.lineage) == ("lab", "our corner", ("any-alliance", "rorqual", "your own lab"))
    assert site.access.login == ("rorqual.alliancecan.ca",)
    assert profile_names(own) == sorted([*profile_names(), "lab"])


def test_a_new_site_extends_ones_own_form_of_a_cluster(own: Path) -> None:
    write(own, "fir", '[request]\naccount_example = "def-ada"\n')
    write(own, "lab", 'extends = "fir"\n')
    site = load_profile("lab", own)
    assert site.request.account_example == "def-ada"
    assert site.lineage == ("any-alliance", "fir", "your own fir", "your own lab")


def test_ones_own_form_of_a_template_is_under_all_that_extend_it(own: Path) -> None:
    write(own, "any-alliance", '[request]\naccount_example = "def-ada"\n')
    assert load_profile("fir", own).request.account_example == "def-ada"
    write(own, "fir", 'title = "mine"\n')
    site = load_profile("fir", own)
    assert (site.title, site.request.account_example) == ("mine", "def-ada")
    assert site.lineage == ("any-alliance", "your own any-alliance", "fir", "your own fir")


def test_a_clusters_own_base_may_be_left_out(own: Path) -> None:
    write(own, "narval", 'extends = "any-alliance"\ntitle = "bare"\n')
    site = load_profile("narval", own)
    assert (site.lineage, site.partitions) == (("any-alliance", "your own narval"), ())


def test_templates_and_editors_files_are_no_sites(own: Path) -> None:
    write(own, "any-lab", 'title = "t"\n')
    write(own, "lab", 'extends = "any-lab"\n')
    write(own, ".#lab", "")
    (own / "notes.txt").write_text("x")
    assert set(profile_names(own)) - set(profile_names()) == {"lab"}
    assert own_names(own) == ["any-lab", "lab"]
    assert load_profile("lab", own).status is Status.PRODUCTION
    assert load_profile("any-lab", own).status is Status.TEMPLATE


def test_no_folder_of_ones_own_is_no_mistake(tmp_path: Path) -> None:
    assert profile_names(tmp_path / "none") == profile_names()
    assert load_profile("fir", tmp_path / "none") == load_profile("fir")


# ── taking away ──────────────────────────────────────────────────────────────────────────────────────────────────────


def test_false_takes_away_what_was_inherited(own: Path) -> None:
    write(
        own,
        "rorqual",
        "network = false\n[queues.partitions]\n'large disk nodes' = false\n"
        "[storage.places.scratch]\npurge_days = false\n"
        "[local_disk]\nsize = false\ncleaned = false\n[limits]\nsubmitted = false\n",
    )
    site = load_profile("rorqual", own)
    scratch = site.storage.place("scratch")
    assert site.network.source == "" and site.network.proxy_module is None
    assert partition_names(site) == ["cpu nodes", "large memory nodes", "gpu nodes"]
    assert scratch and (scratch.purge_days, scratch.path) == (None, "$SCRATCH")
    assert (site.local_disk.size, site.local_disk.medium) == (None, Medium.DISK)
    assert site.local_disk.cleaned is False, "where a key is true or false, false is what it says"
    assert site.limits.submitted is None and site.limits.sbatch_pause == Duration(1)


def test_a_list_takes_the_place_of_all_that_was_inherited(own: Path) -> None:
    write(own, "fir", '[software]\nmodules = []\n[[queues.partitions]]\nname = "only"\n')
    site = load_profile("fir", own)
    assert (partition_names(site), site.software.modules) == (["only"], ())


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("[queues.partitions]\nnone = false\n", "queues.partitions.none"),
        ("[access]\njump = false\n", "access.jump"),
        ("[network]\nproxy_module = false\n", "network.proxy_module"),
    ],
)
def test_false_takes_nothing_away_where_nothing_is(own: Path, text: str, key: str) -> None:
    write(own, "lab", 'extends = "fir"\n' + text)
    assert refusal("lab", own).facts == (f"{key}: `false` takes away what was inherited, and nothing was",)


# ── circles, and bases that are not there ────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("bases", "way"),
    [
        ({"a": "a"}, "your own a -> your own a"),
        ({"a": "b", "b": "a"}, "your own a -> your own b -> your own a"),
        ({"a": "b", "b": "c", "c": "b"}, "your own a -> your own b -> your own c -> your own b"),
        ({"a": "fir", "fir": "a"}, "your own a -> your own fir -> your own a"),
        ({"a": "fir", "any-alliance": "a"}, "your own a -> fir -> your own any-alliance -> your own a"),
    ],
)
def test_a_circle_of_profiles_is_told_with_its_whole_way(own: Path, bases: dict[str, str], way: str) -> None:
    for name, base in bases.items():
        write(own, name, f'title = "t"\nextends = "{base}"\n')
    error = refusal("a", own)
    assert error.what == "the profile of a extends itself"
    assert error.facts == (way,)


def test_ones_own_profile_that_extends_its_own_name_means_the_packages(own: Path) -> None:
    write(own, "fir", 'extends = "fir"\ntitle = "mine"\n')
    assert load_profile("fir", own).lineage == ("any-alliance", "fir", "your own fir")


def test_a_base_that_is_not_there(own: Path) -> None:
    write(own, "lab", 'extends = "naval"\n')
    error = refusal("lab", own)
    assert error.text() == (
        "error: there is no profile `naval`\n  wanted by the profile of lab\n\n"
        "hint: `voy site list` shows those there are"
    )


@pytest.mark.parametrize(
    "base", ["../fir", "/etc/passwd", "..", "a/b", "", ".", "fir.toml/..", "x\ty", "~/fir", "é", "-fir", "f" * 65]
)
def test_a_base_is_a_name_and_no_path(own: Path, tmp_path: Path, base: str) -> None:
    (tmp_path / "fir.toml").write_text('title = "beside the folder"\n')
    write(own, "lab", "extends = " + '"' + base.replace("\t", "\\t") + '"\n')
    error = refusal("lab", own)
    assert error.what == f"`{base}` is no name of a profile"
    assert error.facts == ("wanted by the profile of lab",)


@pytest.mark.parametrize("name", ["../sites/lab", "/etc/passwd", "..", "\0", ""])
def test_what_is_asked_for_is_a_name_and_no_path(own: Path, name: str) -> None:
    write(own, "lab", 'title = "t"\n')
    assert "is no name of a profile" in refusal(name, own).what


@pytest.mark.parametrize("base", ["4", "true", '["fir"]', "{ fir = 1 }"])
def test_a_base_that_is_no_text(own: Path, base: str) -> None:
    write(own, "lab", f"extends = {base}\n")
    error = refusal("lab", own)
    assert error.what == "the profile of lab is not right"
    assert error.facts[0] == "extends: the name of one profile is wanted"


# ── wrong keys and values ────────────────────────────────────────────────────────────────────────────────────────────


def test_a_wrong_key_is_told_with_its_file_and_the_key_that_was_meant(own: Path) -> None:
    write(own, "lab", 'extends = "fir"\n[access]\nlogn = ["oak"]\n')
    assert refusal("lab", own).text() == (
        f"error: the profile of lab is not right\n  access.logn: unknown key\n  in {own}/lab.toml\n\n"
        "hint: did you mean `login`?"
    )


def test_the_file_that_is_wrong_is_named_and_not_the_one_that_extends_it(own: Path) -> None:
    write(own, "any-lab", '[queues.partitions."gpu nodes".gpus.h100]\nper_nod = 4\n')
    write(own, "lab", 'extends = "any-lab"\ntitle = "t"\n')
    error = refusal("lab", own)
    assert error.what == "the profile of any-lab is not right"
    assert error.facts == ('queues.partitions."gpu nodes".gpus.h100.per_nod: unknown key', f"in {own}/any-lab.toml")
    assert error.hint == "did you mean `per_node`?"


@pytest.mark.parametrize(
    ("text", "key", "hint"),
    [
        ("titel = 'x'\n", "titel", "did you mean `title`?"),
        ("login = 'x'\n", "login", "`login` belongs in the table [access]"),
        ("name = 'x'\n", "name", PAGE),
        ("lineage = ['x']\n", "lineage", PAGE),
        ("zzz = 1\n", "zzz", PAGE),
        ("[partitions.main]\ncpus = 4\n", "partitions", "`partitions` belongs in the table [queues]"),
        ("[[queues.partitions]]\nname = 'p'\ncpu = 1\n", "queues.partitions[0].cpu", "did you mean `cpus`?"),
        ("[storage.places.s]\nfile = 1\n", "storage.places.s.file", "did you mean `files`?"),
    ],
)
def test_unknown_keys(own: Path, text: str, key: str, hint: str) -> None:
    write(own, "lab", text)
    error = refusal("lab", own)
    assert error.what == "the profile of lab is not right"
    assert error.facts == (f"{key}: unknown key", f"in {own}/lab.toml")
    assert error.hint == hint


@pytest.mark.parametrize(
    ("text", "key", "wanted", "given"),
    [
        ("access = 4\n", "access", "a table", "4"),
        ("[access]\nlogin = 'oak'\n", "access.login", "a list", '"oak"'),
        ("[access]\nlogin = ['a', 4]\n", "access.login[1]", "a text", "4"),
        ("[access]\nport = '22'\n", "access.port", "a whole number", '"22"'),
        ("[access]\nreuse = 1\n", "access.reuse", "true or false", "1"),
        ("[times]\ntiers = '3h'\n", "times.tiers", "a list", '"3h"'),
        ("[times]\ntiers = ['3h', 4]\n", "times.tiers[1]", "a text with its unit, like 24h or 124G,", "4"),
        ("[local_disk]\nsize = 7\n", "local_disk.size", "a text with its unit, like 24h or 124G,", "7"),
        ("[queues]\npartitions = 'main'\n", "queues.partitions", "a table for each name", '"main"'),
        ("[queues.partitions]\nmain = 4\n", "queues.partitions.main", "a table", "4"),
        ("[queues.partitions.p.gpus.g]\nweight = 'x'\n", "queues.partitions.p.gpus.g.weight", "a number", '"x"'),
        ("[network]\ninternet = 'yes'\n", "network.internet", "one of open, proxy, none, unknown", '"yes"'),
        ("status = true\n", "status", "one of production, retired, template", "true"),
        ("status = ['retired']\n", "status", "one of production, retired, template", '["retired"]'),
        ("[network]\nvariables = { A = 1 }\n", "network.variables", "a table of texts", '{"A":1}'),
        (f"title = ['{'x' * 99}']\n", "title", "a text", f'["{"x" * 58}...'),
    ],
)
def test_values_of_the_wrong_kind(own: Path, text: str, key: str, wanted: str, given: str) -> None:
    write(own, "lab", text)
    error = refusal("lab", own)
    assert error.what == "the profile of lab is not right"
    assert error.facts == (f"{key}: {wanted} is wanted, not `{given}`", f"in {own}/lab.toml")


def test_a_measure_that_cannot_be(own: Path) -> None:
    write(own, "lab", "[times]\nmaximum = '0h'\n")
    assert refusal("lab", own).facts[0] == "times.maximum: `0h`: a time must be longer than zero"


def test_what_is_missing_is_named(own: Path) -> None:
    write(own, "lab", "[storage.places.s]\nsize = '1G'\n")
    assert refusal("lab", own).facts == ("title: is missing",)
    write(own, "lab", "title = 't'\n[storage.places.s]\nsize = '1G'\n")
    assert refusal("lab", own).facts == ("storage.places.s.path: is missing",)


def test_an_overlay_need_not_say_again_what_its_base_says(own: Path) -> None:
    write(own, "fir", "[storage.places.scratch]\nfiles = 5\n")
    scratch = load_profile("fir", own).storage.place("scratch")
    assert scratch and (scratch.files, scratch.path) == (5, "$SCRATCH")


def test_a_text_that_is_no_toml_is_told_with_its_line(own: Path) -> None:
    write(own, "lab", "title = 't'\n[access\n")
    error = refusal("lab", own)
    assert "line 2" in error.facts[0] and error.facts[1] == f"in {own}/lab.toml"


def test_a_date_may_be_a_date() -> None:
    assert from_toml("x", "title = 't'\n[access]\ndate = 2026-11-01\n").access.date == "2026-11-01"


# ── files that cannot be read ────────────────────────────────────────────────────────────────────────────────────────


def test_a_file_that_is_not_utf8(own: Path) -> None:
    (own / "lab.toml").write_bytes("title = 'é'\n".encode("latin-1"))
    error = refusal("lab", own)
    assert error.what == "the profile of lab cannot be read"
    assert error.facts == (f"{own}/lab.toml: byte 10 is not UTF-8",)


def test_a_file_that_gives_no_bytes(own: Path) -> None:
    """Even root cannot read the start of a process's memory."""
    (own / "lab.toml").symlink_to("/proc/self/mem")
    error = refusal("lab", own)
    assert error.what == "the profile of lab cannot be read"
    assert error.facts == (f"{own}/lab.toml: Input/output error",)


@pytest.mark.parametrize("kind", ["folder", "pipe", "nowhere", "itself"])
def test_what_is_no_file_is_still_a_profile_that_cannot_be_read(own: Path, kind: str) -> None:
    file = own / "lab.toml"
    match kind:
        case "folder":
            file.mkdir()
        case "pipe":
            os.mkfifo(file)
        case "nowhere":
            file.symlink_to(own / "gone")
        case "itself":
            file.symlink_to(file)
    assert "lab" in profile_names(own)
    error = refusal("lab", own)
    assert error.what == "the profile of lab cannot be read"
    assert error.facts == (f"{file} is not a file",)


def test_a_folder_over_a_clusters_name_does_not_hide_behind_the_cluster(own: Path) -> None:
    (own / "fir.toml").mkdir()
    assert refusal("fir", own).facts == (f"{own}/fir.toml is not a file",)
