"""Chambolle-Pock to find which edges are fused, then Newton's method on the graph of clusters."""
import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from instance import apply, block_matrix
from solvers.admm_sparse import factor
from solvers.chambolle_pock import PrimalDual

TITLE = "fused-graph Newton hybrid, numpy"
PACKAGES = ("qdldl",)
LOSSES, PENALTIES = ("squared", "point", "logistic"), ("norm2",)
DENSE_MAX = 1500
COLLAPSED = 1e-6


class Reduced:
    """The problem over clusters: losses add up, parallel edges are one."""

    def __init__(self, p, label, count):
        self.p, self.label, self.count = p, label, count
        a, b = label[p.i], label[p.j]
        cut = a != b
        key = np.minimum(a, b)[cut].astype(np.int64) * count + np.maximum(a, b)[cut]
        key, inverse = np.unique(key, return_inverse=True)
        self.i, self.j = key // count, key % count
        self.a = np.bincount(inverse, weights=p.a[cut], minlength=len(key))
        self.sum = sp.csr_matrix((np.ones(p.n), (label, np.arange(p.n))), shape=(count, p.n))
        if p.quadratic:
            self.H, self.h, self.c = self.blocks(p.H), self.sum @ p.h, p.c.sum()

    def blocks(self, H):
        return (self.sum @ H.reshape(self.p.n, -1)).reshape(self.count, self.p.d, self.p.d)

    def means(self, W):
        return (self.sum @ W) / np.asarray(self.sum.sum(1))

    def value(self, C):
        norm = np.sqrt(((C[self.i] - C[self.j])**2).sum(1))
        if not self.p.quadratic:
            return self.p.loss_value(C[self.label]) + (self.a * norm).sum()
        return (apply(self.H, C) * C).sum() - 2 * (self.h * C).sum() + self.c + (self.a * norm).sum()

    def derivatives(self, C):
        """Gradient, blocks of the Hessian of the losses, blocks of the edges."""
        p, v = self.p, C[self.i] - C[self.j]
        norm = np.sqrt((v**2).sum(1))
        unit = v / np.maximum(norm, 1e-300)[:, None]
        gradient = 2 * (apply(self.H, C) - self.h) if p.quadratic else self.sum @ p.gradient(C[self.label])
        np.add.at(gradient, self.i, self.a[:, None] * unit)
        np.add.at(gradient, self.j, -self.a[:, None] * unit)
        H = 2 * self.H if p.quadratic else self.blocks(p.hessian(C[self.label]))
        off = (self.a / norm)[:, None, None] * (np.eye(p.d) - unit[:, :, None] * unit[:, None, :])
        return gradient, H + 1e-13 * np.abs(H).max() * np.eye(p.d), off

    def direction(self, C):
        gradient, H, off = self.derivatives(C)
        matrix = block_matrix(self.i, self.j, H, off)
        if self.count * self.p.d <= DENSE_MAX:
            step = -np.linalg.solve(matrix.toarray(), gradient.ravel())
        else:
            step = -factor(matrix).solve(gradient.ravel())
        return gradient, step.reshape(C.shape)

    def collapsed(self, C):
        """Edges to fuse, if one of them has become so short that the penalty has no curvature there."""
        norm = np.sqrt(((C[self.i] - C[self.j])**2).sum(1))
        limit = COLLAPSED * np.abs(C).max()
        return np.nonzero(norm < 1e3 * limit)[0] if len(norm) and norm.min() < limit else None

    def newton(self, C, steps=50):
        """The minimiser, or a point where clusters meet."""
        value = self.value(C)
        for _ in range(steps):
            if self.collapsed(C) is not None:
                break
            gradient, step = self.direction(C)
            t, slope = 1.0, (gradient * step).sum()
            while (new := self.value(C + t * step)) > value + 1e-4 * t * slope:
                t /= 2
                if t < 1e-8:
                    return C, value
            C, value, before = C + t * step, new, value
            if before - value <= 1e-14 * abs(value):
                break
        return C, value


def components(i, j, n):
    return connected_components(sp.csr_matrix((np.ones(len(i)), (i, j)), shape=(n, n)), directed=False)


def fused_edges(p, W, U):
    """A flow inside its ball means equal ends."""
    inside = np.sqrt((U**2).sum(1)) < p.a * (1 - 1e-6)
    return inside | (np.sqrt(((p.D @ W)**2).sum(1)) < 1e-4 * np.abs(W).max())


def polish(p, W, U, merges=40):
    fused = fused_edges(p, W, U)
    count, label = components(p.i[fused], p.j[fused], p.n)
    for _ in range(merges):
        reduced = Reduced(p, label, count)
        C, value = reduced.newton(reduced.means(W))
        meet = reduced.collapsed(C)
        if meet is None:
            break
        count, merged = components(reduced.i[meet], reduced.j[meet], count)
        label = merged[label]
    return C[reduced.label], value


def solve(p, run, ratio=0.3, chunk=150, growth=1.5):
    run.start()
    method, best, best_value, k = PrimalDual(p, ratio), None, np.inf, 0
    while True:
        for _ in range(int(chunk)):
            method.iterate()
        k += int(chunk)
        W, value = polish(p, method.W, method.U)
        if value < best_value:
            best, best_value = W, value
        if run.see(best, k):
            return
        chunk *= growth
