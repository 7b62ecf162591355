"""The server's side: strategies that draw the models of neighbours together, one model per node."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable

import numpy as np
from flwr.app import ArrayRecord, ConfigRecord, MetricRecord
from flwr.serverapp import Grid

from .._checks import number
from .._table import Table, edge_name
from ._result import NetworkResult
from ._roster import exchange
from ._rounds import Rounds, log


class NetworkStrategy(Rounds):
    """What `GTVMin`, `PDMM` and `FedRelax` share.

    Parameters
    ----------
    graph : networkx.Graph, scipy sparse matrix, DataFrame or list of edges, path, or `knn(k, by={node: position})`
    lam : strength of the coupling
    penalty : "norm2", "norm1", "norminf", "squared" or "quadratic" (`penalty_matrix`)
    tol : stop at `certified_gap <= tol * max(1, |objective|)`; where nodes cannot or do not prove anything, at `kkt_residual <= tol`
    dim : number of parameters of a model; needed only if no client says it
    without_rows : nodes of the graph that have neither rows nor a supernode; they get models from their neighbours
    fraction : share of the nodes that is asked in a round, drawn anew each time
    wait : seconds to wait for all nodes at the beginning
    on_error : "raise", or "keep" the old model of a node that failed, as of one that did not answer
    accuracy : inexact trainers are asked for `accuracy / round^1.1` in the parameters
    deliver : bring every node its model at the end
    seed : of what is drawn
    """

    def start(
        self,
        grid: Grid,
        initial_arrays: ArrayRecord | None = None,
        num_rounds: int = 1000,
        timeout: float = 60.0,
        train_config: ConfigRecord | None = None,
        evaluate_config: ConfigRecord | None = None,
        evaluate_fn: Callable[[int, ArrayRecord], MetricRecord | None] | None = None,
    ) -> NetworkResult:
        """Runs rounds until the tolerance is met, at most `num_rounds`. A round waits `timeout` seconds for its answers.

        `initial_arrays` are models by node to start from; `evaluate_fn` sees the best models after every round.
        """
        rounds, self.ttl = int(number("num_rounds", num_rounds, 1)), number("timeout", timeout, 0.0, strict=True)
        self.summary()
        self.prepare(grid, initial_arrays)
        self.done, result, began = False, NetworkResult(), time.monotonic()
        config, arrays, round = train_config or ConfigRecord(), initial_arrays or ArrayRecord(), 0
        while round < rounds and not self.done:
            round += 1
            replies = exchange(grid, self.configure_train(round, arrays, config, grid), self.ttl)
            arrays, metrics = self.aggregate_train(round, replies)
            result.train_metrics_clientapp[round] = metrics
            self._keep(result.evaluate_metrics_serverapp, round, evaluate_fn and evaluate_fn(round, arrays))
        if self.deliver:
            messages = self.configure_evaluate(round, arrays, evaluate_config or ConfigRecord(), grid)
            self._keep(result.evaluate_metrics_clientapp, round, self.aggregate_evaluate(round, exchange(grid, messages, self.ttl)))
        return self._finish(result, arrays, round, time.monotonic() - began)

    @staticmethod
    def _keep(metrics: dict[int, MetricRecord], round: int, record: MetricRecord | None) -> None:
        if record is not None:
            metrics[round] = record

    def _finish(self, result: NetworkResult, arrays: ArrayRecord, rounds: int, seconds: float) -> NetworkResult:
        best, names = self.judge.best, np.array(self.network.names, dtype=object)
        ends = list(zip(names[self.coupling.heads].tolist(), names[self.coupling.tails].tolist()))
        result.arrays, result.models = arrays, Table(self.network.names, best.w)
        result.flows = Table(ends, best.flows, name=edge_name)
        result.objective, result.certified_gap = best.objective, self.judge.certified_gap
        result.kkt_residual, result.history = best.kkt_residual, self.judge.history
        result.status = "converged" if self.done else "round-limit"
        result.rounds, result.seconds = rounds, seconds
        log.info("\t%r", result)
        if not self.done:
            from sklearn.exceptions import ConvergenceWarning  # slow to import, and nodes do without

            warnings.warn(f"stopped before the tolerance: {result!r}; raise num_rounds or tol", ConvergenceWarning, stacklevel=3)
        return result
