"""An index that wants a name and a password: they are found where pip finds them, and are written down nowhere."""

from __future__ import annotations

import base64
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.env.wheels import make_wheel
from tests.workshop.bench import WorkBench
from voyageur.env.lock import lock_text
from voyageur.env.tools import Places, pip_resolve_argv, uv_resolve_argv
from voyageur.errors import RunError

_RIGHT = "Basic " + base64.b64encode(b"ada:s3cret").decode("ascii")


class Guarded(SimpleHTTPRequestHandler):
    def do_GET(self) -> None:  # as http.server calls it
        if self.headers.get("Authorization") == _RIGHT:
            super().do_GET()
            return
        self.send_response(401)
        self.send_header("WWW-Authenticate", "Basic")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        return


@pytest.fixture
def port(tmp_path: Path) -> Iterator[int]:
    folder = tmp_path / "served" / "simple" / "alpha"
    wheel = make_wheel(folder, "alpha")
    (folder / "index.html").write_text(f'<a href="{wheel.name}">{wheel.name}</a>\n')
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Guarded, directory=str(tmp_path / "served")))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server.server_address[1]
    server.shutdown()


def test_a_variable_in_the_requirements_is_filled(bench: WorkBench, port: int) -> None:
    bench.environment["INDEX_TOKEN"] = "s3cret"  # of a server that lives for a second
    bench.write("requirements.txt", f"--index-url http://ada:${{INDEX_TOKEN}}@127.0.0.1:{port}/simple", "alpha")
    locked = bench.lock()
    assert "s3cret" not in lock_text(locked.lock) and "ada" not in lock_text(locked.lock)
    assert bench.make(locked).packages == ("alpha==1.0",)
    assert not [path for path in bench.folder.iterdir() if b"s3cret" in path.read_bytes()]


def test_a_netrc_has_them_too(quick: WorkBench, port: int) -> None:
    netrc = Path(quick.environment["HOME"]) / ".netrc"
    netrc.write_text("machine 127.0.0.1 login ada password s3cret\n")
    netrc.chmod(0o600)
    quick.write("requirements.txt", f"--index-url http://127.0.0.1:{port}/simple", "alpha")
    locked = quick.lock()
    assert quick.make(locked).packages == ("alpha==1.0",)


def test_without_them_the_wheel_is_named_and_what_to_do(quick: WorkBench, port: int) -> None:
    quick.environment["INDEX_TOKEN"] = "s3cret"
    quick.write("requirements.txt", f"--index-url http://ada:${{INDEX_TOKEN}}@127.0.0.1:{port}/simple", "alpha")
    locked = quick.lock()
    quick.environment["INDEX_TOKEN"] = "wrong"
    with pytest.raises(RunError) as error:
        quick.make(locked)
    assert error.value.what == "alpha-1.0-py3-none-any.whl is given only to those who have a key"
    assert "wrong" not in error.value.text()
    assert quick.left() == []


def test_passwords_stand_on_no_command_line() -> None:
    places = Places(index="https://ada:s3cret@example.org/simple", more=("https://bo:s3cret@example.org/more",))
    words = [
        *uv_resolve_argv("uv", "python", "wanted", "constraints", places, "cache"),
        *pip_resolve_argv(["pip"], "wanted", "constraints", "report", places, "cache"),
    ]
    assert not [word for word in words if "s3cret" in word]
