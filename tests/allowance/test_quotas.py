"""What the quota commands of clusters answer. Names of users and projects in the recorded answers are made up."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.site_commands import recorded
from voyageur.allowance import Quota
from voyageur.allowance.amounts import count_from, size_from
from voyageur.allowance.quotas import quotas_from
from voyageur.units import Size


def understood(name: str) -> tuple[Quota, ...]:
    found = quotas_from(recorded(name))
    assert found is not None
    return found


def rows(name: str) -> list[tuple[object, ...]]:
    return [
        (quota.place, quota.owner, str(quota.used), str(quota.limit), quota.files, quota.file_limit)
        for quota in understood(name)
    ]


def test_diskusage_report_as_it_is_now() -> None:
    """Tests of mila-iqia/cluv (tamIA, 2026); a Vector Institute introduction to Killarney (2025)."""
    assert rows("diskusage-report-tamia.txt") == [
        ("/home", "user ada", "20G", "25G", 208_000, 250_000),
        ("/scratch", "user ada", "148G", "500G", 418_000, 500_000),
    ]
    assert rows("diskusage-report-killarney.txt") == [
        ("/home", "user ada", "0B", "50G", 13, 500_000),
        ("/scratch", "user ada", "51G", "256G", 341_000, 10_000_000),
    ]


def test_diskusage_report_as_it_was() -> None:
    """Alliance documentation, Storage and file management; a recorded answer of Graham in a user's repository."""
    assert rows("diskusage-report-old.txt") == [
        ("home", "ada", "280.0K", "47G", 25, 500_000),
        ("scratch", "ada", "4.0K", "18T", 1, 1_000_000),
        ("project", "def-prof-ab", "4.0K", "9536G", 2, 500_000),
        ("project", "def-prof", "4.0K", "9536G", 2, 500_000),
    ]
    graham = rows("diskusage-report-graham.txt")
    assert graham[0] == ("home", "user ada", "17.0K", "53G", 21, 500_000)
    assert graham[3] == ("/project", "group def-prof", "361G", "1000G", 90_000, 500_000)
    assert [row[0] for row in graham] == ["home", "scratch", "/project", "/project", "/nearline"]


def test_lfs_quota_counts_in_kibibytes_unless_it_says_otherwise() -> None:
    """Documentation of the NIG supercomputer (Japan); a hard limit counts where no soft one is set."""
    (lustre,) = understood("lfs-quota-user.txt")
    assert (lustre.place, lustre.owner) == ("/lustre7", "user ada")
    assert (lustre.used, lustre.limit) == (Size(982_177_580 * 1024), Size(900_000_000 * 1024))
    assert (lustre.files, lustre.file_limit) == (443_208_230, None)
    assert lustre.full and lustre.full > 1


def test_a_long_path_stands_on_a_line_of_its_own() -> None:
    """lfs.c breaks the line behind a path of more than 15 letters."""
    (project,) = understood("lfs-quota-project.txt")
    assert (project.path, project.owner) == ("/lustre/a/path/that/is/too/long/for/its/column", "project 83115734")
    assert (str(project.limit), project.files, project.file_limit) == ("50T", 950_751, 1_000_000)
    assert round(project.worst, 2) == 0.95


def test_quota_of_linux_leaves_the_grace_out_where_there_is_none() -> None:
    """`quota -s` in a public job log; a path of another machine is none of ours."""
    assert rows("quota-linux.txt") == [
        ("/home", "user ada", "14340M", "16G", 160_000, None),
        ("nfs-a.cluster.example:/export/groups/lab", "user ada", "479G", "450G", 352_000, 5_000_000),
    ]
    assert understood("quota-linux.txt")[1].path == ""


def test_a_user_without_quotas_is_an_answer_too() -> None:
    assert quotas_from("Disk quotas for user oliver (uid 1000): none\n") == ()


def test_disk_quota_of_mila() -> None:
    """Tests of mila-iqia/cluv: a Lustre home and a BeeGFS scratch in one answer."""
    assert rows("disk-quota-mila.txt") == [
        ("home", "user ada", "100.0G", "100G", 921_718, 1_048_576),
        ("scratch", "ada", "76.6G", "5T", 687_792, None),
    ]


def test_taccinfo() -> None:
    """TACC documentation, Lonestar6."""
    assert rows("taccinfo.txt") == [
        ("/scratch", "ada", "6.6G", "None", 22_742, None),
        ("/home1", "ada", "2560M", "10G", 18_488, None),
        ("/work", "ada", "636.2G", "1T", 2_533_936, 3_000_000),
    ]


def test_quota_of_cscs_says_how_old_it_is() -> None:
    """CSCS documentation, File Systems; one of its rows has a column less than its head."""
    assert [row[0::2] for row in rows("quota-cscs.txt")] == [
        ("/iopsstor/scratch/cscs/ada", "32G", 7_746),
        ("/capstor/users/cscs/ada", "3.2G", 14_471),
        ("/capstor/store/cscs/director2/g33", "1.9T", 146_254),
        ("/capstor/store/cscs/cscs/csstaff", "263.9T", 18_216_778),
        ("/capstor/scratch/cscs/ada", "243G", 336_479),
        ("/vast/users/cscs/ada", "11.7G", 85_014),
    ]
    scratch, *_, staff, _, home = understood("quota-cscs.txt")
    assert (scratch.limit, scratch.file_limit) == (None, None)
    assert (str(staff.limit), staff.file_limit, staff.owner) == ("300T", 20_000_000, "")
    assert (str(home.limit), home.file_limit, home.owner) == ("50G", 500_000, "ada")
    assert home.as_of == "2025-05-21 11:10:02"


def test_lumi_quota() -> None:
    """What src/lumi-quota.sh of Lumi-supercomputer/lumi-tools prints."""
    assert rows("lumi-quota.txt") == [
        ("/users/ada", "", "13G", "22G", 57_000, 100_000),
        ("/projappl/project_465000001", "project_465000001", "3.3G", "54G", 97_000, 100_000),
        ("/scratch/project_465000001", "project_465000001", "8.1T", "55T", 1_200_000, 2_000_000),
        ("/pfs/lustref1/flash/project_465000001", "project_465000001", "4.1K", "2.2T", 1, 1_000_000),
    ]


def test_cinquota_and_cindata() -> None:
    """A collection of CINECA's documentation; the names of the comma-separated columns are those of anemoi."""
    assert rows("cinquota.txt") == [
        ("/g100/home/userexternal/ada00000", "", "22.6G", "50G", 194_295, None),
        ("/g100_scratch/userexternal/ada00000", "", "1.9T", "None", 41_139, None),
    ]
    assert rows("cindata.txt") == [
        ("/gpfs/work/...", "ada", "114G", "30T", None, None),
        ("/gpfs/scratch/", "ada", "149G", "420T", None, None),
    ]
    table = (
        "groupname,areadescr,areakbused,areakbmax,areainused,areainmax\nprj,/leonardo_work/prj,1048576,2097152,77,0\n"
    )
    found = quotas_from(table)
    assert found == (
        Quota(
            place="/leonardo_work/prj",
            path="/leonardo_work/prj",
            owner="prj",
            used=Size(1024**3),
            limit=Size(2 * 1024**3),
            files=77,
        ),
    )


def test_showquota_of_nersc() -> None:
    """Names of the fields: nersc tools that read `showquota -J` and `--json` on Perlmutter; bare numbers are bytes."""
    assert rows("showquota.json") == [
        ("home", "", "36.1G", "40G", 412_310, 1_000_000),
        ("pscratch", "", "2T", "20T", 120_000, 10_000_000),
    ]


def test_jutil() -> None:
    """Names of the fields: a reader of anemoi; numbers: a user's report of JUWELS, 2026-08-14."""
    scratch, project = understood("jutil-dataquota.json")
    assert (scratch.path, scratch.owner, scratch.files, scratch.file_limit) == (
        "/p/scratch/synthlaion",
        "synthlaion",
        3_925_347,
        4_000_000,
    )
    assert (str(scratch.limit), str(project.limit)) == ("90T", "16T")


def test_a_table_whose_head_has_names_of_two_words() -> None:
    """REPACSS documentation; Texas A&M prints the same."""
    assert rows("showquota-table.txt") == [
        ("/home/ada", "", "1.4G", "100G", 3_661, 10_000),
        ("/scratch/user/ada", "", "117.6G", "1T", 24_226, 250_000),
        ("/scratch/group/projectid", "", "522752M", "5T", 128_523, 500_000),
    ]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Traceback (most recent call last):\nTypeError: 'NoneType' object is not iterable\n",
        "lfs quota: '/home/ada' not on a mounted Lustre filesystem\n",
        "[]",
        "{}",
        '[{"space_used',
        "| a | b |\n",
        "Filesystem quota limit\n",
    ],
)
def test_what_is_no_answer_is_not_understood(text: str) -> None:
    assert quotas_from(text) is None


@given(st.text())
def test_no_answer_breaks_the_reader(text: str) -> None:
    assert all(quota.place for quota in quotas_from(text) or ())


RECORDS = ["diskusage-report-old.txt", "lfs-quota-project.txt", "quota-cscs.txt", "disk-quota-mila.txt", "cindata.txt"]


@given(st.sampled_from(RECORDS), st.integers(0, 4000), st.integers(0, 60), st.text(max_size=5))
def test_no_broken_answer_breaks_the_reader(name: str, start: int, length: int, instead: str) -> None:
    text = recorded(name)
    assert all(quota.place for quota in quotas_from(text[:start] + instead + text[start + length :]) or ())


@pytest.mark.parametrize(
    ("text", "size"),
    [("20GiB", "20G"), ("280 kB", "280.0K"), ("4096 B", "4.0K"), ("0  B", "0B"), ("9.2T*", "9.2T"), ("[3k]", "3.0K")],
)
def test_sizes(text: str, size: str) -> None:
    assert str(size_from(text)) == size


def test_amounts_that_are_none() -> None:
    assert [size_from("-"), size_from("unlimited"), count_from("inf")] == [None, None, None]
    assert [count_from("1000k"), count_from("1.2M"), count_from("12*")] == [1_000_000, 1_200_000, 12]
