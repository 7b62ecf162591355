"""A problem as its files say, with everything solvers share: losses, gradients, the incidence matrix, the objective."""
import io
import json
from pathlib import Path

import numpy as np
import scipy.sparse as sp


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
        self.ridge = about["loss_params"].get("ridge", 0.0)
        self.n, self.d = len(about["nodes"]), about["dim"]
        self.node, self.x, self.y = table[:, 0].astype(int), table[:, 1:-1], table[:, -1]
        self.i, self.j = edges[:, 0].astype(int), edges[:, 1].astype(int)
        self.edges = len(edges)
        self.a = about["lambda"] * edges[:, 2]
        self._incidence()
        self.row_weight = 1 / np.bincount(self.node, minlength=self.n)[self.node]
        rows = len(self.node)
        self.sum_rows = sp.csr_matrix((np.ones(rows), (self.node, np.arange(rows))), shape=(self.n, rows))
        self.quadratic = self.loss in ("squared", "point")
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
        z = self.scores(W)
        return (self.row_weight * (np.logaddexp(0, z) - self.y * z)).sum() + self.ridge * (W**2).sum()

    def gradient(self, W):
        if self.quadratic:
            return 2 * (apply(self.H, W) - self.h)
        slope = self.row_weight * (1 / (1 + np.exp(-self.scores(W))) - self.y)
        return self.sum_rows @ (slope[:, None] * self.x) + 2 * self.ridge * W

    def hessian(self, W):
        if self.quadratic:
            return 2 * self.H
        q = 1 / (1 + np.exp(-self.scores(W)))
        return self.outer_sum(self.row_weight * q * (1 - q)) + 2 * self.ridge * np.eye(self.d)

    def objective(self, W):
        V = self.D @ W
        phi = (V**2).sum(1)
        return self.loss_value(W) + (self.a * (phi if self.penalty == "squared" else np.sqrt(phi))).sum()

    def project(self, U):
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
