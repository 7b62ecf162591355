"""Parts that are kept in step by call have the bits of one machine; a cluster of Ray is one that calls."""

import numpy as np
import pytest

from fedweave import GTVClassifier, GTVRegressor, _engine
from fedweave._task import Rows, Task
from fedweave.errors import FedweaveError, SizeError

if not hasattr(_engine, "Part"):
    pytest.skip("built without parts", allow_module_level=True)

RATIO, RELAXATION = 1.0, 1.8


def problem(loss, nodes=12, seed=3):
    """A ring with chords; some nodes have no rows."""
    rng = np.random.default_rng(seed)
    names = [f"n{i:02}" for i in range(nodes)]
    edges = [(i, (i + 1) % nodes) for i in range(nodes)] + [(0, 5), (3, 9)]
    node = np.repeat(np.arange(0, nodes - 2), 4)
    x = rng.normal(size=(len(node), 2))
    y = x @ [1.0, -2.0] + 0.3 * node + rng.normal(size=len(node))
    return names, edges, rng.uniform(0.5, 2.0, len(edges)), node, x, (y > 1).astype(float) if loss == "logistic" else y


def task(loss, penalty="norm2"):
    names, edges, weights, node, x, y = problem(loss)
    heads, tails = np.array(edges).T
    rows = Rows(x, y, None, node, len(names), heads, tails, weights, True)
    return Task(rows, names, ["a", "b"], {"loss": loss, "penalty": penalty, "lambda": 0.3, "ridge": 0.01})


def one_machine(loss, penalty, rounds):
    names, edges, weights, node, x, y = problem(loss)
    kind = GTVClassifier if loss == "logistic" else GTVRegressor
    graph = [(names[i], names[j], w) for (i, j), w in zip(edges, weights)]
    options = {"rounds": rounds, "step-ratio": RATIO}
    model = kind(graph, loss=loss, penalty=penalty, lam=0.3, ridge=0.01, solver="primal-dual", options=options)
    model.fit(x, y, nodes=[names[i] for i in node])
    return {name: np.r_[np.ravel(model.coef_[name]), np.ravel(model.intercept_[name])] for name in names}


def one_round(parts):
    for part in parts:
        part.begin()
    for own, part in enumerate(parts):
        for peer in part.peers:
            part.incoming(peer, parts[peer].outgoing(own))
    for part in parts:
        part.complete()


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(("loss", "penalty"), [("squared", "norm2"), ("huber", "norm1"), ("logistic", "squared")])
def test_parts_in_step_have_the_bits_of_one_machine(loss, penalty):
    asked = task(loss, penalty)
    part_of = [i % 3 for i in range(len(asked.names))]
    parts = [_engine.Part(asked, part_of, own, RATIO, RELAXATION, None) for own in range(3)]
    for _ in range(20):
        one_round(parts)
    kept = [part.checkpoint() for part in parts]
    for _ in range(5):
        one_round(parts)
    # All go back, and do the rounds again.
    parts = [_engine.Part(asked, part_of, own, RATIO, RELAXATION, kept[own]) for own in range(3)]
    assert [part.round for part in parts] == [20] * 3
    for _ in range(20):
        one_round(parts)
    expected = one_machine(loss, penalty, 40)
    for part in parts:
        for name, model in zip(part.nodes, part.models):
            assert model.tobytes() == expected[name].tobytes(), name
    assert 0 < max(part.residual() for part in parts) < 1


def test_what_does_not_fit_is_refused():
    asked = task("squared")
    part_of = [i % 2 for i in range(len(asked.names))]
    part = _engine.Part(asked, part_of, 0, RATIO, RELAXATION, None)
    assert part.peers == [1]
    with pytest.raises(SizeError, match="part 5 is no neighbour"):
        part.outgoing(5)
    with pytest.raises(SizeError, match="numbers from a neighbouring part"):
        part.incoming(1, np.zeros(4))
    with pytest.raises(FedweaveError, match="finite"):
        part.incoming(1, np.full(len(part.outgoing(1)), np.nan))
    with pytest.raises(FedweaveError):
        _engine.Part(asked, part_of, 0, RATIO, RELAXATION, b"no state at all")
    with pytest.raises(SizeError, match="part 7 has no nodes"):
        _engine.Part(asked, part_of, 7, RATIO, RELAXATION, None)
    with pytest.raises(FedweaveError):
        _engine.Part(task("squared", "quadratic"), part_of, 0, RATIO, RELAXATION, None)


def test_a_cut_gives_every_part_about_as_many_nodes():
    asked = task("squared")
    asked.rows.x, asked.rows.y, asked.rows.node_of_row = np.zeros((0, 2)), np.zeros(0), np.zeros(0, dtype=np.int64)
    found = _engine.cut(_engine.Coupling(asked), 3)
    assert sorted(set(found.tolist())) == [0, 1, 2] and np.bincount(found).max() <= 6
