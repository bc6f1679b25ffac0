"""What travels, and that the same code is always the same file."""

import hashlib
import os
import subprocess
import sys
import tarfile
from collections.abc import Callable
from pathlib import Path, PurePosixPath

import pytest

from voyageur.errors import SpecError
from voyageur.snapshot import Package, gather, store
from voyageur.spec import Snapshot
from voyageur.units import Size

pytest_plugins = ["tests.golden"]
Golden = Callable[[str, str], None]
MEBIBYTE = 1024**2
SCRATCH = PurePosixPath("/scratch")


def git(folder: Path, *words: str) -> None:
    quiet = {**os.environ, "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1"}
    as_somebody = ["-c", "user.email=ana@example.org", "-c", "user.name=Ana", "-c", "protocol.file.allow=always"]
    subprocess.run(["git", *as_somebody, *words], cwd=folder, env=quiet, check=True, capture_output=True)


def write(folder: Path, *names: str, content: str | bytes = "x\n") -> None:
    for name in names:
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content if isinstance(content, bytes) else content.encode())


@pytest.fixture
def plain(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    return folder


@pytest.fixture
def repository(plain: Path) -> Path:
    git(plain, "init", "-q")
    write(plain, "train.py", "lib/model.py", ".gitignore")
    git(plain, "add", ".")
    git(plain, "commit", "-qm", "first")
    return plain


def files(folder: Path, wish: Snapshot | None = None) -> set[str]:
    return set(gather(folder, wish or Snapshot()).selection.files)


def left_out(folder: Path, wish: Snapshot | None = None) -> dict[str, str]:
    return {item.name: item.because for item in gather(folder, wish or Snapshot()).selection.left_out}


def unpacked(package: Package, folder: Path) -> Path:
    store(package, folder / "code")
    target = folder / "unpacked"
    with tarfile.open(Path(package.frozen(PurePosixPath(folder / "code")).archive)) as tar:
        tar.extractall(target, filter="fully_trusted")
    return target


# ── which files ──────────────────────────────────────────────────────────────────────────────────────────────────────


def test_tracked_changed_and_new_files_travel_ignored_and_deleted_ones_do_not(repository: Path, tmp_path: Path) -> None:
    write(repository, ".gitignore", content="out/\n*.log\n")
    write(repository, "train.py", content="changed, not committed\n")
    write(repository, "new.py", "staged.py", "out/result.txt", "noise.log")
    git(repository, "add", "staged.py")
    (repository / "lib" / "model.py").unlink()
    package = gather(repository, Snapshot())
    assert set(package.selection.files) == {".gitignore", "train.py", "new.py", "staged.py"}
    assert (unpacked(package, tmp_path) / "train.py").read_text() == "changed, not committed\n"


def test_a_project_below_the_top_of_its_repository(repository: Path) -> None:
    write(repository, "part/train.py", "part/deep/a.py")
    assert files(repository / "part") == {"train.py", "deep/a.py"}


def test_without_git_all_files_travel_but_caches_and_environments(plain: Path) -> None:
    write(plain, "train.py", "__pycache__/train.pyc", ".venv/bin/python", "wandb/log", "a/b/c.txt", "x.egg-info/PKG")
    assert files(plain) == {"train.py", "a/b/c.txt"}


def test_caches_and_environments_stay_also_when_git_was_not_told_to_ignore_them(repository: Path) -> None:
    write(repository, "venv/lib/torch.py", "__pycache__/train.cpython-311.pyc", "node_modules/x.js")
    assert files(repository) == {".gitignore", "train.py", "lib/model.py"}


def test_files_of_a_submodule_travel(repository: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    git(other, "init", "-q")
    write(other, "shared.py")
    git(other, "add", ".")
    git(other, "commit", "-qm", "first")
    git(repository, "submodule", "add", "-q", str(other), "shared")
    assert "shared/shared.py" in files(repository)
    assert not [name for name in files(repository) if name.startswith("shared/.git")]


def test_a_submodule_that_was_never_fetched_is_empty_and_no_more(repository: Path, tmp_path: Path) -> None:
    test_files_of_a_submodule_travel(repository, tmp_path)
    git(repository, "commit", "-qm", "with a submodule")
    git(tmp_path, "clone", "-q", str(repository), "clone")
    assert (tmp_path / "clone" / "shared").is_dir()
    assert "train.py" in files(tmp_path / "clone")


def test_files_of_a_repository_inside_the_repository_travel(repository: Path) -> None:
    inner = repository / "inner"
    inner.mkdir()
    git(inner, "init", "-q")
    write(inner, "a.py", ".gitignore", "b.log", content="*.log\n")
    git(inner, "add", "a.py")
    git(inner, "commit", "-qm", "first")
    assert {"inner/a.py", "inner/.gitignore"} <= files(repository)
    assert "inner/b.log" not in files(repository)


@pytest.mark.parametrize(
    "name",
    [
        ".env",
        ".env.local",
        "deploy.pem",
        "server.key",
        "id_rsa",
        "id_ed25519_work",
        ".netrc",
        ".pypirc",
        "a/.ssh/config",
        "gcp-credentials.json",
        "secrets.toml",
        "hf_token.txt",
        ".aws/credentials",
        ".git-credentials",
        "SECRETS.YAML",
        "prod.env",
        ".envrc",
        ".env-local",
        "api_key.txt",
        "wandb_api_key.txt",
        "password.txt",
        "mytoken.txt",
        "token",
        ".huggingface_token",
        "kaggle.json",
        "client_secret.json",
        "service-account.json",
        "credentials",
        ".npmrc",
        ".docker/config.json",
        ".htpasswd",
        "key.ppk",
        ".Renviron",
        "db_password.yaml",
    ],
)
def test_what_is_named_like_a_secret_stays(repository: Path, name: str) -> None:
    write(repository, name)
    assert left_out(repository) == {name: "looks like a secret"}


@pytest.mark.parametrize(
    "name",
    [
        ".env.example",
        "id_rsa.pub",
        "secrets.py",
        "tokenizer.json",
        "keyboard.py",
        "tokens.py",
        "token_utils.py",
        "password_strength.py",
        "keys.py",
        "get_api_key.py",
        "credentials.py",
        "added_tokens.json",
        "special_tokens_map.json",
        "environment.yml",
        "tokens.txt",
        "secretary.txt",
        ".docker/Dockerfile",
        "docs/passwords.md",
    ],
)
def test_what_only_resembles_a_secret_travels(repository: Path, name: str) -> None:
    write(repository, name)
    assert name in files(repository)


@pytest.mark.parametrize("kind", ["OPENSSH", "RSA", "EC", "ENCRYPTED"])
def test_a_private_key_stays_whatever_its_name(repository: Path, kind: str) -> None:
    write(repository, "notes.txt", content=f"-----BEGIN {kind} PRIVATE KEY-----\nAAAA\n")
    assert left_out(repository) == {"notes.txt": "holds a private key"}


def test_a_private_key_after_a_blank_line_stays_too(repository: Path) -> None:
    write(repository, "notes.txt", content="\n-----BEGIN OPENSSH PRIVATE KEY-----\nAAAA\n")
    assert left_out(repository) == {"notes.txt": "holds a private key"}


def test_large_data_stays_small_data_and_tracked_data_travel(repository: Path) -> None:
    write(repository, "small.npy")
    write(repository, "large.npy", "LARGE.H5", content=b"0" * MEBIBYTE)
    write(repository, "tracked.npz", content=b"0" * MEBIBYTE)
    git(repository, "add", "tracked.npz")
    assert {"small.npy", "tracked.npz"} <= files(repository)
    assert left_out(repository) == dict.fromkeys(["LARGE.H5", "large.npy"], "data: stays where it is")


@pytest.mark.parametrize("pattern", ["notes", "notes/", "*.md", "notes/a.md"])
def test_the_project_may_exclude_files(repository: Path, pattern: str) -> None:
    write(repository, "notes/a.md")
    assert left_out(repository, Snapshot(exclude=(pattern,))) == {"notes/a.md": "excluded by the project"}


@pytest.mark.parametrize("pattern", ["certs", "certs/", "*.pem", "certs/test.pem"])
def test_the_project_may_insist_on_files(repository: Path, pattern: str) -> None:
    write(repository, "certs/test.pem", content="-----BEGIN PRIVATE KEY-----\nfor tests only\n")
    assert "certs/test.pem" in files(repository, Snapshot(include=(pattern,)))


def test_the_project_may_insist_on_a_file_that_git_ignores(repository: Path) -> None:
    write(repository, ".gitignore", content="local.yaml\n")
    write(repository, "local.yaml")
    assert "local.yaml" in files(repository, Snapshot(include=("local.yaml",)))


# ── names, links, modes ──────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("has_git", [True, False])
def test_unusual_file_names_travel(plain: Path, tmp_path: Path, has_git: bool) -> None:
    names = [b"two\nlines.py", b"not-utf8-\xff\xfe.py", "é🙂.py".encode(), b'a "b" $(touch x).py', b"-rf", b"x" * 200]
    for name in names:
        with open(os.path.join(os.fsencode(plain), name), "wb") as file:
            file.write(name)
    if has_git:
        git(plain, "init", "-q")
    found = unpacked(gather(plain, Snapshot()), tmp_path)
    assert {name: Path(os.fsdecode(os.path.join(os.fsencode(found), name))).read_bytes() for name in names} == {
        name: name for name in names
    }


def test_links_stay_links(plain: Path, tmp_path: Path) -> None:
    write(plain, "lib/model.py", content="inside\n")
    write(tmp_path, "outside/data.txt", content="outside\n")
    (plain / "link.py").symlink_to("lib/model.py")
    (plain / "folder").symlink_to("lib")
    (plain / "up.txt").symlink_to("../outside/data.txt")
    (plain / "far.txt").symlink_to(tmp_path / "outside" / "data.txt")
    (plain / "broken").symlink_to("nowhere")
    found = unpacked(gather(plain, Snapshot()), tmp_path)
    assert (found / "link.py").readlink() == Path("lib/model.py")
    assert (found / "folder").readlink() == Path("lib")
    assert (found / "up.txt").read_text() == "outside\n"
    assert (found / "far.txt").read_text() == "outside\n"
    assert (found / "broken").readlink() == Path("nowhere")


def test_a_link_into_the_project_by_its_whole_path_leads_into_the_frozen_code(plain: Path, tmp_path: Path) -> None:
    write(plain, "model.py", content="frozen\n")
    (plain / "current.py").symlink_to(plain / "model.py")
    found = unpacked(gather(plain, Snapshot()), tmp_path)
    write(plain, "model.py", content="edited later\n")
    assert (found / "current.py").read_text() == "frozen\n"


def test_the_executable_bit_is_kept(plain: Path, tmp_path: Path) -> None:
    write(plain, "run.sh", "data.txt")
    (plain / "run.sh").chmod(0o755)
    found = unpacked(gather(plain, Snapshot()), tmp_path)
    assert os.access(found / "run.sh", os.X_OK)
    assert (found / "data.txt").stat().st_mode & 0o111 == 0


# ── one file, named by its content ───────────────────────────────────────────────────────────────────────────────────


def test_the_same_code_is_stored_once(plain: Path, tmp_path: Path) -> None:
    write(plain, "a.py", "b/c.py")
    code = tmp_path / "code"
    assert store(gather(plain, Snapshot()), code) is True
    (plain / "a.py").touch()
    os.utime(plain / "b" / "c.py", (1, 1))
    (before,) = code.iterdir()
    inode = before.stat().st_ino
    assert store(gather(plain, Snapshot()), code) is False
    (after,) = code.iterdir()
    assert (after, after.stat().st_ino) == (before, inode)


@pytest.mark.parametrize("change", ["content", "name", "mode", "link", "more"])
def test_other_code_is_another_file(plain: Path, tmp_path: Path, change: str) -> None:
    write(plain, "a.py")
    first = gather(plain, Snapshot())
    if change == "content":
        write(plain, "a.py", content="y\n")
    elif change == "name":
        (plain / "a.py").rename(plain / "b.py")
    elif change == "mode":
        (plain / "a.py").chmod(0o755)
    elif change == "link":
        (plain / "l").symlink_to("a.py")
    else:
        write(plain, "b.py")
    second = gather(plain, Snapshot())
    assert first.digest != second.digest
    assert first.frozen(SCRATCH).archive != second.frozen(SCRATCH).archive


def test_the_stored_file_is_private_and_is_what_its_checksum_says(plain: Path, tmp_path: Path) -> None:
    write(plain, "a.py")
    package = gather(plain, Snapshot())
    store(package, tmp_path / "code")
    (file,) = (tmp_path / "code").iterdir()
    assert hashlib.sha256(file.read_bytes()).hexdigest() == package.digest
    assert file.stat().st_mode & 0o077 == 0


def test_a_store_that_fails_leaves_nothing(plain: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    write(plain, "a.py")
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        store(gather(plain, Snapshot()), tmp_path / "code")
    assert list((tmp_path / "code").iterdir()) == []


# ── what is refused ──────────────────────────────────────────────────────────────────────────────────────────────────


def test_code_that_is_too_large(plain: Path, golden: Golden) -> None:
    write(plain, "large.txt", content=b"0" * (3 * MEBIBYTE))
    write(plain, "medium.txt", content=b"0" * MEBIBYTE)
    write(plain, "small.txt")
    with pytest.raises(SpecError) as caught:
        gather(plain, Snapshot(limit=Size(2 * MEBIBYTE)))
    golden("too-large.txt", caught.value.text() + "\n")


@pytest.mark.parametrize("has_git", [True, False])
def test_a_project_without_files(plain: Path, golden: Golden, has_git: bool) -> None:
    if has_git:
        git(plain, "init", "-q")
    with pytest.raises(SpecError) as caught:
        gather(plain, Snapshot())
    name = "no-files-in-git.txt" if has_git else "no-files.txt"
    golden(name, caught.value.text().replace(str(plain), "…") + "\n")


def test_a_file_that_became_a_pipe_does_not_hang_the_submit(repository: Path) -> None:
    (repository / "train.py").unlink()
    os.mkfifo(repository / "train.py")
    script = "import sys; from pathlib import Path; from voyageur.snapshot import gather; from voyageur.spec import *\n"
    script += "print(gather(Path(sys.argv[1]), Snapshot()).selection.files)"
    argv = [sys.executable, "-c", script, str(repository)]
    answer = subprocess.run(argv, timeout=20, check=True, capture_output=True, text=True)
    assert "train.py" not in answer.stdout


# ── what git or the file system does not give ────────────────────────────────────────────────────────────────────────


def test_git_that_fails_is_quoted(repository: Path) -> None:
    write(repository, ".gitignore", content="big.txt\n")
    write(repository, "big.txt")
    (repository / ".git" / "HEAD").write_text("nonsense\n")
    found = gather(repository, Snapshot()).selection
    assert "big.txt" in found.files
    (note,) = found.notes
    assert note.startswith("git cannot be asked, so files that it ignores travel, too: fatal: not a git repository")


def test_git_that_is_not_installed_is_mentioned_where_it_is_missed(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    (note,) = gather(repository, Snapshot()).selection.notes
    assert note.endswith("git cannot be started: No such file or directory")
    write(tmp_path, "other/train.py")
    assert gather(tmp_path / "other", Snapshot()).selection.notes == ()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be somebody else")
def test_a_folder_that_cannot_be_read_is_left_out_and_named(plain: Path) -> None:
    write(plain, "train.py", "private/a.py")
    plain.parent.chmod(0o755)
    (plain / "private").chmod(0)
    script = "import sys; from pathlib import Path; from voyageur.snapshot import gather; from voyageur.spec import *\n"
    script += "s = gather(Path(sys.argv[1]), Snapshot()).selection; print(s.files, s.left_out, s.notes)"
    as_nobody = ["setpriv", "--bounding-set", "-all", "--inh-caps", "-all", sys.executable, "-c", script, str(plain)]
    answer = subprocess.run(as_nobody, capture_output=True, text=True, check=False)
    assert answer.returncode == 0, answer.stderr
    assert "('train.py',)" in answer.stdout
    assert "LeftOut(name='private/', because='cannot be read: Permission denied')" in answer.stdout
    assert "private/ is left out: it cannot be read (Permission denied)" in answer.stdout


@pytest.mark.parametrize("damage", [b"", b"0", None])
def test_a_stored_file_that_is_damaged_is_replaced(plain: Path, tmp_path: Path, damage: bytes | None) -> None:
    write(plain, "a.py")
    package = gather(plain, Snapshot())
    store(package, tmp_path / "code")
    (file,) = (tmp_path / "code").iterdir()
    whole = file.read_bytes()
    file.write_bytes(whole[:-1] + b"x" if damage is None else damage)
    assert store(package, tmp_path / "code") is True
    assert file.read_bytes() == whole
    assert store(package, tmp_path / "code") is False


def test_odd_names_survive_the_archive(tmp_path: Path) -> None:
    """Headers are the library's, blocks are ours: another tar must read them, and names that need several blocks."""
    project, away = tmp_path / "project", tmp_path / "away"
    (project / ("d" * 90)).mkdir(parents=True)
    (project / ("d" * 90) / ("e" * 150 + ".py")).write_text("long")
    Path(os.fsdecode(os.fsencode(project) + b"/caf\xe9.txt")).write_text("latin")
    (project / "né\nw.txt").write_text("two lines")
    (project / "empty").touch()
    (project / "whole-block").write_bytes(b"x" * 512)
    (project / "link").symlink_to("f" * 120)
    package = gather(project, Snapshot())
    store(package, tmp_path / "code")
    away.mkdir()
    archive = next((tmp_path / "code").glob("*.tar"))
    subprocess.run(["tar", "--extract", "--file", str(archive), "--directory", str(away)], check=True)
    subprocess.run(["diff", "--recursive", "--no-dereference", str(project), str(away)], check=True)
