"""Sparse LU of SciPy (SuperLU) with a symmetric ordering, for the squared penalty."""
from solvers import linear

TITLE = "sparse direct, scipy splu"
LOSSES, PENALTIES = linear.LOSSES, linear.PENALTIES


def solve(p, run, ordering="MMD_AT_PLUS_A"):
    from scipy.sparse.linalg import splu
    options = {"SymmetricMode": True}
    linear.direct(p, run, lambda A, b: splu(A.tocsc(), permc_spec=ordering, diag_pivot_thresh=0.0,
                                            options=options).solve(b))
