"""Ctrl-C, threads, progress, memory, the command."""

import io
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
import tracemalloc

import numpy as np
import pytest
from test_sklearn import rows

import fedweave
from fedweave import GTVRegressor
from fedweave._progress import Bar


def slow():
    """A problem that takes long and never reaches its tolerance."""
    rng = np.random.default_rng(0)
    n, each, p = 3000, 4, 10
    ids = np.repeat(np.arange(n), each)
    x = rng.normal(size=(n * each, p))
    edges = [(i, (i * 7 + k) % n) for i in range(n) for k in (1, 2) if i != (i * 7 + k) % n]
    model = GTVRegressor(edges, lam=0.05, tol=1e-16, solver="primal-dual", fit_intercept=False)
    return model, x, rng.normal(size=n * each), ids


def test_ctrl_c_stops_within_a_second_and_keeps_the_models():
    model, x, y, ids = slow()
    pressed = []

    def press():
        pressed.append(time.monotonic())
        os.kill(os.getpid(), signal.SIGINT)

    timer = threading.Timer(1.0, press)
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        model.fit(x, y, nodes=ids)
    late = time.monotonic() - pressed[0]
    assert late < 1.0 + float(os.environ.get("FEDWEAVE_SLACK_SECONDS", "0"))  # for machines that do much else
    assert model.status_ == "interrupted" and model.objective_ < np.sum([np.mean(y[ids == i] ** 2) for i in range(3000)])
    assert np.isfinite(model.predict(x, nodes=ids)).all()


def test_other_python_threads_run_while_it_solves():
    model, x, y, ids = slow()
    count, stop = [0], threading.Event()

    def tick():
        while not stop.is_set():
            count[0] += 1
            time.sleep(0.005)

    ticker = threading.Thread(target=tick)
    ticker.start()
    try:
        before = count[0]
        with pytest.warns(UserWarning, match="time-limit"):
            model.set_params(time_limit=1.0).fit(x, y, nodes=ids)
        # With the interpreter held for a second there would be a handful at most.
        assert count[0] - before > 20
    finally:
        stop.set()
        ticker.join()
    assert model.status_ == "time-limit"


def _fit_in_child(queue):
    x, y, ids, graph = rows()
    queue.put(GTVRegressor(graph, lam=0.1).fit(x, y, nodes=ids).objective_)


def test_a_forked_process_fits_too():
    x, y, ids, graph = rows()
    here = GTVRegressor(graph, lam=0.1).fit(x, y, nodes=ids).objective_
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    child = context.Process(target=_fit_in_child, args=(queue,))
    child.start()
    try:
        assert queue.get(timeout=60) == here
    finally:
        child.join(timeout=10)
        child.kill()


def test_the_progress_bar_draws_and_goes():
    stream = io.StringIO()
    bar = Bar(1e-6, stream=stream)
    bar(0, 10, 5.0, 1.0)
    bar(0, 500, 4.0, 1e-3)
    half = stream.getvalue().split("\r")[-1]
    assert half.count("=") == 15 and "iteration 500" in half
    bar.advance("candidate", 3, 6)
    assert "candidate 4 of 6" in stream.getvalue() and stream.getvalue().split("\r")[-1].count("=") == 15
    bar.close()
    assert stream.getvalue().endswith("\r")


def test_a_verbose_fit_shows_a_bar(capsys):
    model, x, y, ids = slow()
    with pytest.warns(UserWarning, match="time-limit"):
        model.set_params(time_limit=1.0, verbose=2).fit(x, y, nodes=ids)
    assert "fitting [" in capsys.readouterr().err
    with pytest.warns(UserWarning, match="time-limit"):
        model.set_params(time_limit=0.2, verbose=1).fit(x, y, nodes=ids)
    assert capsys.readouterr().err == ""  # nobody looks


def test_x_is_not_copied_on_the_side_of_python():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(40_000, 50))
    ids = np.repeat(np.arange(400), 100)
    model = GTVRegressor([(i, i + 1) for i in range(399)], lam=0.1, max_iter=1000)
    y = x[:, 0] + rng.normal(size=len(x))
    for layout in (x, np.asfortranarray(x)):
        tracemalloc.start()
        model.fit(layout, y, nodes=ids)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 0.35 * x.nbytes


def test_the_command_is_the_command_line(tmp_path):
    run = lambda *words: subprocess.run([sys.executable, "-m", "fedweave", *words], capture_output=True, text=True)  # noqa: E731
    assert run("--version").stdout.startswith("fedweave ")
    missing = run("fit", str(tmp_path / "none.csv"), "--target", "y")
    assert missing.returncode == 2 and "none.csv" in missing.stderr
    assert run("nonsense").returncode == 2


def test_a_node_inside_flower_does_not_wait_for_scikit_learn():
    pytest.importorskip("flwr.serverapp.strategy", reason="Flower is not installed")
    code = "import sys, fedweave.flower; print('sklearn' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_every_name_is_found_where_it_lives():
    for name in fedweave.__all__:
        assert getattr(fedweave, name) is not None
    assert set(fedweave.__all__) == set(dir(fedweave)) and set(fedweave._HOMES) | {"errors"} == set(fedweave.__all__)
    with pytest.raises(AttributeError, match="no attribute 'GTVRegresor'"):
        fedweave.GTVRegresor


def test_the_command_starts_the_parts_of_a_federation(tmp_path):
    lines = [f"{node},{x},{2 * x + shift}" for node, shift in (("a", 0.0), ("b", 0.1)) for x in (0.0, 1.0, 2.0)]
    (tmp_path / "rows.csv").write_text("node,x,y\n" + "\n".join(lines) + "\n")
    (tmp_path / "edges.csv").write_text("source,target,weight\na,b,1\n")
    words = ["up", "rows.csv", "--edges", "edges.csv", "--target", "y", "--lambda", "0.1", "--parts", "2"]
    command = [sys.executable, "-m", "fedweave", *words, "--work", "work"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert len(list(tmp_path.glob("work/part-*/state/result/parameters.csv"))) == 2
