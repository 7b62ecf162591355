"""CVXPY with SCS."""
from solvers import cvx

TITLE = "CVXPY + SCS"
PACKAGES = ("cvxpy", "scs")
LOSSES, PENALTIES = cvx.LOSSES, ("norm2", "norm1", "squared")


def solve(p, run, tolerances=(1e-4, 1e-5, 1e-6, 1e-7)):
    def options(tolerance, limit):
        return {"eps_abs": tolerance, "eps_rel": tolerance, "max_iters": 1_000_000, "time_limit_secs": limit}
    cvx.race(p, run, "SCS", options, tolerances)
