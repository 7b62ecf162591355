"""Sparse Cholesky of CHOLMOD through scikit-sparse, for the squared penalty."""
from solvers import linear

TITLE = "sparse direct, CHOLMOD"
PACKAGES = ("sksparse",)
LOSSES, PENALTIES = linear.LOSSES, linear.PENALTIES


def solve(p, run):
    from sksparse.cholmod import cholesky
    linear.direct(p, run, lambda A, b: cholesky(A.tocsc())(b))
