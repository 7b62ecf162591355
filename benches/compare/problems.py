#!/usr/bin/env python3
"""Writes the benchmark problems; the same name gives the same files on any machine.

    problems.py               lists the names
    problems.py OUT NAME ...  writes OUT/NAME/nodes.csv, edges.csv, problem.json

    minimise  sum_i (mean loss of node i)  +  lambda * sum_edges weight * phi(w_i - w_j)

nl_*     network lasso: a 6-nearest-neighbour graph in the unit square, one true model per quadrant
sq_*     the same data with the squared penalty
logit_*  the same with logistic labels and a small ridge
cc_*     convex clustering: blobs, a 10-nearest-neighbour graph, Gaussian weights
chain_*  a chain of ten segments
tableI   two blocks of a stochastic block model, more features than rows
wide_*   many features, of which a row has a tenth, and few rows
tv_*     total variation of a noisy image with four levels, of numbers or of colours
loss_*   every loss with every penalty on three kinds of graph (every_loss.py)
"""
import json
import sys
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from scipy.spatial import cKDTree

from every_loss import all_problems


@dataclass
class Instance:
    """One problem. Row `r` of `x` and `y` belongs to node `node[r]`."""
    nodes: int
    x: np.ndarray
    y: np.ndarray
    node: np.ndarray
    edges: np.ndarray
    weight: np.ndarray
    strength: float
    loss: str = "squared"
    loss_params: dict = field(default_factory=dict)
    penalty: str = "norm2"


def nearest_edges(points, k):
    """Pairs (i < j), sorted, of which either counts the other among its k nearest."""
    _, near = cKDTree(points).query(points, k + 1)
    pairs = {(min(i, int(j)), max(i, int(j))) for i in range(len(points)) for j in near[i, 1:]}
    return np.array(sorted(pairs))


def quadrants(seed, n, d, strength=0.5, rows=None, loss="squared", penalty="norm2", empty=0.0):
    """Nodes in the unit square; the four quadrants have a true model each. The order of the draws is the format."""
    rng = np.random.default_rng(seed)
    points = rng.random((n, 2))
    edges = nearest_edges(points, 6)
    quadrant = (points[:, 0] > 0.5).astype(int) * 2 + (points[:, 1] > 0.5).astype(int)
    models = rng.standard_normal((4, d))
    count = np.full(n, rows or 2 * d)
    if empty:
        count[rng.random(n) < empty] = 0
    node = np.repeat(np.arange(n), count)
    x = rng.standard_normal((len(node), d))
    score = (x * models[quadrant[node]]).sum(1)
    if loss == "squared":
        y, params = score + 0.3 * rng.standard_normal(len(node)), {}
    else:
        y = (rng.random(len(node)) < 1 / (1 + np.exp(-score))).astype(float)
        params = {"labels": "01", "ridge": 1e-3}
    weight = np.round(rng.uniform(0.5, 1.5, len(edges)), 6)
    return Instance(n, x, y, node, edges, weight, strength, loss, params, penalty)


def two_blocks(seed):
    """200 nodes in two blocks with 10 rows of 100 features each."""
    rng = np.random.default_rng(seed)
    n, d, rows = 200, 100, 10
    block = np.arange(n) // 100
    i, j = np.triu_indices(n, 1)
    kept = rng.random(len(i)) < np.where(block[i] == block[j], 0.5, 0.01)
    models = 0.5 * (rng.random((2, d)) < 0.5)
    node = np.repeat(np.arange(n), rows)
    x = rng.standard_normal((n * rows, d))
    y = (x * models[block[node]]).sum(1) + 1e-3 * rng.standard_normal(n * rows)
    edges = np.c_[i[kept], j[kept]]
    return Instance(n, x, y, node, edges, np.ones(len(edges)), 0.01)


def blobs(seed, n, d):
    """Convex clustering of five blobs."""
    rng = np.random.default_rng(seed)
    x = (3 * rng.standard_normal((5, d)))[np.arange(n) % 5] + 0.7 * rng.standard_normal((n, d))
    edges = nearest_edges(x, 10)
    weight = np.round(np.exp(-0.5 * ((x[edges[:, 0]] - x[edges[:, 1]]) ** 2).sum(1)), 6)
    return Instance(n, x, np.zeros(n), np.arange(n), edges, np.maximum(weight, 1e-6), 0.3, "point")


def many_blobs(seed, n, d, k=10):
    """Convex clustering at scale: twenty blobs; the median squared distance of neighbours is the width."""
    rng = np.random.default_rng(seed)
    centres = 3 * rng.standard_normal((20, d))
    x = np.round(centres[np.arange(n) % 20] + 0.7 * rng.standard_normal((n, d)), 5)
    distance, near = cKDTree(x).query(x, k + 1, workers=-1)
    i, j, squared = np.repeat(np.arange(n), k), near[:, 1:].ravel(), distance[:, 1:].ravel() ** 2
    edges, first = np.unique(np.c_[np.minimum(i, j), np.maximum(i, j)], axis=0, return_index=True)
    weight = np.round(np.exp(-squared[first] / np.median(squared)), 6)
    return Instance(n, x, np.zeros(n), np.arange(n), edges, np.maximum(weight, 1e-6), 0.3, "point")


def segments(seed, n, d):
    """A chain of ten segments with a true model each."""
    rng = np.random.default_rng(seed)
    models = rng.standard_normal((10, d))
    node = np.repeat(np.arange(n), 2 * d)
    x = rng.standard_normal((len(node), d))
    y = (x * models[(np.arange(n) * 10 // n)[node]]).sum(1) + 0.5 * rng.standard_normal(len(node))
    return Instance(n, x, y, node, np.c_[np.arange(n - 1), np.arange(1, n)], np.ones(n - 1), 1.0)


def wide(seed, n, d, rows, density=0.1):
    """More features than rows, most of them zero in a row; four regions, each with a model of its own."""
    rng = np.random.default_rng(seed)
    points = rng.random((n, 2))
    quadrant = (points[:, 0] > 0.5).astype(int) * 2 + (points[:, 1] > 0.5).astype(int)
    models = rng.standard_normal((4, d)) / np.sqrt(density * d)
    node = np.repeat(np.arange(n), rows)
    x = np.where(rng.random((n * rows, d)) < density, np.round(rng.standard_normal((n * rows, d)), 3), 0.0)
    y = np.round((x * models[quadrant[node]]).sum(1) + 0.1 * rng.standard_normal(n * rows), 5)
    edges = nearest_edges(points, 6)
    return Instance(n, x, y, node, edges, np.round(rng.uniform(0.5, 1.5, len(edges)), 6), 0.1)


def image(seed, side, channels, noise=0.2, strength=0.3):
    """Pixels of a square image, joined with those beside and below: forty regions, each with one of four levels, and noise."""
    rng = np.random.default_rng(seed)
    centres, level = rng.random((40, 2)), rng.integers(0, 4, 40)
    line = (np.arange(side) + 0.5) / side
    pixels = np.c_[np.repeat(line, side), np.tile(line, side)]
    _, region = cKDTree(centres).query(pixels)
    x = np.round(level[region][:, None] + noise * rng.standard_normal((side * side, channels)), 5)
    name = np.arange(side * side).reshape(side, side)
    edges = np.r_[np.c_[name[:, :-1].ravel(), name[:, 1:].ravel()], np.c_[name[:-1].ravel(), name[1:].ravel()]]
    edges = edges[np.lexsort((edges[:, 1], edges[:, 0]))]
    return Instance(side * side, x, np.zeros(side * side), name.ravel(), edges, np.ones(len(edges)), strength, "point")


def rounded(made):
    made.x, made.y = np.round(made.x, 5), np.round(made.y, 5)
    return made


PROBLEMS = {
    "nl_n100_d5": lambda: quadrants(1, 100, 5),
    "nl_n300_d5": lambda: quadrants(2, 300, 5),
    "nl_n1000_d5": lambda: quadrants(3, 1000, 5),
    "nl_n1000_d10": lambda: quadrants(4, 1000, 10),
    "nl_n3000_d10": lambda: quadrants(5, 3000, 10),
    "nl_n10000_d10": lambda: quadrants(6, 10000, 10),
    "nl_n30000_d10": lambda: quadrants(12, 30000, 10),
    "nl_n100000_d10": lambda: rounded(quadrants(13, 100000, 10, rows=12)),
    "nl_n1000_d10_nodata": lambda: quadrants(7, 1000, 10, empty=0.4),
    "sq_n3000_d10": lambda: quadrants(5, 3000, 10, penalty="squared"),
    "sq_n10000_d10": lambda: quadrants(6, 10000, 10, penalty="squared"),
    "logit_n1000_d5": lambda: quadrants(8, 1000, 5, strength=0.05, rows=20, loss="logistic"),
    "cc_n1000_d2": lambda: blobs(9, 1000, 2),
    "cc_n5000_d10": lambda: blobs(10, 5000, 10),
    "cc_n100000_d7": lambda: many_blobs(14, 100000, 7),
    "cc_n1000000_d7": lambda: many_blobs(15, 1000000, 7),
    "chain_n2000_d5": lambda: segments(11, 2000, 5),
    "tableI": lambda: two_blocks(0),
    "wide_n200_d500": lambda: wide(22, 200, 500, 50),
    "wide_n200_d2000": lambda: wide(21, 200, 2000, 50),
    "tv_n10000_d1": lambda: image(17, 100, 1),
    "tv_n90000_d1": lambda: image(18, 300, 1),
    "tv_n1000000_d1": lambda: image(19, 1000, 1),
    "tv_n10000_d3": lambda: image(20, 100, 3),
} | all_problems(Instance, nearest_edges)


def write(made, folder):
    """Three files; `problem.json` comes last, so that a folder with it is complete."""
    folder.mkdir(parents=True, exist_ok=True)
    d = made.x.shape[1]
    with open(folder / "nodes.csv", "w") as out:
        out.write("node," + ",".join(f"x{k + 1}" for k in range(d)) + ",y\n")
        for node, x, y in zip(made.node, made.x, made.y):
            out.write(f"n{node}," + ",".join(repr(float(v)) if v else "0" for v in x) + f",{float(y)!r}\n")
    with open(folder / "edges.csv", "w") as out:
        out.write("source,target,weight\n")
        for (i, j), weight in zip(made.edges, made.weight):
            out.write(f"n{i},n{j},{float(weight)!r}\n")
    about = {"loss": made.loss, "loss_params": made.loss_params, "penalty": made.penalty, "lambda": made.strength,
             "dim": d, "nodes": [f"n{i}" for i in range(made.nodes)]}
    (folder / "problem.json").write_text(json.dumps(about))


def main(arguments):
    if not arguments:
        print("\n".join(PROBLEMS))
        return
    unknown = [name for name in arguments[1:] if name not in PROBLEMS]
    if unknown:
        sys.exit(f"unknown problem {', '.join(unknown)}; there are {', '.join(PROBLEMS)}")
    for name in arguments[1:]:
        write(PROBLEMS[name](), Path(arguments[0]) / name)


if __name__ == "__main__":
    main(sys.argv[1:])
