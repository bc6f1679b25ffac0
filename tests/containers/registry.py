"""A registry with one image, as the OCI distribution specification wants it, on this machine."""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import io
import json
import os
import tarfile
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

_MANIFEST = "application/vnd.oci.image.manifest.v1+json"
_ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}


def _digest(content: bytes) -> str:
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


def _part(content: bytes, kind: str) -> dict[str, object]:
    return {"mediaType": f"application/vnd.oci.image.{kind}", "size": len(content), "digest": _digest(content)}


def _image(root: Path) -> tuple[bytes, dict[str, bytes]]:
    """The manifest, and every blob by its digest."""
    plain = io.BytesIO()
    with tarfile.open(fileobj=plain, mode="w") as tar:
        tar.add(root, arcname=".")
    layer = gzip.compress(plain.getvalue(), 1)
    config = json.dumps(
        {
            "architecture": _ARCHITECTURES[os.uname().machine],
            "os": "linux",
            "config": {"Env": ["PATH=/usr/bin:/bin", "PYTHONPATH=/images/own"]},
            "rootfs": {"type": "layers", "diff_ids": [_digest(plain.getvalue())]},
        }
    ).encode()
    parts = {"config": _part(config, "config.v1+json"), "layers": [_part(layer, "layer.v1.tar+gzip")]}
    manifest = json.dumps({"schemaVersion": 2, "mediaType": _MANIFEST, **parts}).encode()
    return manifest, {_digest(content): content for content in (config, layer, manifest)}


@contextlib.contextmanager
def registry(root: Path) -> Iterator[tuple[str, list[str]]]:
    """Its address, and the paths that were asked for."""
    manifest, blobs = _image(root)
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_HEAD(self) -> None:
            self._answer(False)

        def do_GET(self) -> None:
            self._answer(True)

        def log_message(self, format: str, *args: object) -> None:
            asked.append(self.path)

        def _answer(self, with_body: bool) -> None:
            is_manifest = "/manifests/" in self.path
            found = b"{}" if self.path == "/v2/" else blobs.get(self.path.rpartition("/")[2])
            content = manifest if is_manifest else found
            self.send_response(404 if content is None else 200)
            self.send_header("Content-Type", _MANIFEST if is_manifest else "application/octet-stream")
            self.send_header("Content-Length", str(len(content or b"")))
            if content is not None:
                self.send_header("Docker-Content-Digest", _digest(content))
            self.end_headers()
            if with_body and content:
                self.wfile.write(content)

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"127.0.0.1:{server.server_port}", asked
    finally:
        server.shutdown()
        server.server_close()
