"""Cut pursuit (Landrieu, Obozinski, Raguet): graph cuts split regions, which are then fitted. An environment of its own, see `setup --tv`.

It counts regions in 16 bits: images with more of them than that are beyond it.
"""
import numpy as np

TITLE = "cut pursuit, pycut-pursuit"
PACKAGES = ("pycut_pursuit",)
LOSSES, PENALTIES = ("point",), ("norm2",)


def forward_star(p):
    """Where the edges of each node begin, and where they lead, in the order of their first node."""
    order = np.argsort(p.i, kind="stable")
    first = np.r_[0, np.cumsum(np.bincount(p.i, minlength=p.n))]
    return first.astype(np.uint32), p.j[order].astype(np.uint32), p.a[order]


def solve(p, run, tolerances=((1e-4, 10), (1e-5, 30), (1e-6, 60))):
    from pycut_pursuit.cp_d1_ql1b import cp_d1_ql1b
    from pycut_pursuit.cp_prox_tv import cp_prox_tv
    first, neighbour, weight = forward_star(p)
    points = np.ascontiguousarray(p.h)
    for tolerance, rounds in tolerances:
        run.again()
        # Half the objective: one half of the squared distance.
        options = {"edge_weights": weight / 2, "cp_dif_tol": tolerance, "cp_it_max": rounds, "verbose": 0}
        if p.d == 1:
            part, value = cp_d1_ql1b(points[:, 0].copy(), 1.0, first, neighbour, **options)[:2]
        else:
            part, value = cp_prox_tv(np.asfortranarray(points.T), first, neighbour, **options)[:2]
        run.used = {"tolerance": tolerance}
        if run.see(np.asarray(value).reshape(p.d, -1).T[part], rounds):
            return
