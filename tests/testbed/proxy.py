"""A bad network between the clients and the controller, told by the test when to be bad."""

import socket
import threading
from enum import Enum

# slurm_protocol_defs.h. The number stands in the first words of the header; where depends on the version.
REQUEST_SUBMIT_BATCH_JOB = (4003).to_bytes(2, "big")
_LENGTH_BYTES = 4
_HEADER_START = 12


class Fault(Enum):
    NONE = "pass everything on"
    LOSE_REPLY = "the controller takes the next submission; its answer never comes"
    CUT_REPLY = "the controller takes the next submission; the connection closes without an answer"
    BLACKHOLE = "nothing arrives at the controller and nothing comes back"


class ControllerProxy:
    """Listens beside the controller. A lost or cut reply is for one submission, a blackhole until `heal`."""

    def __init__(self, controller: tuple[str, int]) -> None:
        self._controller = controller
        self._lock = threading.Lock()
        self._fault = Fault.NONE
        self._held: list[socket.socket] = []
        self.faults_done = 0
        self._listener = socket.create_server((controller[0], 0), backlog=64)
        self.port: int = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, name="controller-proxy", daemon=True).start()

    def arm(self, fault: Fault) -> None:
        with self._lock:
            self._fault = fault

    def heal(self) -> None:
        """Pass everything on again and close what was left hanging."""
        with self._lock:
            self._fault = Fault.NONE
            held, self._held = self._held, []
        for connection in held:
            connection.close()

    def close(self) -> None:
        self._listener.close()
        self.heal()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._carry, args=(client,), daemon=True).start()

    def _carry(self, client: socket.socket) -> None:
        try:
            request = _read_message(client)
            fault = self._fault_for(request)
            if fault is not Fault.BLACKHOLE:
                self._exchange(client, request, fault)
            if fault in {Fault.LOSE_REPLY, Fault.BLACKHOLE}:
                self._hold(client)
            else:
                client.close()
        except OSError:
            client.close()

    def _fault_for(self, request: bytes) -> Fault:
        with self._lock:
            if self._fault is Fault.BLACKHOLE:
                self.faults_done += 1
                return self._fault
            if self._fault is Fault.NONE or not _is_submission(request):
                return Fault.NONE
            fault, self._fault = self._fault, Fault.NONE
            return fault

    def _exchange(self, client: socket.socket, request: bytes, fault: Fault) -> None:
        """One question and its answer: Slurm's clients open a connection for each."""
        with socket.create_connection(self._controller) as controller:
            controller.sendall(request)
            answer = _read_message(controller)
        if fault is Fault.NONE:
            client.sendall(answer)
            return
        with self._lock:
            self.faults_done += 1

    def _hold(self, client: socket.socket) -> None:
        with self._lock:
            self._held.append(client)


def _is_submission(request: bytes) -> bool:
    words = request[_LENGTH_BYTES : _LENGTH_BYTES + _HEADER_START]
    return any(words[at : at + 2] == REQUEST_SUBMIT_BATCH_JOB for at in range(0, len(words), 2))


def _read_message(source: socket.socket) -> bytes:
    """One message with the length before it; less where the other side closed."""
    start = _read(source, _LENGTH_BYTES)
    return start + _read(source, int.from_bytes(start, "big"))


def _read(source: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size and (piece := source.recv(size - len(data))):
        data += piece
    return data
