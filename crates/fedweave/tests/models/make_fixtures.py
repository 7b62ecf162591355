#!/usr/bin/env python3
"""Writes fixtures.json: predictions of scikit-learn's models on weighted rows, which ours must equal, and parameters
after some steps of PyTorch's optimisers.

    make_fixtures.py                needs numpy, scikit-learn and torch

Features are multiples of 1/1024, because scikit-learn's trees round them to single precision. Its trees also draw one of
several splits that are equally good: `settled` marks the rows whose prediction is the same for 20 seeds, with weights
that differ in the 12th digit.
"""
import json
from pathlib import Path

import numpy as np
import sklearn
import torch
from sklearn.ensemble import GradientBoostingClassifier, GradientBoostingRegressor
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

SEEDS = 20


def table(seed, rows, features, classes=None, lattice=False, weighted=True):
    """Training rows and queries; some weights are zero."""
    rng = np.random.default_rng(seed)
    X, Q = (np.round(1024 * rng.normal(size=(n, features))) / 1024 for n in (rows, 40))
    if lattice:
        X, Q = np.round(2 * X) / 2, np.round(2 * Q) / 2
    score = X @ rng.normal(size=features) + np.sin(3 * X[:, 0]) + 0.3 * rng.normal(size=rows)
    if classes is None:
        y = np.round(score, 6)
    else:
        y = np.searchsorted(np.quantile(score, np.arange(1, classes) / classes), score).astype(float)
    w = np.round(rng.uniform(0.1, 3.0, size=rows), 3) if weighted else np.ones(rows)
    if weighted:
        w[rng.choice(rows, rows // 10, replace=False)] = 0.0
    return X, y, w, Q


def outputs(model, Q, classes):
    if classes is None:
        return np.asarray(model.predict(Q)).reshape(-1, 1)
    found = model.predict_proba(Q)
    full = np.zeros((len(Q), classes))
    full[:, model.classes_.astype(int)] = found
    return full


def case(name, spec, make, data, classes=None, seeds=1, tolerance=1e-8, weights=True):
    X, y, w, Q = data
    def fitted(seed):
        model = make(seed)
        # Rounding also decides between equally good splits: weights that differ in the 12th digit let it decide anew.
        nudged = w * (1 + 1e-12 * np.random.default_rng(seed).normal(size=len(w)) * (seed > 0))
        return outputs(model.fit(X, y, sample_weight=nudged) if weights else model.fit(X, y), Q, classes)
    found = [fitted(seed) for seed in range(seeds)]
    settled = [bool(all(np.abs(f[r] - found[0][r]).max() < 1e-9 for f in found)) for r in range(len(Q))]
    return {"name": name, "spec": spec, "classes": classes, "features": X.shape[1], "x": X.ravel().tolist(),
            "y": y.tolist(), "weight": w.tolist(), "queries": Q.ravel().tolist(),
            "predictions": np.round(found[0].ravel(), 12).tolist(), "settled": settled, "tolerance": tolerance}


def trees():
    options = [("max-depth=5", dict(max_depth=5)), ("", {}), ("min-samples-leaf=4", dict(min_samples_leaf=4)),
               ("min-weight-leaf=0.08", dict(min_weight_fraction_leaf=0.08)),
               ("max-depth=4 min-samples-split=9", dict(max_depth=4, min_samples_split=9)),
               ("min-impurity-decrease=0.02", dict(min_impurity_decrease=0.02))]
    for number, (words, given) in enumerate(options):
        for lattice in (False, True):
            data = table(number, 110, 4, lattice=lattice)
            name = f"tree {words}{' lattice' if lattice else ''}"
            yield case(name, f"tree {words}", lambda s: DecisionTreeRegressor(random_state=s, **given), data, seeds=SEEDS)
            for classes in (2, 4):
                data = table(50 + number, 110, 4, classes, lattice)
                yield case(f"{name} {classes} classes", f"tree {words}",
                           lambda s: DecisionTreeClassifier(random_state=s, **given), data, classes, SEEDS)


def boosting():
    given = dict(n_estimators=30, max_depth=2, learning_rate=0.2)
    spec = "boosting trees=30 max-depth=2 learning-rate=0.2"
    # Equally good splits make later rounds differ too: rows are settled or not as with trees.
    yield case("boosting", spec, lambda s: GradientBoostingRegressor(random_state=s, **given), table(7, 80, 3), seeds=5,
               tolerance=1e-6)
    for classes in (2, 3):
        yield case(f"boosting {classes} classes", spec, lambda s: GradientBoostingClassifier(random_state=s, **given),
                   table(8, 80, 3, classes), classes, 5, 1e-6)


def others():
    for rows, features in ((40, 3), (10, 20)):
        data, name = table(9, rows, features), f"{rows} x {features}"
        yield case(f"linear {name}", "linear", lambda _: LinearRegression(), data)
        yield case(f"ridge {name}", "ridge alpha=0.7", lambda _: Ridge(alpha=0.7), data)
        yield case(f"ridge without intercept {name}", "ridge alpha=0.7 intercept=false",
                   lambda _: Ridge(alpha=0.7, fit_intercept=False), data)
        yield case(f"kernel ridge {name}", "kernel-ridge alpha=0.3 gamma=0.4",
                   lambda _: KernelRidge(alpha=0.3, kernel="rbf", gamma=0.4), data)
    for classes in (2, 3):
        for words, given in (("c=2", dict(C=2.0)), ("c=0.5 intercept=false", dict(C=0.5, fit_intercept=False))):
            make = lambda _: LogisticRegression(tol=1e-12, max_iter=10_000, solver="newton-cg", **given)
            yield case(f"logistic {words} {classes} classes", f"logistic {words}", make, table(10, 60, 3, classes), classes,
                       tolerance=1e-6)
    plain = table(11, 50, 3, weighted=False)
    for words, given in (("", {}), ("neighbours=3 weights=distance", dict(n_neighbors=3, weights="distance"))):
        yield case(f"nearest {words}", f"nearest {words}", lambda _: KNeighborsRegressor(**given), plain, weights=False)
        yield case(f"nearest {words} 3 classes", f"nearest {words}", lambda _: KNeighborsClassifier(**given),
                   table(12, 50, 3, 3, weighted=False), 3, weights=False)


def optimiser(name, make, words):
    """Some full-batch steps from a given start; the objective is the weighted mean loss."""
    torch.set_default_dtype(torch.float64)
    rng = np.random.default_rng(3)
    sizes = [3, 5, 4, 2]
    X, w = rng.normal(size=(12, 3)), rng.uniform(0.5, 2, size=12)
    y = rng.integers(0, 2, size=12)
    start = [rng.normal(size=s) * 0.5 for a, b in zip(sizes, sizes[1:]) for s in ((b, a), (b,))]
    parameters = [torch.tensor(p, requires_grad=True) for p in start]
    steps = make(parameters)
    for _ in range(6):
        a = torch.tensor(X)
        for layer in range(3):
            a = a @ parameters[2 * layer].T + parameters[2 * layer + 1]
            a = torch.tanh(a) if layer < 2 else a
        losses = torch.nn.functional.cross_entropy(a, torch.tensor(y), reduction="none")
        steps.zero_grad()
        (torch.tensor(w) @ losses / w.sum()).backward()
        steps.step()
    flat = lambda parts: np.concatenate([np.asarray(p).ravel() for p in parts]).tolist()
    spec = f"mlp hidden=5x4 activation=tanh batch=none alpha=0 {words}"
    return {"name": name, "spec": spec, "x": X.ravel().tolist(), "y": y.astype(float).tolist(), "weight": w.tolist(),
            "start": flat(start), "end": flat([p.detach() for p in parameters]), "epochs": 6}


def optimisers():
    yield optimiser("sgd", lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.8),
                    "optimiser=sgd learning-rate=0.1 momentum=0.8")
    yield optimiser("rmsprop", lambda p: torch.optim.RMSprop(p, lr=0.01), "optimiser=rmsprop learning-rate=0.01")
    yield optimiser("adam", lambda p: torch.optim.Adam(p, lr=0.01), "optimiser=adam learning-rate=0.01")


def main():
    fixtures = {"made_by": f"scikit-learn {sklearn.__version__}, numpy {np.__version__}, torch {torch.__version__}",
                "cases": [*trees(), *boosting(), *others()], "optimisers": list(optimisers())}
    Path(__file__).with_name("fixtures.json").write_text(json.dumps(fixtures, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
