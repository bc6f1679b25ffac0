"""How the nodes of one job hand chunks to each other: plain TCP, and only to those who know the job's secret.

The nodes are a tree: node N has its chunks from node (N-1)//2. The switchboard, beside the supervisor, tells each node
where the one above it listens. Whatever fails here costs time and no data: a chunk that does not come is read from
shared storage.
"""

import hashlib
import hmac
import json
import os
import socket
import struct
import threading
from typing import Any, Callable, Dict, Optional, Tuple

_HEAD = struct.Struct("<Q")
_NONCE = 32
_MOST = 1 << 26  # bytes of one message: a chunk, or a long list of files
PATIENCE = 120.0  # seconds; a node above that is this slow is not waited for

Address = Tuple[str, int]
Json = Dict[str, Any]


class Refused(OSError):
    """The other side does not know the secret, or does not speak as we do."""


def above(node: int) -> int:
    return (node - 1) // 2


class Line:
    """A connection whose both ends have shown that they know the secret; messages, each with its length before it."""

    def __init__(self, connection: socket.socket, secret: bytes, is_server: bool = False) -> None:
        self._socket = connection
        connection.settimeout(PATIENCE)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        mine = os.urandom(_NONCE)
        connection.sendall(mine)
        theirs = self._receive(_NONCE)
        # The two ends prove different things, so that nobody passes by handing on what a third one answers.
        here, there = (b"server", b"client") if is_server else (b"client", b"server")
        connection.sendall(_proof(secret, here, theirs, mine))
        if not hmac.compare_digest(self._receive(_NONCE), _proof(secret, there, mine, theirs)):
            raise Refused("another job's")

    @classmethod
    def to(cls, address: Address, secret: bytes, patience: float = 10.0) -> "Line":
        connection = socket.create_connection(address, patience)
        try:
            return cls(connection, secret)
        except BaseException:
            connection.close()
            raise

    def send(self, message: bytes) -> None:
        self._socket.sendall(_HEAD.pack(len(message)) + message if len(message) < 1 << 16 else _HEAD.pack(len(message)))
        if len(message) >= 1 << 16:
            self._socket.sendall(message)

    def receive(self) -> bytes:
        (size,) = _HEAD.unpack(self._receive(_HEAD.size))
        if size > _MOST:
            raise Refused("a message of %d bytes" % size)
        return self._receive(size)

    def ask(self, **question: Any) -> bytes:
        self.send(json.dumps(question).encode("ascii"))
        return self.receive()

    def peer(self) -> str:
        return str(self._socket.getpeername()[0])

    def close(self) -> None:
        self._socket.close()

    def _receive(self, size: int) -> bytes:
        found = bytearray(size)
        view, at = memoryview(found), 0
        while at < size:
            got = self._socket.recv_into(view[at:])
            if not got:
                raise Refused("the other side has gone")
            at += got
        return bytes(found)


def _proof(secret: bytes, role: bytes, theirs: bytes, mine: bytes) -> bytes:
    return hmac.new(secret, role + theirs + mine, hashlib.sha256).digest()


class Server:
    """Answers questions, each connection in a thread of its own."""

    def __init__(self, secret: bytes, answer: Callable[[Json, str], bytes]) -> None:
        self._secret = secret
        self._answer = answer
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        self._socket.bind(("", 0))
        self._socket.listen(64)
        self.port = int(self._socket.getsockname()[1])
        self.asked = 0  # connections that are open
        self._lock = threading.Lock()
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        try:
            line = Line(connection, self._secret, is_server=True)
        except OSError:
            connection.close()
            return
        self._count(1)
        try:
            while True:
                line.send(self._answer(json.loads(line.receive().decode("ascii")), line.peer()))
        except (OSError, ValueError, KeyError, TypeError):
            pass
        finally:
            line.close()
            self._count(-1)

    def _count(self, change: int) -> None:
        with self._lock:
            self.asked += change

    def close(self) -> None:
        self._socket.close()


class Switchboard:
    """Knows where each node listens; an answer waits until the node above has said so, for a while."""

    def __init__(self, secret: bytes, patience: float = 60.0) -> None:
        self._addresses: Dict[int, Address] = {}
        self._known = threading.Condition()
        self._patience = patience
        self.server = Server(secret, self._answer)

    def _answer(self, told: Json, peer: str) -> bytes:
        node = int(told["node"])
        with self._known:
            self._addresses[node] = (peer, int(told["port"]))
            self._known.notify_all()
            self._known.wait_for(lambda: node == 0 or above(node) in self._addresses, self._patience)
            return json.dumps(self._addresses.get(above(node))).encode("ascii")


def find_above(switchboard: Address, secret: bytes, node: int, port: int) -> Optional[Address]:
    """Where the node above listens; None when that cannot be found out in time."""
    try:
        line = Line.to(switchboard, secret)
        try:
            found = json.loads(line.ask(node=node, port=port).decode("ascii"))
        finally:
            line.close()
        return (str(found[0]), int(found[1])) if found else None
    except (OSError, ValueError, TypeError):
        return None
