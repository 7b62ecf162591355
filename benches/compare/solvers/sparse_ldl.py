"""Sparse LDL' of qdldl, for the squared penalty."""
from solvers import linear
from solvers.admm_sparse import factor

TITLE = "sparse direct, qdldl"
PACKAGES = ("qdldl",)
LOSSES, PENALTIES = linear.LOSSES, linear.PENALTIES


def solve(p, run):
    linear.direct(p, run, lambda A, b: factor(A).solve(b))
