"""Flower's real processes on loopback with TLS: a superlink, a supernode per node, and a run.

Everything runs in sessions of its own and is ended by its id, however the run ends.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
BIN = Path(sys.executable).parent

PYPROJECT = """
[project]
name = "weave"
version = "1.0.0"
dependencies = []

[tool.flwr.app]
publisher = "fedweave"

[tool.flwr.app.components]
serverapp = "weave.server_app:app"
clientapp = "weave.client_app:app"

[tool.flwr.app.config]
nodes = 4
strategy = "GTVMin"
lam = 0.3
out = ""
"""

CLIENT = """
from flower_simulation import problem

from fedweave.flower import LocalLoss, node_app


def load(context):
    data, _ = problem(int(context.run_config["nodes"]))
    return LocalLoss(*data[context.node_config["node"]], fit_intercept=False)


app = node_app(load)
"""

SERVER = """
import json
from pathlib import Path

from flower_simulation import TOL, found, problem, timed
from flwr.serverapp import ServerApp

from fedweave import flower

app = ServerApp()


@app.main()
def main(grid, context):
    config = context.run_config
    out, (_, edges) = Path(config["out"]), problem(int(config["nodes"]))
    try:
        strategy = getattr(flower, config["strategy"])(edges, lam=config["lam"], tol=TOL, wait=300.0, deliver=False)
        text = json.dumps(found(*timed(strategy, grid, num_rounds=200, timeout=300.0)))
    except Exception as error:
        text = json.dumps({"error": str(error)})
    (out.parent / "part.json").write_text(text)
    (out.parent / "part.json").rename(out)
"""


def free_ports(count: int) -> list[int]:
    """Ports that nobody listens on at the moment."""
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [s.getsockname()[1] for s in sockets]
    for s in sockets:
        s.close()
    return ports


class Deployment:
    """A superlink and its supernodes; `with` starts and ends them."""

    def __init__(self, folder: Path, nodes: list[str]) -> None:
        self.folder, self.nodes = folder, nodes
        self.link, *self.ports = free_ports(1 + len(nodes))
        self.processes: list[subprocess.Popen] = []
        path = os.pathsep.join([str(HERE), os.environ.get("PYTHONPATH", "")])
        search = os.pathsep.join([str(BIN), os.environ.get("PATH", "")])
        self.env = {**os.environ, "PATH": search, "PYTHONPATH": path, "FLWR_HOME": str(folder / "home"), "FLWR_TELEMETRY_ENABLED": "0", "FLWR_DISABLE_UPDATE_CHECK": "1"}

    def __enter__(self) -> Deployment:
        try:
            self._start_all()
        except BaseException:
            self.__exit__()
            raise
        return self

    def _start_all(self) -> None:
        certs = self._certificates()
        self._write_app()
        tls = ["--ssl-certfile", certs / "link.pem", "--ssl-keyfile", certs / "link.key", "--ssl-ca-certfile", certs / "ca.pem"]
        here = ["--host", "127.0.0.1", "--port"]
        self._start("superlink", BIN / "flower-superlink", *tls, *here, self.link, "--disable-runtime-dependency-installation")
        self._wait_for_link()
        for node, port in zip(self.nodes, self.ports):
            words = ["--superlink", f"127.0.0.1:{self.link}", "--root-certificates", certs / "ca.pem", *tls, *here, port]
            self._start(f"supernode-{node}", BIN / "flower-supernode", *words, "--node-config", f'node="{node}"')

    def __exit__(self, *_: object) -> None:
        for sign in (signal.SIGTERM, signal.SIGKILL):
            for process in self.processes:
                try:
                    os.killpg(process.pid, sign)
                except ProcessLookupError:
                    pass
            end = time.monotonic() + 5
            while time.monotonic() < end and any(p.poll() is None for p in self.processes):
                time.sleep(0.1)

    def run(self, timeout: float, strategy: str, lam: float) -> dict:
        """Runs the app; what the server wrote."""
        out = self.folder / "found.json"
        config = f'nodes={len(self.nodes)} strategy="{strategy}" lam={lam} out="{out}"'
        words = [BIN / "flwr", "run", self.folder / "app", "loopback", "--run-config", config]
        end = time.monotonic() + timeout
        self._start("run", *words)
        while not out.exists():
            if time.monotonic() > end:
                raise TimeoutError(f"no result after {timeout:g} s\n{self.logs()}")
            if (dead := next((p for p in self.processes[:-1] if p.poll() is not None), None)) is not None:
                raise RuntimeError(f"{dead.args[0]} ended with {dead.returncode}\n{self.logs()}")
            time.sleep(0.2)
        return json.loads(out.read_text())

    def logs(self) -> str:
        """The ends of all logs."""
        return "\n".join(f"== {p.name}\n{p.read_text(errors='replace')[-1500:]}" for p in sorted(self.folder.glob("*.log")))

    def _start(self, name: str, *words: object) -> None:
        with (self.folder / f"{name}.log").open("w") as log:
            command = [str(word) for word in words]
            self.processes.append(
                subprocess.Popen(command, env=self.env, stdout=log, stderr=log, cwd=self.folder, start_new_session=True)
            )

    def _certificates(self) -> Path:
        """An authority and a certificate for the loopback address, by our own command."""
        for words in (["init"], ["issue", "link@127.0.0.1"]):
            command = [sys.executable, "-m", "fedweave", "certs", *words]
            subprocess.run(command, cwd=self.folder, env=self.env, check=True, capture_output=True, timeout=300)
        return self.folder / "certs"

    def _write_app(self) -> None:
        app = self.folder / "app" / "weave"
        app.mkdir(parents=True)
        (app.parent / "pyproject.toml").write_text(PYPROJECT)
        for name, text in (("__init__", ""), ("client_app", CLIENT), ("server_app", SERVER)):
            (app / f"{name}.py").write_text(text)
        home = self.folder / "home"
        home.mkdir()
        link = f'address = "127.0.0.1:{self.link}"\nroot-certificates = "{self.folder / "certs" / "ca.pem"}"\n'
        (home / "config.toml").write_text(f'[superlink]\ndefault = "loopback"\n\n[superlink.loopback]\n{link}')

    def _wait_for_link(self, timeout: float = 300.0) -> None:
        end = time.monotonic() + timeout
        while True:
            try:
                return socket.create_connection(("127.0.0.1", self.link), 1.0).close()
            except OSError:
                if time.monotonic() > end or self.processes[0].poll() is not None:
                    raise TimeoutError(f"the superlink does not listen\n{self.logs()}") from None
                time.sleep(0.2)
