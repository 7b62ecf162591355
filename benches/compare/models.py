#!/usr/bin/env python3
"""Local models side by side: one iteration of FedRelax with trees against a loop over scikit-learn, and an epoch of a
perceptron against PyTorch.

    models.py [--repeat N] [--out docs/benchmarks.md]      needs numpy, scikit-learn and torch

Both sides get the same arrays (target/bench/models) and are timed in turn, N times; the best counts, wall time and
processor time each. Making the arrays and stacking the rows of every node is not on scikit-learn's clock; ours gathers
its rows on the clock.
"""
import argparse
import json
import os
import platform
import subprocess
import time
from pathlib import Path

import numpy as np
import sklearn
import torch
from joblib import Parallel, delayed
from sklearn.tree import DecisionTreeRegressor

ROOT = Path(__file__).resolve().parents[2]
NODES, FEATURES, LOCAL, PUBLIC, DEPTH, LAMBDA = 150, 10, 10, 100, 5, 1.0
THREADS = 2
EPOCHS, TOGETHER = 60, 20


def write(folder, about, arrays):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "about.json").write_text(json.dumps(about))
    for name, array in arrays.items():
        np.asarray(array, dtype="<f8").tofile(folder / f"{name}.f64")


def ours(folder):
    """Runs our side once on the folder."""
    command = ["cargo", "bench", "--quiet", "-p", "fedweave", "--bench", "models", "--", str(folder)]
    threads = os.environ | {"RAYON_NUM_THREADS": str(THREADS)}
    done = subprocess.run(command, cwd=ROOT, env=threads, check=True, capture_output=True, text=True)
    return json.loads(done.stdout.strip().splitlines()[-1])


def best(found):
    """Seconds and processor seconds."""
    return min(found["seconds"]), min(found["cpu"])


def bests(times):
    return {name: [min(column) for column in zip(*pairs)] for name, pairs in times.items()}


def network(degree):
    """Neighbours of every node: a partner, or the nearest on a circle."""
    if degree == 1:
        return np.array([[i ^ 1] for i in range(NODES)])
    steps = [s for k in range(1, degree // 2 + 1) for s in (k, -k)]
    return np.array([[(i + s) % NODES for s in steps] for i in range(NODES)])


def relax_data(degree, seed=0):
    """Three clusters of linear models with noise, as in the paper; public rows labelled by trees on the local rows."""
    rng = np.random.default_rng(seed)
    grid = lambda *shape: np.round(1024 * rng.normal(size=shape)) / 1024  # exact in single precision
    truth = rng.normal(size=(3, FEATURES))[np.arange(NODES) % 3]
    local, public, queries = grid(NODES, LOCAL, FEATURES), grid(NODES, PUBLIC, FEATURES), grid(NODES, 100, FEATURES)
    labels = np.einsum("nrf,nf->nr", local, truth) + rng.normal(size=(NODES, LOCAL))
    start = [DecisionTreeRegressor(max_depth=DEPTH, random_state=0).fit(local[i], labels[i]) for i in range(NODES)]
    predicted = np.array([start[i].predict(public[i]) for i in range(NODES)])
    return dict(local=local, labels=labels, public=public, predicted=predicted, queries=queries, neighbours=network(degree))


def rows_of(data, i):
    near = data["neighbours"][i]
    x = np.vstack([data["local"][i], *data["public"][near]]).astype(np.float32)
    y = np.concatenate([data["labels"][i], *data["predicted"][near]])
    w = np.concatenate([np.full(LOCAL, 1 / LOCAL), np.full(PUBLIC * len(near), LAMBDA / PUBLIC)])
    return x, y, w


def relax_loop(data, stacked, public, seed, workers):
    """One iteration: every node fits, then predicts its public rows for its neighbours."""
    def node(i):
        x, y, w = stacked[i]
        model = DecisionTreeRegressor(max_depth=DEPTH, random_state=seed).fit(x, y, sample_weight=w)
        return model, model.predict(public[i])
    start = time.perf_counter(), time.process_time()
    if workers == 1:
        done = [node(i) for i in range(NODES)]
    else:
        done = Parallel(n_jobs=workers, backend="threading")(delayed(node)(i) for i in range(NODES))
    return (time.perf_counter() - start[0], time.process_time() - start[1]), [model for model, _ in done]


def relax(degree, repeat):
    data = relax_data(degree)
    folder = ROOT / "target/bench/models" / f"relax_{degree}"
    about = dict(kind="relax", nodes=NODES, features=FEATURES, degree=degree, spec=f"tree max-depth={DEPTH}",
                 repeat=5, **{"lambda": LAMBDA})
    write(folder, about, data)
    stacked, public = [rows_of(data, i) for i in range(NODES)], data["public"].astype(np.float32)
    times = {"ours": [], "loop": [], "threads": []}
    for _ in range(repeat):
        times["ours"].append(best(ours(folder)))
        seconds, models = relax_loop(data, stacked, public, 0, 1)
        times["loop"].append(seconds)
        times["threads"].append(relax_loop(data, stacked, public, 0, THREADS)[0])
    values = lambda models: np.concatenate([models[i].predict(data["queries"][i]) for i in range(NODES)])
    theirs, again = values(models), values(relax_loop(data, stacked, public, 1, 1)[1])
    found = np.fromfile(folder / "ours.f64")
    equal = lambda a, b: float(np.mean(np.abs(a - b) <= 1e-9 * (1 + np.abs(a))))
    error = lambda a, b: float(np.sqrt(np.mean((a - b) ** 2)))
    return dict(rows=LOCAL + PUBLIC * degree, equal=equal(found, theirs), settled=equal(theirs, again),
                apart=error(found, theirs), apart_again=error(theirs, again), **bests(times))


def perceptron(spec, batch, make, repeat):
    """Epochs of 784-32-4 on 400 rows from the same start."""
    rng, rows, sizes = np.random.default_rng(1), 400, (784, 32, 4)
    x, y = rng.random((rows, sizes[0])), rng.integers(0, sizes[2], size=rows)
    start = [rng.normal(size=s) * 0.05 for a, b in zip(sizes, sizes[1:]) for s in ((b, a), (b,))]
    folder = ROOT / "target/bench/models" / spec.replace(" ", "_")
    about = dict(kind="epochs", features=sizes[0], classes=sizes[2], spec=f"mlp hidden=32 alpha=0 {spec}", repeat=EPOCHS)
    write(folder, about, dict(x=x, y=y, start=np.concatenate([p.ravel() for p in start])))
    X, Y = torch.tensor(x, dtype=torch.float32), torch.tensor(y)
    times = {"ours": [], "torch": [], "one": []}
    for _ in range(repeat):
        times["ours"].append(best(ours(folder)))
        for name, threads in (("one", 1), ("torch", THREADS)):
            torch.set_num_threads(threads)
            net = torch.nn.Sequential(torch.nn.Linear(*sizes[:2]), torch.nn.ReLU(), torch.nn.Linear(*sizes[1:]))
            with torch.no_grad():
                for parameter, value in zip(net.parameters(), start):
                    parameter.copy_(torch.tensor(value))
            times[name].append(torch_epochs(net, make(net.parameters()), X, Y, batch))
    off = None
    if batch is None:  # without batches both sides do the same steps
        flat = np.concatenate([p.detach().numpy().ravel() for p in net.parameters()])
        off = float(np.abs(flat - np.fromfile(folder / "ours.f64")).max())
    return dict(spec=spec, off=off, **bests(times))


def torch_epochs(net, steps, X, Y, batch):
    """The best seconds and processor seconds of an epoch; 20 are timed together, as on our side."""
    loss, times = torch.nn.CrossEntropyLoss(), []
    for _ in range(EPOCHS // TOGETHER):
        start = time.perf_counter(), time.process_time()
        for _ in range(TOGETHER):
            order = torch.randperm(len(X)) if batch else None
            for at in range(0, len(X), batch or len(X)):
                rows = order[at:at + batch] if batch else slice(None)
                steps.zero_grad()
                loss(net(X[rows]), Y[rows]).backward()
                steps.step()
        times.append(((time.perf_counter() - start[0]) / TOGETHER, (time.process_time() - start[1]) / TOGETHER))
    return tuple(min(column) for column in zip(*times))


def report(trees, epochs):
    cpu = next((line.split(":")[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")), "")
    lines = [f"{cpu}, {os.cpu_count()} cores, load average {os.getloadavg()[0]:.2f} at the end. "
             f"Python {platform.python_version()}, numpy {np.__version__}, scikit-learn {sklearn.__version__}, "
             f"torch {torch.__version__}; {THREADS} threads.", "",
             "One iteration of FedRelax, wall time (processor time):", "",
             "| rows per fit | fedweave, 2 threads | scikit-learn loop | ratio | loop on 2 threads | ratio "
             "| equal predictions, mean difference | the same for scikit-learn with another seed |",
             "|---|---|---|---|---|---|---|---|"]
    for t in trees:
        lines.append(f"| {t['rows']} | {cell(t['ours'])} | {cell(t['loop'])} | {ratio(t['loop'], t['ours'])} "
                     f"| {cell(t['threads'])} | {ratio(t['threads'], t['ours'])} | {100 * t['equal']:.2f} %, {t['apart']:.2g} "
                     f"| {100 * t['settled']:.2f} %, {t['apart_again']:.2g} |")
    lines += ["", "An epoch of 784-32-4 on 400 rows:", "",
              "| | fedweave, 1 thread | PyTorch, 2 threads | ratio | PyTorch, 1 thread | ratio | largest difference of a "
              "parameter after 60 epochs |", "|---|---|---|---|---|---|---|"]
    for e in epochs:
        off = "batches differ" if e["off"] is None else f"{e['off']:.1e}"
        lines.append(f"| {e['spec']} | {cell(e['ours'])} | {cell(e['torch'])} | {ratio(e['torch'], e['ours'])} "
                     f"| {cell(e['one'])} | {ratio(e['one'], e['ours'])} | {off} |")
    return "\n".join(lines)


def cell(times):
    digits = 0 if times[0] > 0.1 else 2
    return f"{1e3 * times[0]:.{digits}f} ms ({1e3 * times[1]:.{digits}f})"


def ratio(theirs, ours):
    return f"{theirs[0] / ours[0]:.1f}x ({theirs[1] / ours[1]:.1f}x)"


def replace_section(path, text):
    begin, end = "<!-- bench:models begin -->", "<!-- bench:models end -->"
    before, rest = path.read_text().split(begin)
    path.write_text(f"{before}{begin}\n{text}\n{end}{rest.split(end)[1]}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    torch.set_num_threads(THREADS)
    trees = [relax(degree, given.repeat) for degree in (1, 60)]
    sgd = lambda rate: lambda p: torch.optim.SGD(p, lr=rate, momentum=0.9)
    adam = lambda p: torch.optim.Adam(p, lr=1e-3)
    epochs = [perceptron("optimiser=sgd learning-rate=0.01 batch=none", None, sgd(0.01), given.repeat),
              perceptron("optimiser=sgd learning-rate=0.01 batch=32", 32, sgd(0.01), given.repeat),
              perceptron("optimiser=adam batch=32", 32, adam, given.repeat)]
    text = report(trees, epochs)
    print(text)
    if given.out:
        replace_section(given.out, text)


if __name__ == "__main__":
    main()
