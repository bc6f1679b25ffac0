"""Which cluster is this?"""

import os
from pathlib import Path

import pytest

from voyageur.site import profile_names
from voyageur.site.detect import Signs, cluster_in, detect, domain_in, likeness
from voyageur.site.facts import Fingerprint

OAK = Fingerprint(
    cluster=("oak",), hosts=("oak-login?",), domains=("*.oak.example.org",), variables={"CC_CLUSTER": "oak"}
)


@pytest.mark.parametrize(
    ("signs", "like"),
    [
        (Signs(cluster="oak"), 3),
        (Signs(cluster="oak", host="elsewhere"), 3),
        (Signs(variables={"CC_CLUSTER": "oak"}), 2),
        (Signs(domain="int.oak.example.org"), 1),
        (Signs(host="oak-login3"), 1),
        (Signs(), 0),
        (Signs(host="oak-login33"), 0),
        (Signs(domain="oak.example.org.evil.net"), 0),
        (Signs(variables={"CC_CLUSTER": "elm"}), 0),
        (Signs(cluster="elm", host="oak-login3", variables={"CC_CLUSTER": "oak"}), 0),
    ],
)
def test_one_sign_is_enough_and_another_cluster_name_speaks_against_all(signs: Signs, like: int) -> None:
    assert likeness(OAK, signs) == like


def test_nothing_is_like_a_profile_that_says_nothing() -> None:
    assert likeness(Fingerprint(), Signs(cluster="oak", host="h", domain="d", variables={"A": "B"})) == 0


def test_narval_is_found_by_what_its_shells_have() -> None:
    assert detect(Signs(variables={"CC_CLUSTER": "narval"})) == "narval"
    assert detect(Signs(host="narval1", domain="narval.calcul.quebec")) == "narval"
    assert detect(Signs(host="mylaptop")) is None


def test_a_users_own_profile_is_asked_first(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text('title = "mine"\n[fingerprint]\nvariables = { CC_CLUSTER = "narval" }\n')
    assert detect(Signs(variables={"CC_CLUSTER": "narval"}), tmp_path) == "mine"


def test_two_that_fit_equally_well_are_as_good_as_none(tmp_path: Path) -> None:
    for name in ("ash", "elm"):
        (tmp_path / f"{name}.toml").write_text('title = "t"\n[fingerprint]\nhosts = ["login*"]\n')
    assert detect(Signs(host="login1"), tmp_path) is None
    (tmp_path / "elm.toml").write_text('title = "t"\n[fingerprint]\nhosts = ["login*"]\ncluster = ["elm"]\n')
    assert detect(Signs(host="login1", cluster="elm"), tmp_path) == "elm"


def test_a_profile_that_cannot_be_read_does_not_hide_the_others(tmp_path: Path) -> None:
    (tmp_path / "broken.toml").write_text("[fingerprint]\nhosts = [\n")
    (tmp_path / "latin.toml").write_bytes(b"\xff\xfe[fingerprint]")
    (tmp_path / "folder.toml").mkdir()
    (tmp_path / "oak.toml").write_text('title = "oak"\n[fingerprint]\nhosts = ["login1"]\n[access]\nlogin = ["oak"]\n')
    assert detect(Signs(host="login1"), tmp_path) == "oak"


def test_the_name_of_a_cluster_is_read_from_its_configuration() -> None:
    assert cluster_in("# ClusterName=not\nSlurmctldHost=x\n ClusterName = oak # here\n") == "oak"
    assert cluster_in("clustername=oak\n") == "oak"
    assert cluster_in("") == ""


@pytest.mark.parametrize(
    ("resolv", "hosts", "host", "domain"),
    [
        ("search int.oak.example.org oak.example.org\n", "", "login1", "int.oak.example.org"),
        ("nameserver 10.0.0.1\ndomain oak.example.org\n", "", "login1", "oak.example.org"),
        ("search elsewhere.net\n", "10.0.0.5 login1.oak.example.org login1\n", "login1", "oak.example.org"),
        ("search elsewhere.net\n", "", "login1.oak.example.org", "oak.example.org"),
        ("", "", "login1", ""),
        ("", "127.0.0.1 localhost\n", "", ""),
    ],
)
def test_the_domain_is_found_without_a_name_server(resolv: str, hosts: str, host: str, domain: str) -> None:
    assert domain_in(resolv, hosts, host) == domain


def test_what_is_no_file_among_the_users_own_profiles_keeps_nobody_waiting(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.toml")
    (tmp_path / "folder.toml").mkdir()
    (tmp_path / "dangling.toml").symlink_to("nowhere")
    assert detect(Signs(variables={"CC_CLUSTER": "narval"}), tmp_path) == "narval"


def test_own_profiles_that_may_not_be_looked_into_are_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "oak.toml").write_text("title = 'Oak'\n[fingerprint]\nvariables = { CC_CLUSTER = 'narval' }\n")
    assert detect(Signs(variables={"CC_CLUSTER": "narval"}), tmp_path) == "oak"
    monkeypatch.setattr(os, "access", lambda path, mode: path != tmp_path)  # root may look into everything
    assert detect(Signs(variables={"CC_CLUSTER": "narval"}), tmp_path) == "narval"
    assert "oak" not in profile_names(tmp_path)
