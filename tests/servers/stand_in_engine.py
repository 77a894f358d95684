"""A container engine that runs nothing: it speaks enough of the engine's HTTP interface for testcontainers.

It records what it is asked for, and says that each container's port is a port where a server really listens.
"""

from __future__ import annotations

import http.server
import io
import json
import re
import tarfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field


@dataclass(slots=True)
class StandInEngine:
    """`ports` tells each container port where its server really is; the rest is what was asked for."""

    ports: dict[str, int]
    address: str = ""
    created: list[dict[str, object]] = field(default_factory=list)
    commands: list[str] = field(default_factory=list)
    files: dict[str, str] = field(default_factory=dict)
    removed: list[str] = field(default_factory=list)

    def _inspect(self, container: str) -> dict[str, object]:
        exposed = self.created[int(container)]["ExposedPorts"]
        assert isinstance(exposed, dict)
        ports = {name: [{"HostIp": "127.0.0.1", "HostPort": str(self.ports[name])}] for name in exposed}
        return {
            "Id": container,
            "Name": f"/c{container}",
            "State": {"Status": "running", "Running": True},
            "NetworkSettings": {"Ports": ports},
            "Config": {},
        }

    def answer(self, method: str, path: str, body: bytes) -> object:
        """The body of the reply; None for one without."""
        numbered = re.match(r"/containers/(\d+)", path)
        container = numbered[1] if numbered else ""
        match method, path.removeprefix(f"/containers/{container}") if container else path:
            case "GET", "/version":
                return {"ApiVersion": "1.44", "MinAPIVersion": "1.24"}
            case "POST", "/containers/create":
                self.created.append(json.loads(body))
                return {"Id": str(len(self.created) - 1), "Warnings": []}
            case "GET", "/json":
                return self._inspect(container)
            case "PUT", "/archive":
                with tarfile.open(fileobj=io.BytesIO(body)) as archive:
                    for member in archive.getmembers():
                        content = archive.extractfile(member)
                        self.files["/" + member.name.lstrip("/")] = content.read().decode() if content else ""
                return None
            case "POST", "/exec":
                self.commands.append(" ".join(json.loads(body)["Cmd"]))
                return {"Id": "e"}
            case "DELETE", "":
                self.removed.append(container)
                return None
            case "GET", "/exec/e/json":
                return {"ExitCode": 0, "Running": False}
            case "GET", _:
                return {"Id": "sha256:0", "RepoTags": []}
            case _:
                return None


def _handler(engine: StandInEngine) -> type[http.server.BaseHTTPRequestHandler]:
    class Handler(http.server.BaseHTTPRequestHandler):
        def _reply(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            if self.headers.get("Transfer-Encoding") == "chunked":
                while size := int(self.rfile.readline(), 16):
                    body += self.rfile.read(size)
                    self.rfile.readline()
                self.rfile.readline()
            path = re.sub(r"^/v[\d.]+(?=/)", "", self.path.partition("?")[0])
            answer = engine.answer(self.command, path, body)
            content = b"" if answer is None else json.dumps(answer).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        do_GET = do_POST = do_PUT = do_DELETE = _reply

        def log_message(self, format: str, *args: object) -> None:
            """Nothing: the test's output is for its failures."""

    return Handler


@contextmanager
def stand_in_engine(ports: dict[str, int]) -> Iterator[StandInEngine]:
    """Serve one on loopback."""
    engine = StandInEngine(ports)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), _handler(engine)) as server:
        engine.address = f"tcp://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=lambda: server.serve_forever(poll_interval=0.05))
        thread.start()
        try:
            yield engine
        finally:
            server.shutdown()
            thread.join()
