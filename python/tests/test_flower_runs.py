"""Flower's own runtimes: a simulation, and real processes with TLS. Slow: `FEDWEAVE_SLOW=1 scripts/python test -k flower_runs`."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("flwr.serverapp.strategy", reason="Flower is not installed: pip install 'fedweave[flower]'")

from flower_deployment import Deployment
from flower_simulation import LAM, problem

from fedweave import GTVRegressor

HERE = Path(__file__).resolve().parent
LIMIT = float(os.environ.get("FEDWEAVE_SLOW_LIMIT", "900"))
slow = pytest.mark.skipif(not os.environ.get("FEDWEAVE_SLOW"), reason="slow: set FEDWEAVE_SLOW=1 to run Flower's processes")


def optimum(nodes, penalty="norm2", lam=LAM):
    data, edges = problem(nodes)
    ids = np.concatenate([[name] * len(y) for name, (_, y) in data.items()])
    x, y = (np.concatenate([part[k] for part in data.values()]) for k in (0, 1))
    return GTVRegressor(edges, penalty=penalty, lam=lam, tol=1e-12, fit_intercept=False).fit(x, y, nodes=ids)


def check(found, model):
    assert "error" not in found, found
    assert found["status"] == "converged"
    assert abs(found["objective"] - model.objective_) <= 1e-6 * model.objective_
    w = np.array([found["models"][name] for name in model.nodes_])
    there = np.array([model.coef_[name] for name in model.nodes_])
    assert np.linalg.norm(w - there) <= 1e-6 * np.linalg.norm(there)


@slow
def test_a_simulation_of_20_nodes(tmp_path):
    pytest.importorskip("ray", reason="Flower's simulation needs ray: pip install 'flwr[simulation]'")
    out = tmp_path / "found.json"
    env = {**os.environ, "PYTHONPATH": str(HERE)}
    command = [sys.executable, str(HERE / "flower_simulation.py"), "20", str(out)]
    process = subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True)
    try:
        log, _ = process.communicate(timeout=LIMIT)
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
    assert out.exists(), log.decode(errors="replace")[-3000:]
    check(json.loads(out.read_text()), optimum(20))


@slow
@pytest.mark.parametrize(("strategy", "penalty", "lam"), [("FedRelax", "squared", 0.03), ("GTVMin", "norm2", LAM)])
def test_a_deployment_of_4_supernodes_with_tls(strategy, penalty, lam, tmp_path):
    with Deployment(tmp_path, [str(i) for i in range(4)]) as deployment:
        check(deployment.run(LIMIT, strategy, lam), optimum(4, penalty, lam))
    assert all(process.poll() is not None for process in deployment.processes)
