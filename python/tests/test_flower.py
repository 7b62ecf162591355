"""Flower strategies without Flower's processes: a grid that calls client apps directly."""

import subprocess
import sys

import numpy as np
import pytest

pytest.importorskip("flwr.serverapp.strategy", reason="Flower is not installed: pip install 'fedweave[flower]'")

import pandas as pd
from flower_grid import DirectGrid, clients, rows
from sklearn.exceptions import ConvergenceWarning

from fedweave import GTVClassifier, GTVRegressor
from fedweave.errors import GraphError, MethodError, NotFiniteError, ParameterError, SizeError, UnknownNodeError
from fedweave.flower import PDMM, FedRelax, GTVMin, LocalLoss, NodeError, node_app

LAM = 0.3
LOOSE = dict(num_rounds=3000, timeout=5.0)


def loader(data, **options):
    made = {name: LocalLoss(*rows, **{"fit_intercept": False, **options}) for name, rows in data.items()}
    return lambda context: made[context.node_config["node"]]


def one_machine(data, edges, penalty, **options):
    """The optimum, found by another method on one machine."""
    nodes = np.concatenate([[name] * len(y) for name, (_, y) in sorted(data.items())])
    x, y = (np.concatenate([data[name][k] for name in sorted(data)]) for k in (0, 1))
    kind = GTVClassifier if options.get("loss") in ("logistic", "squared-hinge") else GTVRegressor
    model = kind(edges, penalty=penalty, lam=LAM, tol=1e-10, **{"fit_intercept": False, **options}).fit(x, y, nodes=nodes)
    return model.objective_, np.array([np.ravel(model.coef_[name]) for name in sorted(data)])


def distance(result, optimum):
    """Relative errors of the objective and of the parameters."""
    objective, w = optimum
    return abs(result.objective - objective) / abs(objective), np.linalg.norm(np.asarray(result.models) - w) / np.linalg.norm(w)


@pytest.mark.parametrize(
    ("strategy", "penalty", "options"),
    [
        (GTVMin, "norm2", {}),
        (GTVMin, "norm1", {}),
        (GTVMin, "norminf", {}),
        (GTVMin, "squared", {}),
        (PDMM, "norm2", {}),
        (PDMM, "norm2", {"fraction": 0.5}),
        (PDMM, "squared", {}),
        (FedRelax, "squared", {}),
    ],
)
def test_strategies_reach_the_optimum_of_one_machine(strategy, penalty, options):
    data, edges = rows(nodes=6)
    grid = DirectGrid(clients(node_app(loader(data)), sorted(data)))
    result = strategy(edges, lam=LAM, penalty=penalty, tol=1e-10, **options).start(grid, **LOOSE)
    optimum = one_machine(data, edges, penalty)
    assert result.status == "converged"
    # The gap is a proof, so it is never below the true distance.
    assert 0 <= result.certified_gap <= 1e-10 * max(1, result.objective)
    assert result.objective - optimum[0] <= result.certified_gap + 1e-12 * optimum[0]
    error, far = distance(result, optimum)
    assert error <= 1e-6 and far <= 1e-4


@pytest.mark.parametrize(
    "options",
    [
        {"loss": "absolute"},
        {"loss": "huber", "huber_delta": 0.5},
        {"loss": "quantile", "quantile": 0.3, "ridge": 0.01},
        {"loss": "logistic", "ridge": 0.01},
        {"loss": "squared-hinge", "ridge": 0.01},
    ],
    ids=lambda options: options["loss"],
)
def test_all_losses(options):
    data, edges = rows(nodes=4)
    if options["loss"] in ("logistic", "squared-hinge"):
        data = {name: (x, np.where(y > 0, 1.0, -1.0)) for name, (x, y) in data.items()}
    grid = DirectGrid(clients(node_app(loader(data, **options)), sorted(data)))
    result = GTVMin(edges, lam=LAM, tol=1e-7).start(grid, **LOOSE)
    assert result.status == "converged"
    assert distance(result, one_machine(data, edges, "norm2", **options))[0] <= 1e-6


def command_line(folder, data, edges, *words):
    frames = [pd.DataFrame(x).add_prefix("x").assign(node=name, y=y) for name, (x, y) in sorted(data.items())]
    pd.concat(frames).to_csv(folder / "rows.csv", index=False)
    pd.DataFrame(edges, columns=["source", "target", "weight"]).to_csv(folder / "edges.csv", index=False)
    command = ["fit", "rows.csv", "--edges", "edges.csv", "--target", "y", "--no-intercept", "--lambda", LAM, "--out", "run", *words]
    subprocess.run([sys.executable, "-m", "fedweave", *map(str, command)], cwd=folder, capture_output=True)
    return pd.read_csv(folder / "run" / "parameters.csv").sort_values("node").drop(columns="node").to_numpy(float)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda edges: GTVMin(edges, lam=LAM), ["--solver", "primal-dual"]),
        (lambda edges: GTVMin(edges, lam=LAM, step_ratio=2.0, relaxation=1.0), ["--solver", "primal-dual", "--step-ratio", 2, "--relaxation", 1]),
        (lambda edges: PDMM(edges, lam=LAM), ["--solver", "pdmm", "--users", 1]),
        (lambda edges: FedRelax(edges, lam=LAM), ["--solver", "fedrelax", "--penalty", "squared", "--order", "together"]),
    ],
    ids=["primal-dual", "paper's steps", "pdmm", "fedrelax"],
)
def test_every_round_is_that_of_the_command_line(make, words, tmp_path):
    data, edges = rows(nodes=9)
    strategy = make(edges)
    strategy.tol = 1e-300
    with pytest.warns(ConvergenceWarning, match="stopped before the tolerance"):
        strategy.start(DirectGrid(clients(node_app(loader(data)), sorted(data))), num_rounds=35)
    there = command_line(tmp_path, data, edges, *words, "--rounds", 35)
    assert np.abs(strategy.method.models - there).max() <= 1e-9 * np.abs(there).max()


def test_missing_replies_keep_the_old_model_and_the_optimum_is_the_same():
    data, edges = rows(nodes=6)
    lost = lambda supernode, round: (supernode * 7 + round * 13) % 10 < 3  # noqa: E731
    for strategy, penalty in ((GTVMin, "norm2"), (PDMM, "norm2"), (FedRelax, "squared")):
        grid = DirectGrid(clients(node_app(loader(data)), sorted(data)), lost)
        result = strategy(edges, lam=LAM, penalty=penalty, tol=1e-9).start(grid, **LOOSE)
        assert result.status == "converged" and min(result.history["answers"]) < len(data)
        assert distance(result, one_machine(data, edges, penalty))[0] <= 1e-6


def test_a_silent_node_keeps_its_model_exactly():
    data, edges = rows(nodes=6)
    grid = DirectGrid(clients(node_app(loader(data)), sorted(data)))
    strategy = GTVMin(edges, lam=LAM)
    strategy.prepare(grid)
    quiet = strategy.roster.members["n02"].supernode
    grid.lost = lambda supernode, round: supernode == quiet and round == 2
    for round in (1, 2):
        before = strategy.method.models.copy()
        strategy.aggregate_train(round, grid.pull_messages(grid.push_messages(strategy.configure_train(round, None, {}, grid))))
    same = (strategy.method.models == before).all(axis=1)
    assert same.tolist() == [name == "n02" for name in sorted(data)]
    assert strategy.silent == {"n02"}


def test_a_restarted_supernode_takes_its_node_over():
    data, edges = rows(nodes=6)
    app = node_app(loader(data))
    grid = DirectGrid(clients(app, sorted(data)))
    gone = next(id for id, (_, config) in grid.clients.items() if config["node"] == "n03")

    def lost(supernode, round):
        if round == 4 and 77 not in grid.clients:
            grid.clients[77] = (app, {"node": "n03"})
        return supernode == gone and round >= 3

    grid.lost = lost
    strategy = GTVMin(edges, lam=LAM, tol=1e-8)
    result = strategy.start(grid, **LOOSE)
    assert result.status == "converged" and strategy.roster.members["n03"].supernode == 77


class Descent:
    """Any trainer: gradient descent, stopped when it is accurate enough."""

    def __init__(self, x, y):
        self.x, self.y, self.dim = x, y, x.shape[1]

    def value(self, w):
        return float(np.mean((self.x @ w - self.y) ** 2))

    def prox(self, ask):
        w, smooth = ask.start.copy(), 2 * np.linalg.norm(self.x, 2) ** 2 / len(self.y) + 1 / ask.tau
        for _ in range(10_000):
            slope = 2 * self.x.T @ (self.x @ w - self.y) / len(self.y) + (w - ask.v) / ask.tau
            if np.linalg.norm(slope) * ask.tau <= ask.accuracy:
                break
            w -= slope / smooth
        return w


def test_any_trainer_takes_part_and_may_be_inexact():
    data, edges = rows(nodes=8)
    mixed = lambda context: (Descent if context.node_config["node"] < "n04" else plain)(*data[context.node_config["node"]])  # noqa: E731
    plain = lambda x, y: LocalLoss(x, y, fit_intercept=False)  # noqa: E731
    strategy = GTVMin(edges, lam=LAM, tol=1e-6, accuracy=1e-3)
    result = strategy.start(DirectGrid(clients(node_app(mixed), sorted(data))), **LOOSE)
    assert result.status == "converged"
    # Half of the nodes prove nothing, so the residual decides; it says so.
    assert result.certified_gap is None and result.kkt_residual <= 1e-6
    assert distance(result, one_machine(data, edges, "norm2"))[0] <= 1e-4


def test_nodes_without_rows_and_without_neighbours():
    data, edges = rows(nodes=8)
    without = {**data, "n03": (np.zeros((0, 3)), np.zeros(0))}
    frames = {name: rows for name, rows in without.items() if name != "n03"}
    import networkx as nx

    graph = nx.Graph()
    graph.add_weighted_edges_from(edges)
    graph.add_node("alone")
    rng = np.random.default_rng(1)
    frames["alone"] = (rng.normal(size=(9, 3)), rng.normal(size=9))
    served = GTVMin(graph, lam=LAM, tol=1e-9, without_rows=["n03"])
    result = served.start(DirectGrid(clients(node_app(loader(frames)), sorted(frames))), **LOOSE)
    empty = GTVMin(graph, lam=LAM, tol=1e-9)
    again = empty.start(DirectGrid(clients(node_app(loader({**without, **frames})), sorted({**without, **frames}))), **LOOSE)
    assert result.status == again.status == "converged"
    assert np.asarray(result.models).tobytes() == np.asarray(again.models).tobytes()
    alone = np.linalg.lstsq(*frames["alone"], rcond=None)[0]
    assert np.linalg.norm(result.models["alone"] - alone) <= 1e-6 * np.linalg.norm(alone)
    nodes = np.concatenate([[name] * len(y) for name, (_, y) in frames.items()])
    x, y = (np.concatenate([part[k] for part in frames.values()]) for k in (0, 1))
    model = GTVRegressor(graph, lam=LAM, tol=1e-10, fit_intercept=False).fit(x, y, nodes=nodes)
    assert abs(result.objective - model.objective_) <= 1e-6 * model.objective_


def test_without_coupling_every_node_learns_alone():
    data, edges = rows(nodes=4)
    grid = DirectGrid(clients(node_app(loader(data)), sorted(data)))
    result = GTVMin(edges, lam=0.0, tol=1e-10).start(grid, **LOOSE)
    assert result.status == "converged" and result.kkt_residual <= 1e-10 and result.rounds <= 5
    for name, (x, y) in data.items():
        alone = np.linalg.lstsq(x, y, rcond=None)[0]
        assert np.linalg.norm(result.models[name] - alone) <= 1e-6 * np.linalg.norm(alone)


def test_models_are_delivered_and_runs_go_on_where_they_stopped():
    data, edges = rows(nodes=6)
    grid = DirectGrid(clients(node_app(loader(data)), sorted(data)))
    result = GTVMin(edges, lam=LAM, tol=1e-8).start(grid, **LOOSE)
    for supernode, (_, config) in grid.clients.items():
        kept = grid.contexts[supernode].state["arrays"]["w"].numpy()
        assert (kept == result.models[config["node"]]).all()
    losses = [np.mean((data[n][0] @ result.models[n] - data[n][1]) ** 2) for n in data]
    said = result.evaluate_metrics_clientapp[result.rounds]
    assert abs(said["loss"] - np.mean(losses)) <= 1e-12 and said["nodes"] == 6
    again = GTVMin(edges, lam=LAM, tol=1e-8).start(grid, result.arrays, **LOOSE)
    assert again.history["objective"][0] < result.history["objective"][0]


def test_flower_s_own_loop_works_too():
    from flwr.app import ArrayRecord
    from flwr.serverapp.strategy import Strategy

    data, edges = rows(nodes=6)
    grid = DirectGrid(clients(node_app(loader(data)), sorted(data)))
    grid.send_and_receive = lambda messages, timeout: grid.pull_messages(grid.push_messages(messages))
    strategy = GTVMin(edges, lam=LAM, tol=1e-8)
    result = Strategy.start(strategy, grid, ArrayRecord(), num_rounds=100)
    assert strategy.done and abs(strategy.judge.best.objective - one_machine(data, edges, "norm2")[0]) <= 1e-6
    assert set(result.arrays) == set(data)


def test_identity_does_not_depend_on_the_order_of_arrival():
    data, edges = rows(nodes=6)
    app = node_app(loader(data))
    orders = [clients(app, sorted(data)), {k: (app, {"node": n}) for k, n in enumerate(sorted(data, reverse=True), 5)}]
    one, two = (np.asarray(GTVMin(edges, lam=LAM).start(DirectGrid(order), **LOOSE).models) for order in orders)
    assert one.tobytes() == two.tobytes()
    # In simulations the partition is the node.
    numbered = {str(i): data[name] for i, name in enumerate(sorted(data))}
    ring = [(int(a[1:]), int(b[1:]), w) for a, b, w in edges]
    app = node_app(lambda context: LocalLoss(*numbered[str(context.node_config["partition-id"])], fit_intercept=False))
    grid = DirectGrid({50 - i: (app, {"partition-id": i, "num-partitions": 6}) for i in range(6)})
    assert np.asarray(GTVMin(ring, lam=LAM).start(grid, **LOOSE).models).tobytes() == one.tobytes()


# -- bad input --------------------------------------------------------------------------------------


def run(grid, edges, **options):
    return GTVMin(edges, lam=LAM, wait=0.3, **options).start(grid, num_rounds=5, timeout=1.0)


def with_client(name, make):
    """Six nodes of which one is different."""
    data, edges = rows(nodes=6)
    usual = loader(data)
    load = lambda context: make(*data[name]) if context.node_config["node"] == name else usual(context)  # noqa: E731
    return DirectGrid(clients(node_app(load), sorted(data))), edges


def test_unknown_missing_and_doubled_nodes():
    data, edges = rows(nodes=6)
    app = node_app(loader({**data, "mars": data["n00"]}))
    with pytest.raises(UnknownNodeError, match="says it is node 'mars', which is not in the graph"):
        run(DirectGrid({**clients(app, sorted(data)), 5: (app, {"node": "mars"})}), edges)
    with pytest.raises(NodeError, match="node 'n01': the supernodes .* both say"):
        run(DirectGrid({**clients(app, sorted(data)), 5: (app, {"node": "n01"})}), edges)
    with pytest.raises(UnknownNodeError, match="no supernode says it is node 'n05'"):
        run(DirectGrid(clients(app, sorted(data)[:5])), edges)
    with pytest.raises(NodeError, match="does not know which node of the graph it is"):
        run(DirectGrid({5: (app, {})}), edges)
    with pytest.raises(UnknownNodeError, match="without_rows: node 'mars'"):
        GTVMin(edges, lam=LAM, without_rows=["mars"])


class Answer:
    def __init__(self, w, dim=3):
        self.w, self.dim = w, dim

    def prox(self, ask):
        if isinstance(self.w, Exception):
            raise self.w
        return self.w


@pytest.mark.parametrize(
    ("answer", "error", "match"),
    [
        (np.zeros(4), SizeError, "node 'n02': expected a model of 3 parameters, found an array of shape \\(4,\\)"),
        (np.zeros((3, 1)), SizeError, "node 'n02'"),
        (np.array([0.0, np.nan, 0.0]), NotFiniteError, "node 'n02': parameter 1 of its model is nan"),
        (OSError("the disk is on fire"), NodeError, "node 'n02' .* failed: OSError: the disk is on fire"),
    ],
)
def test_bad_answers_name_the_node(answer, error, match):
    grid, edges = with_client("n02", lambda x, y: Answer(answer))
    with pytest.raises(error, match=match):
        run(grid, edges)


def test_other_sizes_and_no_trainer():
    grid, edges = with_client("n02", lambda x, y: Answer(np.zeros(4), dim=4))
    with pytest.raises(SizeError, match="node 'n02': its models have 4 parameters, those of the others 3"):
        run(grid, edges)
    grid, edges = with_client("n02", lambda x, y: "nothing")
    with pytest.raises(NodeError, match="load returned str; expected a LocalLoss"):
        run(grid, edges)


def test_failures_may_be_kept_and_silence_of_all_ends():
    grid, edges = with_client("n02", lambda x, y: Answer(OSError("no")))
    with pytest.warns(ConvergenceWarning):
        result = run(grid, edges, on_error="keep")
    assert result.history["answers"] == [5] * 5
    data, edges = rows(nodes=6)
    grid = DirectGrid(clients(node_app(loader(data)), sorted(data)), lambda supernode, round: True)
    with pytest.raises(NodeError, match="nobody answered for 3 rounds"):
        run(grid, edges)


def test_bad_constructors():
    edges = [("a", "b")]
    for options, error in (
        ({"lam": -1.0}, ParameterError),
        ({"lam": 1.0, "penalty": "cubic"}, ParameterError),
        ({"lam": 1.0, "fraction": 1.5}, ParameterError),
        ({"lam": 1.0, "relaxation": 2.0}, ParameterError),
        ({"lam": 1.0, "on_error": "shrug"}, ParameterError),
    ):
        with pytest.raises(error, match=list(options)[-1]):
            GTVMin(edges, **options)
    with pytest.raises(MethodError, match="FedRelax needs penalty='squared'"):
        FedRelax(edges, lam=1.0, penalty="norm2")
    with pytest.raises(GraphError):
        GTVMin([], lam=1.0)
    with pytest.raises(ParameterError, match="rho"):
        PDMM(edges, lam=1.0, rho=0.0)


def test_bad_local_losses():
    x, y = np.ones((3, 2)), np.array([1.0, 0.0, 1.0])
    with pytest.raises(ValueError, match="needs labels"):
        LocalLoss(x)
    with pytest.raises(ValueError, match="a table"):
        LocalLoss(y, y)
    with pytest.raises(SizeError):
        LocalLoss(x, y[:2])
    with pytest.raises(NotFiniteError):
        LocalLoss(x * np.nan, y)
    with pytest.raises(ParameterError, match="loss"):
        LocalLoss(x, y, loss="cubic")
    local = LocalLoss(x, y)
    with pytest.raises(SizeError, match="expected 3 parameters, found 2"):
        local.value(np.zeros(2))
    with pytest.raises(ParameterError, match="tau"):
        local.engine.prox(np.zeros(3), 0.0)
