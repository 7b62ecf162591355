"""The problem written in CVXPY. Time is that of the whole `solve()`; what the solver itself took is noted beside it."""
import numpy as np
import scipy.sparse as sp

from solvers.conic import block_diagonal

LOSSES = ("squared", "point", "logistic", "absolute", "quantile", "huber", "squared-hinge", "poisson", "multinomial")


def loss(cp, p, w):
    """Of the stacked models `w`."""
    if p.quadratic:
        # w'Hw - 2h'w, as |Rw - r|^2: smaller and faster than the rows themselves.
        R = np.linalg.cholesky(p.H + 1e-14 * np.eye(p.d)).transpose(0, 2, 1)
        r = np.linalg.solve(R.transpose(0, 2, 1), p.h[:, :, None])[:, :, 0]
        return cp.sum_squares(block_diagonal(R) @ w - r.ravel()) + (p.c.sum() - (r**2).sum())
    ridge = p.ridge * cp.sum_squares(w) if p.ridge else 0
    if p.loss == "multinomial":
        z = cp.hstack([cp.reshape(rows(p, k) @ w, (len(p.node), 1), order="C") for k in range(p.classes)])
        hit = np.eye(p.classes)[p.y.astype(int)]
        return p.row_weight @ (cp.log_sum_exp(z, axis=1) - cp.sum(cp.multiply(hit, z), axis=1)) + ridge
    return pointwise(cp, p, rows(p) @ w) + ridge


def rows(p, block=0):
    """The matrix that maps all models to the scores of all rows, for one class of several."""
    count, features = p.x.shape
    column = (p.node[:, None] * p.d + block * features + np.arange(features)).ravel()
    return sp.csr_matrix((p.x.ravel(), column, np.arange(count + 1) * features), shape=(count, p.n * p.d))


def pointwise(cp, p, z):
    """The losses of all rows at scores `z`, weighed."""
    a, y, sign = p.row_weight, p.y, 2 * p.y - 1
    if p.loss == "logistic":
        return a @ (cp.logistic(z) - cp.multiply(y, z))
    if p.loss == "absolute":
        return a @ cp.abs(z - y)
    if p.loss == "quantile":
        q = p.params["quantile"]
        return a @ cp.maximum(q * (y - z), (q - 1) * (y - z))
    if p.loss == "huber":
        return 0.5 * (a @ cp.huber(z - y, p.params["huber_delta"]))
    if p.loss == "poisson":
        return a @ (cp.exp(z) - cp.multiply(y, z))
    return a @ cp.square(cp.pos(1 - cp.multiply(sign, z)))


def problem(cp, p):
    w = cp.Variable(p.n * p.d)
    V = cp.reshape(sp.kron(p.D, sp.eye(p.d), format="csr") @ w, (p.edges, p.d), order="C")
    if p.penalty == "squared":
        coupling = cp.sum_squares(cp.multiply(np.sqrt(p.a)[:, None] * np.ones((1, p.d)), V))
    else:
        coupling = p.a @ cp.norm(V, 1 if p.penalty == "norm1" else 2, axis=1)
    return w, cp.Problem(cp.Minimize(loss(cp, p, w) + coupling))


def race(p, run, solver, options, tolerances):
    """One attempt per tolerance; the first that is accurate enough counts."""
    import cvxpy as cp
    for tolerance in tolerances:
        run.again()
        w, stated = problem(cp, p)
        stated.solve(solver=solver, **options(tolerance, run.limit))
        run.own_seconds, run.used = stated.solver_stats.solve_time, {"tolerance": tolerance}
        if run.see(w.value.reshape(p.n, p.d), stated.solver_stats.num_iters):
            return
