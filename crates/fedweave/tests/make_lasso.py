"""Problems with a lasso and their optima by CVXPY + Clarabel: writes lasso.json.

    python crates/fedweave/tests/make_lasso.py     (needs numpy, cvxpy, clarabel)
"""

import json
from pathlib import Path

import cvxpy as cp
import numpy as np

# loss, penalty, nodes, features, rows of a node, lambda, lasso, ridge, the last feature is an intercept
PROBLEMS = [
    ("squared", "norm2", 12, 4, 6, 0.2, 0.3, 0.0, False),
    ("squared", "norm1", 10, 8, 3, 0.1, 0.2, 0.05, True),
    ("absolute", "norm2", 12, 3, 7, 0.1, 0.1, 0.0, True),
    ("quantile", "norm1", 10, 4, 8, 0.05, 0.05, 0.02, True),
    ("huber", "norminf", 12, 4, 6, 0.15, 0.2, 0.0, False),
    ("logistic", "norm2", 12, 4, 8, 0.03, 0.05, 0.0, True),
    ("poisson", "squared", 10, 3, 8, 0.3, 0.1, 0.01, True),
    ("squared-hinge", "norm2", 10, 4, 8, 0.1, 0.1, 0.0, True),
    ("multinomial", "norm2", 8, 3, 9, 0.05, 0.03, 0.001, True),
    ("point", "norm1", 14, 3, 1, 0.1, 0.4, 0.0, False),
]
QUANTILE, DELTA, CLASSES = 0.8, 0.5, 3


def rows(rng, loss, nodes, features, count, intercept):
    truth = np.where(rng.random((2, features)) < 0.5, 0.0, rng.normal(size=(2, features)))
    of_node = [i for i in range(nodes) for _ in range(0 if i == 1 else count)]
    x = rng.normal(size=(len(of_node), features)).round(3)
    if intercept:
        x[:, -1] = 1.0
    score = np.sum(x * truth[np.array(of_node) % 2], axis=1) + 0.3 * rng.normal(size=len(of_node))
    if loss in ("logistic", "squared-hinge"):
        y = np.where(score > 0.2 * rng.normal(size=len(score)), 1.0, -1.0)
        y[rng.random(len(y)) < 0.2] *= -1.0
    elif loss == "poisson":
        y = rng.poisson(np.exp(np.clip(0.5 * score, -2, 1.5))).astype(float)
    elif loss == "multinomial":
        y = rng.integers(0, CLASSES, size=len(score)).astype(float)
    else:
        y = score.round(3)
    return of_node, x, y


def one(loss, x, y, w):
    s = x @ w if loss not in ("multinomial", "point") else None
    if loss == "squared":
        return cp.sum_squares(s - y)
    if loss == "absolute":
        return cp.norm1(s - y)
    if loss == "quantile":
        return cp.sum(cp.maximum(QUANTILE * (y - s), (QUANTILE - 1.0) * (y - s)))
    if loss == "huber":
        return 0.5 * cp.sum(cp.huber(s - y, DELTA))
    if loss == "logistic":
        return cp.sum(cp.logistic(-cp.multiply(y, s)))
    if loss == "poisson":
        return cp.sum(cp.exp(s) - cp.multiply(y, s))
    if loss == "squared-hinge":
        return cp.sum_squares(cp.pos(1.0 - cp.multiply(y, s)))
    if loss == "multinomial":
        p = x.shape[1]
        scores = cp.vstack([x @ w[k * p : (k + 1) * p] for k in range(CLASSES)])
        return cp.sum(cp.log_sum_exp(scores, axis=0)) - sum(scores[int(y[r]), r] for r in range(len(y)))
    return sum(cp.sum_squares(w - x[r]) for r in range(len(y)))


def problem(index, loss, penalty, nodes, features, count, lam, lasso, ridge, intercept):
    rng = np.random.default_rng(1900 + index)
    of_node, x, y = rows(rng, loss, nodes, features, count, intercept)
    edges = [(i, (i + 1) % nodes, 1.0) for i in range(nodes)] + [(i, (i + 3) % nodes, 0.5) for i in range(0, nodes, 2)]
    blocks = CLASSES if loss == "multinomial" else 1
    w = cp.Variable((nodes, blocks * features))
    held = np.array([j for j in range(blocks * features) if not (intercept and (j + 1) % features == 0)])
    total = 0
    for i in range(nodes):
        mine = [r for r, n in enumerate(of_node) if n == i]
        if mine:
            total += one(loss, x[mine], y[mine], w[i]) / len(mine)
            total += lasso * cp.norm1(w[i, held]) + ridge * cp.sum_squares(w[i, held])
    phi = {"norm2": cp.norm2, "norm1": cp.norm1, "norminf": cp.norm_inf, "squared": cp.sum_squares}[penalty]
    total += lam * sum(a * phi(w[i] - w[j]) for i, j, a in edges)
    tight = {"tol_gap_abs": 1e-11, "tol_gap_rel": 1e-11, "tol_feas": 1e-11, "max_iter": 400}
    value = cp.Problem(cp.Minimize(total)).solve(solver=cp.CLARABEL, **tight)
    return {
        "loss": loss, "penalty": penalty, "nodes": nodes, "features": features, "lambda": lam, "lasso": lasso,
        "ridge": ridge, "intercept": intercept, "node": of_node, "x": x.tolist(), "y": y.tolist(), "edges": edges,
        "objective": value, "w": w.value.round(9).tolist(),
    }


problems = [problem(k, *p) for k, p in enumerate(PROBLEMS)]
for p in problems:
    print(p["loss"], p["penalty"], p["objective"], "zeros", int(np.sum(np.abs(p["w"]) < 1e-6)), "of", np.size(p["w"]))
(Path(__file__).parent / "lasso.json").write_text(json.dumps(problems, separators=(",", ":")) + "\n")
