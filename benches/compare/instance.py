"""A problem as its files say, with everything solvers share: losses, gradients, the incidence matrix, the objective."""
import io
import json
from pathlib import Path

import numpy as np
import scipy.sparse as sp

# Entries of the matrices of all nodes at most.
WIDE = 2e7


def numbers(path):
    """A CSV file without its header, as floats; names `n12` become 12."""
    text = Path(path).read_text()
    return np.loadtxt(io.StringIO(text[text.index("\n") + 1:].replace("n", "")), delimiter=",", ndmin=2)


class Instance:
    """`F(W) = sum_i L_i(w_i) + sum_e a_e phi(w_i - w_j)`; for quadratic losses `L_i = w'H_i w - 2 h_i'w + c_i`."""

    def __init__(self, folder):
        about = json.loads((Path(folder) / "problem.json").read_text())
        table, edges = numbers(Path(folder) / "nodes.csv"), numbers(Path(folder) / "edges.csv")
        self.name = Path(folder).name
        self.loss, self.penalty = about["loss"], about["penalty"]
        self.params = about["loss_params"]
        self.ridge = self.params.get("ridge", 0.0)
        self.classes = self.params.get("classes", 1)
        self.n, self.d = len(about["nodes"]), about["dim"] * self.classes
        self.node, self.x, self.y = table[:, 0].astype(int), table[:, 1:-1], table[:, -1]
        self.i, self.j = edges[:, 0].astype(int), edges[:, 1].astype(int)
        self.edges = len(edges)
        self.a = about["lambda"] * edges[:, 2]
        self._incidence()
        self.row_weight = 1 / np.bincount(self.node, minlength=self.n)[self.node]
        rows = len(self.node)
        self.sum_rows = sp.csr_matrix((np.ones(rows), (self.node, np.arange(rows))), shape=(self.n, rows))
        # So many features that a matrix per node is out of the question.
        self.wide = self.loss == "squared" and self.n * self.d**2 > WIDE
        self.quadratic = self.loss in ("squared", "point") and not self.wide
        if self.quadratic:
            self._moments()

    def _incidence(self):
        ones, e = np.ones(self.edges), np.arange(self.edges)
        values, columns = np.r_[ones, -ones], np.r_[self.i, self.j]
        self.D = sp.csr_matrix((values, (np.r_[e, e], columns)), shape=(self.edges, self.n))
        self.DT = self.D.T.tocsr()
        self.degree = np.maximum(np.asarray(abs(self.D).sum(0)).ravel(), 1)

    def _moments(self):
        w = self.row_weight[:, None]
        if self.loss == "squared":
            self.H = self.outer_sum(self.row_weight)
            self.h, self.c = self.sum_rows @ (w * self.y[:, None] * self.x), self.sum_rows @ (w[:, 0] * self.y**2)
        else:
            has_rows = np.bincount(self.node, minlength=self.n) > 0
            self.H = np.tile(np.eye(self.d), (self.n, 1, 1)) * has_rows[:, None, None]
            self.h, self.c = self.sum_rows @ (w * self.x), self.sum_rows @ (w[:, 0] * (self.x**2).sum(1))

    def outer_sum(self, weight):
        """`sum_r weight_r x_r x_r'` of every node."""
        products = (weight[:, None, None] * self.x[:, :, None] * self.x[:, None, :]).reshape(len(self.node), -1)
        return (self.sum_rows @ products).reshape(self.n, self.d, self.d)

    def scores(self, W):
        return (self.x * W[self.node]).sum(1)

    def loss_value(self, W):
        if self.quadratic:
            return (apply(self.H, W) * W).sum() - 2 * (self.h * W).sum() + self.c.sum()
        if self.loss == "multinomial":
            z = np.einsum("rd,rkd->rk", self.x, W[self.node].reshape(len(self.node), self.classes, -1))
            rows = np.logaddexp.reduce(z, axis=1) - z[np.arange(len(z)), self.y.astype(int)]
        else:
            rows = self.pointwise(self.scores(W))[0]
        return (self.row_weight * rows).sum() + self.ridge * (W**2).sum()

    def pointwise(self, z):
        """Value, slope and curvature of every row at its score."""
        y, sign = self.y, 2 * self.y - 1
        if self.loss == "squared":
            return (z - y)**2, 2 * (z - y), 2 + 0 * z
        if self.loss == "logistic":
            q = 1 / (1 + np.exp(-z))
            return np.logaddexp(0, z) - y * z, q - y, q * (1 - q)
        if self.loss == "squared-hinge":
            short = np.maximum(0, 1 - sign * z)
            return short**2, -2 * sign * short, 2.0 * (short > 0)
        if self.loss == "poisson":
            mean = np.exp(np.minimum(z, 50))
            return mean - y * z, mean - y, mean
        if self.loss == "huber":
            r, delta = z - y, self.params["huber_delta"]
            near = np.abs(r) <= delta
            return np.where(near, r**2 / 2, delta * (np.abs(r) - delta / 2)), np.clip(r, -delta, delta), 1.0 * near
        # The score should be above the label as often as the level says.
        high = 1.0 if self.loss == "absolute" else 1 - self.params["quantile"]
        low = -1.0 if self.loss == "absolute" else -self.params["quantile"]
        return np.maximum(low * (z - y), high * (z - y)), np.where(z > y, high, low), 0 * z

    def gradient(self, W):
        if self.quadratic:
            return 2 * (apply(self.H, W) - self.h)
        slope = self.row_weight * self.pointwise(self.scores(W))[1]
        return self.sum_rows @ (slope[:, None] * self.x) + 2 * self.ridge * W

    def hessian(self, W):
        if self.quadratic:
            return 2 * self.H
        curvature = self.pointwise(self.scores(W))[2]
        return self.outer_sum(self.row_weight * curvature) + 2 * self.ridge * np.eye(self.d)

    def objective(self, W):
        V = self.D @ W
        phi = {"norm2": lambda: np.sqrt((V**2).sum(1)), "norm1": lambda: np.abs(V).sum(1),
               "squared": lambda: (V**2).sum(1)}[self.penalty]()
        return self.loss_value(W) + (self.a * phi).sum()

    def project(self, U):
        if self.penalty == "norm1":
            return np.clip(U, -self.a[:, None], self.a[:, None])
        return project(U, self.a)


def apply(blocks, W):
    """Every d x d block times its row."""
    return np.matmul(blocks, W[:, :, None])[:, :, 0]


def project(U, radius):
    """Every row onto its ball."""
    norm = np.sqrt((U**2).sum(1))
    return U * np.minimum(1, radius / np.maximum(norm, 1e-300))[:, None]


def block_matrix(i, j, diagonal, off):
    """Sparse matrix with `diagonal` blocks, plus every edge's block `off` in the pattern of a Laplacian."""
    n, d = diagonal.shape[:2]
    diagonal = diagonal.copy()
    np.add.at(diagonal, i, off)
    np.add.at(diagonal, j, off)
    row, column = np.r_[np.arange(n), i, j], np.r_[np.arange(n), j, i]
    blocks = np.concatenate([diagonal, -off, -off])
    order = np.lexsort((column, row))
    pointer = np.searchsorted(row[order], np.arange(n + 1))
    return sp.bsr_matrix((blocks[order], column[order], pointer), shape=(n * d, n * d))
