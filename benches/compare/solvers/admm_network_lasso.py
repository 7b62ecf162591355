"""Network-lasso ADMM (Hallac, Leskovec, Boyd 2015) with a copy of the model at both ends of every edge, vectorised."""
import numpy as np
import scipy.sparse as sp

from instance import apply
from solvers.chambolle_pock import newton_prox

TITLE = "network-lasso ADMM, numpy"
LOSSES, PENALTIES = ("squared", "point", "logistic"), ("norm2", "squared")


class Admm:
    """Models `W`, copies `Z`, scaled duals `U`; copies of the heads first."""

    def __init__(self, p, rho, relax):
        self.p, self.rho, self.relax = p, rho, relax
        self.end = np.r_[p.i, p.j]
        ends = 2 * p.edges
        self.gather = sp.csr_matrix((np.ones(ends), (self.end, np.arange(ends))), shape=(p.n, ends))
        self.W, self.Z, self.U = np.zeros((p.n, p.d)), np.zeros((ends, p.d)), np.zeros((ends, p.d))
        self.pull = rho * p.degree
        if p.quadratic:
            self.inverse = np.linalg.inv(2 * p.H + self.pull[:, None, None] * np.eye(p.d))

    def iterate(self):
        p, rho = self.p, self.rho
        total = self.gather @ (self.Z - self.U)
        if p.quadratic:
            self.W = apply(self.inverse, 2 * p.h + rho * total)
        else:
            self.W = newton_prox(p, total / p.degree[:, None], self.pull, self.W)
        both = self.relax * self.W[self.end] + (1 - self.relax) * self.Z + self.U
        head, tail = both[:p.edges], both[p.edges:]
        share = self.share(head - tail)[:, None]
        self.Z = np.vstack([share * head + (1 - share) * tail, (1 - share) * head + share * tail])
        self.U = both - self.Z

    def share(self, difference):
        """How much of its own point an end keeps; one half joins both ends."""
        a, rho = self.p.a, self.rho
        if self.p.penalty == "squared":
            return (2 * a + rho) / (4 * a + rho)
        norm = np.sqrt((difference**2).sum(1))
        return np.maximum(1 - a / (rho * np.maximum(norm, 1e-300)), 0.5)


def solve(p, run, rho=1.0, relax=1.6, every=10, iterations=1_000_000):
    run.start()
    method = Admm(p, rho, relax)
    for k in range(1, iterations + 1):
        method.iterate()
        if k % every == 0 and run.see(method.W, k):
            return
