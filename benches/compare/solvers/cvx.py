"""The problem written in CVXPY. Time is that of the whole `solve()`; what the solver itself took is noted beside it."""
import numpy as np
import scipy.sparse as sp

from solvers.conic import block_diagonal


def loss(cp, p, w):
    """Of the stacked models `w`."""
    if p.quadratic:
        # w'Hw - 2h'w, as |Rw - r|^2: smaller and faster than the rows themselves.
        R = np.linalg.cholesky(p.H + 1e-14 * np.eye(p.d)).transpose(0, 2, 1)
        r = np.linalg.solve(R.transpose(0, 2, 1), p.h[:, :, None])[:, :, 0]
        return cp.sum_squares(block_diagonal(R) @ w - r.ravel()) + (p.c.sum() - (r**2).sum())
    rows, d = len(p.node), p.d
    column = (p.node[:, None] * d + np.arange(d)).ravel()
    X = sp.csr_matrix((p.x.ravel(), column, np.arange(rows + 1) * d), shape=(rows, p.n * d))
    z = X @ w
    return p.row_weight @ (cp.logistic(z) - cp.multiply(p.y, z)) + p.ridge * cp.sum_squares(w)


def problem(cp, p):
    w = cp.Variable(p.n * p.d)
    V = cp.reshape(sp.kron(p.D, sp.eye(p.d), format="csr") @ w, (p.edges, p.d), order="C")
    if p.penalty == "squared":
        coupling = cp.sum_squares(cp.multiply(np.sqrt(p.a)[:, None] * np.ones((1, p.d)), V))
    else:
        coupling = p.a @ cp.norm(V, 2, axis=1)
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
