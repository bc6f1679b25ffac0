import platform
import sys

import pytest
from packaging.tags import sys_tags

from voyageur.env.wheel import Target, wheel_from, why_not

HERE = Target(
    python=f"{sys.version_info[0]}.{sys.version_info[1]}",
    machine=platform.machine(),
    libc=" ".join(platform.libc_ver()),
)
CLUSTER = Target(python="3.11", machine="x86_64", libc="glibc 2.28")


def test_the_tags_are_those_of_packaging() -> None:
    assert {str(tag) for tag in sys_tags()} == set(HERE.tags)


def test_the_better_tag_comes_first() -> None:
    theirs = [str(tag) for tag in sys_tags()]
    shared = [tag for tag in HERE.tags if tag in theirs]
    for kind in ("cp311-cp311-manylinux", "cp311-abi3-manylinux", "py3-none-any"):
        mine = [tag for tag in shared if tag.startswith(kind)]
        assert mine == [tag for tag in theirs if tag.startswith(kind)]


@pytest.mark.parametrize(
    ("file", "reason"),
    [
        ("numpy-2.0-cp311-cp311-manylinux_2_28_x86_64.manylinux_2_17_x86_64.whl", ""),
        ("pure-1.0-py3-none-any.whl", ""),
        ("pure-1.0-py2.py3-none-any.whl", ""),
        ("stable-1.0-cp38-abi3-manylinux2014_x86_64.whl", ""),
        ("numpy-1.26.4+computecanada-cp311-cp311-linux_x86_64.whl", ""),
        ("new-1.0-cp311-cp311-manylinux_2_34_x86_64.whl", "it is for manylinux_2_34_x86_64"),
        ("arm-1.0-cp311-cp311-manylinux_2_17_aarch64.whl", "it is for manylinux_2_17_aarch64"),
        ("mac-1.0-cp311-cp311-macosx_11_0_arm64.whl", "it is for macosx_11_0_arm64"),
        ("old-1.0-cp39-cp39-manylinux_2_17_x86_64.whl", "it is for the Python of cp39-cp39, and this is Python 3.11"),
        ("two-1.0-py2-none-any.whl", "it is for the Python of py2-none, and this is Python 3.11"),
    ],
)  # fmt: skip
def test_why_a_wheel_does_not_work_is_said(file: str, reason: str) -> None:
    wheel = wheel_from(file)
    assert wheel
    machine = ", and this is linux x86_64 glibc 2.28" if reason.startswith("it is for m") else ""
    assert why_not(wheel, CLUSTER) == reason + machine


@pytest.mark.parametrize("file", ["", "x.whl", "numpy-2.0.tar.gz", "a-b-c.whl", "numpy-2.0-cp311.whl"])
def test_what_is_no_wheel_is_none(file: str) -> None:
    assert wheel_from(file) is None
