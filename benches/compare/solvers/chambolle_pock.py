"""Chambolle-Pock (the primal-dual method of the GTVMin paper), vectorised; `ratio` 1 is the paper's step sizes."""
import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import splu

from instance import apply

TITLE = "Chambolle-Pock, numpy"
LOSSES = ("squared", "point", "logistic", "huber", "squared-hinge", "poisson")
PENALTIES = ("norm2", "norm1", "squared")


class PrimalDual:
    """The iterates, shared with the hybrid."""

    def __init__(self, p, ratio):
        self.p, self.tau, self.sigma = p, ratio / p.degree, 0.5 / ratio
        self.W, self.U = np.zeros((p.n, p.d)), np.zeros((p.edges, p.d))
        if p.wide:
            self.wide = WideProx(p, self.tau)
        if p.quadratic:
            self.inverse = np.linalg.inv(2 * self.tau[:, None, None] * p.H + np.eye(p.d))
            self.shift = 2 * self.tau[:, None] * p.h

    def iterate(self):
        p, before = self.p, self.W
        V = before - self.tau[:, None] * (p.DT @ self.U)
        if p.wide:
            self.W = self.wide(V)
        else:
            self.W = apply(self.inverse, V + self.shift) if p.quadratic else newton_prox(p, V, 1 / self.tau, before)
        U = self.U + self.sigma * (p.D @ (2 * self.W - before))
        self.U = U / (1 + self.sigma / (2 * p.a))[:, None] if p.penalty == "squared" else p.project(U)


class WideProx:
    """`argmin L_i(w) + |w - v_i|^2 / (2 tau_i)` by a kernel between the rows of a node (Woodbury), rows as a sparse matrix."""

    def __init__(self, p, tau):
        rows = len(p.node)
        column = (p.node[:, None] * p.d + np.arange(p.d)).ravel()
        kept = p.x.ravel() != 0
        count = np.r_[0, np.cumsum((p.x != 0).sum(1))]
        self.X = sp.csr_matrix((p.x.ravel()[kept], column[kept], count), shape=(rows, p.n * p.d))
        self.XT = self.X.T.tocsr()
        self.scale = 2 * (tau[p.node] * p.row_weight)
        kernel = (self.X @ self.XT).multiply(self.scale[:, None]) + sp.eye(rows)
        self.kernel, self.y, self.shape = splu(kernel.tocsc()), p.y, (p.n, p.d)

    def __call__(self, V):
        # w = v - X'c with (I + s X X') c = s (X v - y), s = 2 tau a.
        c = self.kernel.solve(self.scale * (self.X @ V.ravel() - self.y))
        return V - (self.XT @ c).reshape(self.shape)


def newton_prox(p, V, rho, W, steps=3):
    """`argmin L_i(w) + rho_i/2 |w - v_i|^2`, some Newton steps from the last point."""
    for _ in range(steps):
        gradient = p.gradient(W) + rho[:, None] * (W - V)
        W = W - np.linalg.solve(p.hessian(W) + rho[:, None, None] * np.eye(p.d), gradient[:, :, None])[:, :, 0]
    return W


def solve(p, run, ratio=0.1, every=10, iterations=1_000_000):
    run.start()
    method = PrimalDual(p, ratio)
    for k in range(1, iterations + 1):
        method.iterate()
        if k % every == 0 and run.see(method.W, k):
            return
