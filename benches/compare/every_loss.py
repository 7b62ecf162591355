"""Every loss with every penalty on three kinds of graph: 1,500 nodes with 12 rows of 6 features (softmax: 4 features, 3 classes)."""
from collections import deque

import numpy as np

LOSSES = ("squared", "absolute", "huber", "quantile", "logistic", "multinomial", "squared-hinge", "poisson", "point")
PENALTIES = {"norm2": 0.1, "norm1": 0.05, "squared": 0.2}
GRAPHS = ("plane", "scalefree", "blocks")
CLASSES, ROWS = 3, 12
SEED = 20


def plane(rng, n, nearest_edges):
    points = rng.random((n, 2))
    return nearest_edges(points, 5), (points[:, 0] > 0.5).astype(int) * 2 + (points[:, 1] > 0.5).astype(int)


def scalefree(rng, n, _):
    """Every node comes with three edges to nodes drawn by degree; a region is what is nearest to one of four nodes."""
    ends, edges = list(range(4)) * 3, [(i, j) for i in range(4) for j in range(i + 1, 4)]
    for node in range(4, n):
        near = set()
        while len(near) < 3:
            near.add(ends[rng.integers(len(ends))])
        edges += [(other, node) for other in sorted(near)]
        ends += sorted(near) + [node] * 3
    edges = np.array(edges)
    return edges, regions(rng, n, edges, 4)


def regions(rng, n, edges, count):
    neighbours = [[] for _ in range(n)]
    for i, j in edges:
        neighbours[i].append(j)
        neighbours[j].append(i)
    region = np.full(n, -1)
    queue = deque(int(i) for i in rng.choice(n, count, replace=False))
    region[list(queue)] = np.arange(count)
    while queue:
        i = queue.popleft()
        for j in neighbours[i]:
            if region[j] < 0:
                region[j] = region[i]
                queue.append(j)
    return np.maximum(region, 0)


def blocks(rng, n, _):
    """Three blocks, five neighbours inside and one outside on average."""
    block = np.arange(n) * 3 // n
    inside, outside = 5 * 3 / n, 1.5 / n
    i, j = np.triu_indices(n, 1)
    kept = rng.random(len(i)) < np.where(block[i] == block[j], inside, outside)
    return np.c_[i[kept], j[kept]], block


def labels(rng, loss, score):
    noise = 0.3 * rng.standard_t(3, score.shape[0])
    if loss in ("logistic", "squared-hinge"):
        return (rng.random(len(score)) < 1 / (1 + np.exp(-score[:, 0]))).astype(float)
    if loss == "multinomial":
        return (score + rng.gumbel(size=score.shape)).argmax(1).astype(float)
    if loss == "poisson":
        return rng.poisson(np.exp(np.clip(0.5 * score[:, 0], None, 3))).astype(float)
    return score[:, 0] + noise


PARAMETERS = {"huber": {"huber_delta": 0.5}, "quantile": {"quantile": 0.7}, "logistic": {"ridge": 1e-3},
              "multinomial": {"ridge": 1e-3, "classes": CLASSES}, "squared-hinge": {"ridge": 1e-3},
              "poisson": {"ridge": 1e-3}}


def every_loss(Instance, nearest_edges, graph, loss, penalty, n=1500):
    rng = np.random.default_rng([SEED, GRAPHS.index(graph)])
    edges, group = {"plane": plane, "scalefree": scalefree, "blocks": blocks}[graph](rng, n, nearest_edges)
    d, outputs = (4, CLASSES) if loss == "multinomial" else (6, 1)
    models = rng.standard_normal((4, outputs, d))
    weight = np.round(rng.uniform(0.5, 1.5, len(edges)), 6)
    if loss == "point":
        x = models[group][:, 0] + 0.5 * rng.standard_normal((n, d))
        return Instance(n, x, np.zeros(n), np.arange(n), edges, weight, PENALTIES[penalty], loss, {}, penalty)
    node = np.repeat(np.arange(n), ROWS)
    x = rng.standard_normal((len(node), d))
    score = np.einsum("rd,rkd->rk", x, models[group[node]])
    y = labels(rng, loss, score)
    return Instance(n, x, y, node, edges, weight, PENALTIES[penalty], loss, PARAMETERS.get(loss, {}), penalty)


def all_problems(Instance, nearest_edges):
    def of(*key, **size):
        return lambda: every_loss(Instance, nearest_edges, *key, **size)
    grid = {f"loss_{g}_{l}_{p}": of(g, l, p) for l in LOSSES for g in GRAPHS for p in PENALTIES}
    large = {f"loss_plane_{l}_{p}_n10000": of("plane", l, p, n=10_000) for l in ("absolute", "quantile") for p in PENALTIES}
    return grid | large
