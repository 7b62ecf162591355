"""CVXPY with Clarabel, as most people run it: the first tolerance is Clarabel's default."""
from solvers import cvx

TITLE = "CVXPY + Clarabel (defaults)"
PACKAGES = ("cvxpy", "clarabel")
LOSSES, PENALTIES = cvx.LOSSES, ("norm2", "norm1", "squared")


def solve(p, run, tolerances=(1e-8, 1e-10)):
    def options(tolerance, limit):
        return {"tol_gap_rel": tolerance, "tol_gap_abs": tolerance, "tol_feas": tolerance, "time_limit": limit}
    cvx.race(p, run, "CLARABEL", options, tolerances)
