"""The problem as a cone program: `min 1/2 z'Pz + q'z` over `z = (w, t)` with `|w_i - w_j| <= t_e`."""
import numpy as np
import scipy.sparse as sp

from instance import block_matrix


def program(p):
    """P (upper triangle), q, A, b, cone sizes: `b - A z` lies in second-order cones."""
    nd, quadratic = p.n * p.d, p.penalty == "squared"
    eye = np.tile(np.eye(p.d), (p.edges, 1, 1))
    off = 2 * p.a[:, None, None] * eye if quadratic else 0 * eye
    H = block_matrix(p.i, p.j, 2 * p.H, off) if quadratic else block_diagonal(2 * p.H)
    if quadratic:
        return sp.triu(H).tocsc(), -2 * p.h.ravel(), sp.csc_matrix((0, nd)), np.zeros(0), []
    P = sp.block_diag([H, sp.csc_matrix((p.edges, p.edges))], format="csc")
    q = np.r_[-2 * p.h.ravel(), p.a]
    return sp.triu(P).tocsc(), q, cones(p), np.zeros(p.edges * (p.d + 1)), [p.d + 1] * p.edges


def block_diagonal(blocks):
    n, d = blocks.shape[:2]
    return sp.bsr_matrix((blocks, np.arange(n), np.arange(n + 1)), shape=(n * d, n * d)).tocsc()


def cones(p):
    """Rows of edge e: -t_e, then -(w_i - w_j)."""
    edge, k = np.arange(p.edges), np.arange(p.d)
    top = edge * (p.d + 1)
    below = (top[:, None] + 1 + k).ravel()
    head, tail = (p.i[:, None] * p.d + k).ravel(), (p.j[:, None] * p.d + k).ravel()
    row = np.r_[top, below, below]
    column = np.r_[p.n * p.d + edge, head, tail]
    value = np.r_[-np.ones(p.edges), -np.ones(len(below)), np.ones(len(below))]
    return sp.csc_matrix((value, (row, column)), shape=(p.edges * (p.d + 1), p.n * p.d + p.edges))


def models(p, z):
    return np.asarray(z)[:p.n * p.d].reshape(p.n, p.d)
