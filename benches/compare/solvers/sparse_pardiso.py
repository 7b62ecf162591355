"""Pardiso of MKL through pypardiso, for the squared penalty."""
from solvers import linear

TITLE = "sparse direct, MKL Pardiso"
PACKAGES = ("pypardiso",)
LOSSES, PENALTIES = linear.LOSSES, linear.PENALTIES


def solve(p, run):
    import scipy.sparse as sp
    from pypardiso import PyPardisoSolver
    # 2: real symmetric positive definite; the upper triangle is all it reads.
    linear.direct(p, run, lambda A, b: PyPardisoSolver(mtype=2).solve(sp.triu(A, format="csr"), b))
