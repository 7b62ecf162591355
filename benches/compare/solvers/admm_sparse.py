"""ADMM on `v = D w` whose step in `w` is one sparse LDL' factorisation of `2H + rho D'D`, used in every iteration."""
import numpy as np
import scipy.sparse as sp

from instance import block_matrix, project

TITLE = "ADMM with one sparse LDL', qdldl"
PACKAGES = ("qdldl",)
LOSSES, PENALTIES = ("squared", "point"), ("norm2", "squared")


def factor(matrix):
    import qdldl
    return qdldl.Solver(sp.triu(matrix.tocsc()).tocsc(), upper=True)


def solve(p, run, rho=3.0, relax=1.7, every=5, iterations=1_000_000):
    run.start()
    eye = np.tile(np.eye(p.d), (p.edges, 1, 1))
    factors = factor(block_matrix(p.i, p.j, 2 * p.H, rho * eye))
    V, U = np.zeros((p.edges, p.d)), np.zeros((p.edges, p.d))
    for k in range(1, iterations + 1):
        W = factors.solve((2 * p.h + rho * (p.DT @ (V - U))).ravel()).reshape(p.n, p.d)
        B = relax * (p.D @ W) + (1 - relax) * V + U
        V = B - project(B, p.a / rho) if p.penalty == "norm2" else B * (rho / (2 * p.a + rho))[:, None]
        U = B - V
        if k % every == 0 and run.see(W, k):
            return
