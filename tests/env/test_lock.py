import pytest
from hypothesis import given
from hypothesis import strategies as some

from voyageur.env.lock import Lock, LockError, Package, Source, key_of, lock_from, lock_text
from voyageur.env.wheel import Target

DIGEST = "ab" * 32
LOCK = Lock(
    target=Target(python="3.11", machine="x86_64", libc="glibc 2.37"),
    packages=(
        Package(
            name="numpy",
            version="1.26.4+computecanada",
            sha256=DIGEST,
            origin="/cvmfs/wheels/numpy-1.26.4+computecanada-cp311-cp311-linux_x86_64.whl",
        ),
        Package(name="six", version="1.17.0", sha256="cd" * 32, origin="wheels/six-1.17.0-py2.py3-none-any.whl"),
    ),
    sources=(Source(name="requirements.txt", sha256=DIGEST), Source(name="more of it.txt", sha256=DIGEST)),
    wanted=("numpy",),
    modules=("StdEnv/2023", "python/3.11"),
    site="narval",
    by="uv 0.13.8",
)


def test_a_lock_comes_back_as_it_was() -> None:
    assert lock_from(lock_text(LOCK)) == LOCK


def test_pip_reads_the_text() -> None:
    from pip._internal.req.req_file import preprocess

    lines = [" ".join(line.split()) for _, line in preprocess(lock_text(LOCK))]
    assert lines == [
        f"numpy==1.26.4+computecanada --hash=sha256:{DIGEST}",
        f"six==1.17.0 --hash=sha256:{'cd' * 32}",
    ]


@pytest.mark.parametrize(
    ("was", "now"),
    [
        ("# voyageur lock: 1", "# voyageur lock: 9"),
        ("# python: 3.11", "# python: three"),
        ("platform: linux", "platform: windows"),
        (f"--hash=sha256:{DIGEST}", "--hash=sha256:abc"),
        (f"    --hash=sha256:{DIGEST}\n", ""),
        ("six==1.17.0", "six>=1.17.0"),
        ("    # wheels/six", "    wheels/six"),
        ("any.whl", "any.tar.gz"),
        (f"requirements.txt sha256:{DIGEST}", "requirements.txt"),
    ],
)
def test_what_is_no_lock_is_said(was: str, now: str) -> None:
    text = lock_text(LOCK)
    assert was in text
    with pytest.raises(LockError):
        lock_from(text.replace(was, now))


@given(some.text())
def test_any_text_is_a_lock_or_an_error(text: str) -> None:
    with pytest.raises(LockError):
        lock_from(text)


def test_the_key_is_that_of_what_goes_in() -> None:
    from msgspec.structs import replace

    moved = replace(LOCK, packages=tuple(replace(one, origin=f"/x/{one.file}") for one in reversed(LOCK.packages)))
    assert key_of(moved) == key_of(LOCK)
    other = {
        key_of(LOCK),
        key_of(LOCK, "tar"),
        key_of(replace(LOCK, modules=("StdEnv/2023",))),
        key_of(replace(LOCK, target=replace(LOCK.target, python="3.12"))),
        key_of(replace(LOCK, packages=LOCK.packages[:1])),
        key_of(replace(LOCK, packages=(replace(LOCK.packages[0], sha256="00" * 32), LOCK.packages[1]))),
    }
    assert len(other) == 6
