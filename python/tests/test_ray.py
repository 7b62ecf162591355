"""A network on the actors of two local Ray nodes has the bits of one machine, also if an actor is killed on the way."""

import os
import signal
import threading

import numpy as np
import pytest

pytest.importorskip("ray", reason="Ray is not installed: pip install 'fedweave[ray]'")

import pyarrow as pa
import pyarrow.parquet as pq
import ray
from ray.cluster_utils import Cluster

import fedweave.ray
from fedweave import GTVRegressor
from fedweave.errors import FileError, GraphError, LabelError, ParameterError

NODES, ROUNDS = 60, 120


@pytest.fixture(scope="module")
def cluster():
    quiet = {"num_cpus": 2, "object_store_memory": 80 * 2**20}
    made = Cluster(initialize_head=True, head_node_args={**quiet, "include_dashboard": False})
    made.add_node(**quiet)
    ray.init(address=made.address, log_to_driver=False)
    yield made
    ray.shutdown()
    made.shutdown()


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder, rng = tmp_path_factory.mktemp("ray"), np.random.default_rng(5)
    node = np.repeat(np.arange(NODES), 3)
    x = rng.normal(size=(len(node), 2))
    y = x @ [1.0, -2.0] + 0.1 * node + rng.normal(size=len(node))
    i = np.arange(NODES)
    heads, tails = np.r_[i[:-1], i[:-7]], np.r_[i[1:], i[7:]]
    weights = rng.uniform(0.5, 2.0, len(heads))
    pq.write_table(pa.table({"node": node, "y": y, "a": x[:, 0], "b": x[:, 1]}), folder / "rows.parquet")
    pq.write_table(pa.table({"from": heads, "to": tails, "weight": weights}), folder / "edges.parquet")
    return folder, (node, x, y, list(zip(heads.tolist(), tails.tolist(), weights.tolist())))


def on_ray(folder, **options):
    said = {"target": "y", "lam": 0.3, "rounds": ROUNDS, "tol": None, "batch": 20, "parts": 4, **options}
    return fedweave.ray.fit(folder / "rows.parquet", folder / "edges.parquet", **said)


@pytest.fixture(scope="module")
def one_machine(files):
    node, x, y, edges = files[1]
    model = GTVRegressor(edges, lam=0.3, solver="primal-dual", options={"rounds": ROUNDS, "step-ratio": 1.0})
    model.fit(x, y, nodes=node)
    return {i: np.r_[model.coef_[i], model.intercept_[i]] for i in range(NODES)}


def same(result, expected):
    return all(result.models[i].tobytes() == expected[i].tobytes() for i in range(NODES))


@pytest.mark.parametrize("cut", ["own", "auto"])
def test_the_bits_of_one_machine(cluster, files, one_machine, cut):
    seen = []
    result = on_ray(files[0], cut=cut, progress=lambda rounds, residual: seen.append((rounds, residual)))
    assert (result.parts, result.rounds, result.status, result.restarts) == (4, ROUNDS, "iteration-limit", 0)
    assert 0 < result.edges_cut < len(files[1][3]) and result.models.columns == ["a", "b", "intercept"]
    assert [rounds for rounds, _ in seen] == list(range(20, ROUNDS + 1, 20)) and seen[-1][1] == result.residual
    assert same(result, one_machine)
    assert f"{ROUNDS} rounds" in str(result)


def killer(how):
    """Kills the actor of part 1 after 40 rounds: between batches, or a little later, in the midst of one."""

    def progress(rounds, residual):
        if rounds == 40:
            [name] = [name for name in ray.util.list_named_actors() if name.endswith("-1")]
            pid = ray.get(ray.get_actor(name).__ray_call__.remote(lambda actor: os.getpid()))
            if how == "between":
                os.kill(pid, signal.SIGKILL)
            else:
                threading.Timer(0.02, os.kill, (pid, signal.SIGKILL)).start()

    return progress


@pytest.mark.parametrize("how", ["between", "within"])
def test_a_killed_actor_changes_nothing(cluster, files, one_machine, how, tmp_path):
    result = on_ray(files[0], progress=killer(how), checkpoints=tmp_path)
    assert result.restarts >= 1
    assert same(result, one_machine)
    assert not list(tmp_path.iterdir()), "checkpoints are removed at the end"


def test_a_part_that_does_not_come_back_is_told(cluster, files, monkeypatch):
    monkeypatch.setattr("fedweave.ray._crew.PATIENCE", 1.0)
    with pytest.raises(fedweave.ray.PartLostError, match="restarted 0 times"):
        on_ray(files[0], progress=killer("between"), restarts=0)


def test_it_stops_when_all_parts_agree(cluster, files):
    result = on_ray(files[0], rounds=100_000, tol=1e-7, penalty="squared", parts=2)
    assert result.status == "converged" and result.residual <= 1e-7 and result.rounds < 100_000
    node, x, y, edges = files[1]
    model = GTVRegressor(edges, lam=0.3, penalty="squared", tol=1e-9).fit(x, y, nodes=node)
    for i in range(NODES):
        np.testing.assert_allclose(result.models[i], np.r_[model.coef_[i], model.intercept_[i]], atol=1e-4)


@pytest.mark.parametrize(
    ("options", "error", "says"),
    [
        ({"parts": 9}, ParameterError, "CPUs for 4 parts"),
        ({"loss": "logistic"}, LabelError, "rows.parquet: column 'y' holds"),
        ({"target": "z"}, FileError, "no column 'z'"),
        ({"cut": "scissors"}, ParameterError, "scissors"),
        ({"penalty": "blocks"}, ParameterError, "norminf"),
        ({"lam": -1.0}, ParameterError, "lam is -1.0"),
        ({"relaxation": 2.5}, ParameterError, "relaxation"),
        ({"batch": 0}, ParameterError, "batch is 0"),
    ],
)
def test_bad_input(cluster, files, options, error, says):
    with pytest.raises(error, match=says):
        on_ray(files[0], **options)


def test_bad_files(cluster, files, tmp_path):
    edges = tmp_path / "edges.parquet"
    for table, error, says in [
        ({"from": [900], "to": [901]}, GraphError, "no edge is at a node with rows"),
        ({"from": [1, None], "to": [2, 3]}, FileError, "'from' has empty cells"),
        ({"from": [1]}, GraphError, "two columns"),
        ({"from": [1], "to": [2], "weight": ["heavy"]}, GraphError, "'weight' must hold"),
    ]:
        pq.write_table(pa.table(table), edges)
        with pytest.raises(error, match=says):
            fedweave.ray.fit(files[0] / "rows.parquet", edges, target="y", lam=0.1)
    with pytest.raises(FileError, match="nowhere"):
        fedweave.ray.fit(tmp_path / "nowhere.parquet", edges, target="y", lam=0.1)
