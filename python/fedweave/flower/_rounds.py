"""Rounds on the server: whom to ask for what, and what to make of the answers. Flower's hooks, in other words."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from flwr.app import Array, ArrayRecord, ConfigRecord, Message, MetricRecord
from flwr.serverapp import Grid
from flwr.serverapp.strategy import Strategy

from .._checks import number, one_of
from .._nodes import name_of
from ..errors import ParameterError, UnknownNodeError
from ._client import LocalLoss
from ._judge import Judge
from ._methods import Method
from ._network import Coupling, ServerNetwork
from ._replies import Answers
from ._roster import NodeError, Roster, complaint
from ._wire import CONFIG, METRICS, MODEL, PROX, Ask, pack, record_of, request

log = logging.getLogger("flwr")
PATIENCE = 3
"""Rounds in which nobody answers, after which there is no point in asking again."""


class Rounds(Strategy):
    """What `GTVMin`, `PDMM` and `FedRelax` share; see `NetworkStrategy`."""

    ttl = 3600.0

    def __init__(
        self,
        graph: Any,
        *,
        lam: float,
        penalty: str = "norm2",
        penalty_matrix: Any = None,
        tol: float = 1e-6,
        dim: int | None = None,
        without_rows: Sequence[Any] = (),
        fraction: float = 1.0,
        wait: float = 120.0,
        on_error: str = "raise",
        accuracy: float = 1e-2,
        deliver: bool = True,
        seed: int = 0,
    ) -> None:
        names = [name_of(node) for node in without_rows]
        self.network = ServerNetwork(graph, lam, penalty, penalty_matrix)
        unknown = [name for name in names if name not in self.network.index]
        if unknown:
            raise UnknownNodeError(f"without_rows: node {unknown[0]!r} is not in the graph", node=unknown[0])
        self.tol = number("tol", tol, 0.0, strict=True)
        self.given_dim = None if dim is None else int(number("dim", dim, 1))
        self.fraction = number("fraction", fraction, 0.0, strict=True)
        if self.fraction > 1:
            raise ParameterError(f"fraction is {fraction}; it must be at most 1", name="fraction", value=fraction)
        self.wait, self.accuracy = number("wait", wait, 0.0), number("accuracy", accuracy, 0.0, strict=True)
        self.on_error = one_of("on_error", on_error, ("raise", "keep"))
        self.deliver, self.random = bool(deliver), np.random.default_rng(seed)
        self.served = np.array([name in set(names) for name in self.network.names])
        self.roster = Roster([name for name, served in zip(self.network.names, self.served) if not served])
        self.method: Any = None  # a Method, once the nodes are known
        self.done = False
        self.silent: frozenset[str] = frozenset()
        self.unanswered = 0

    # -- what strategies say --------------------------------------------------------------------

    def make_method(self, coupling: Coupling) -> Method:
        """The method, once the number of parameters is known."""
        raise NotImplementedError

    # -- before the first round -----------------------------------------------------------------

    def prepare(self, grid: Grid, initial: ArrayRecord | None = None) -> None:
        """Waits for the nodes and sets everything up."""
        self.roster.meet(grid, self.wait)
        coupling = self.network.coupling(self.roster.dim(self.given_dim))
        self.coupling, self.judge, self.method = coupling, Judge(coupling, self.tol), self.make_method(coupling)
        self.answers = Answers(self.network.names, coupling.dim)
        self.empty = LocalLoss(np.zeros((0, coupling.dim)), fit_intercept=False)
        for name, array in (initial or {}).items():
            if name not in self.network.index:
                raise UnknownNodeError(f"initial_arrays: node {name!r} is not in the graph", node=name)
            self.method.start_at(self.network.index[name], self.answers.checked(name, array.numpy()))

    # -- Flower's hooks -------------------------------------------------------------------------

    def configure_train(self, server_round: int, arrays: ArrayRecord, config: ConfigRecord, grid: Grid) -> Iterable[Message]:
        """Asks nodes for their proximal steps."""
        if self.method is None:
            self.prepare(grid, arrays)
        if self.done:
            return []
        if self.silent:
            self.roster.ask_newcomers(grid, min(self.wait, self.ttl), self.silent)
        v, tau = self.method.begin()
        self.answers.ask(v, tau, self._drawn())
        return [self._request(server_round, int(i), config) for i in np.flatnonzero(self.answers.asked & ~self.served)]

    def aggregate_train(self, server_round: int, replies: Iterable[Message]) -> tuple[ArrayRecord | None, MetricRecord | None]:
        """Takes the steps of those who answered; the others keep their models."""
        if self.done:
            return None, None
        for reply in replies:
            self._read(reply)
        for i in np.flatnonzero(self.served & self.answers.asked):
            self._serve(int(i), server_round)
        there = self.answers.there
        self.silent = frozenset(self.network.names[i] for i in np.flatnonzero(self.answers.asked & ~there))
        self._mind_silence(bool(there[~self.served].any()))
        self.method.complete(self.answers.w, there)
        answers, judge = self.answers, self.judge
        if answers.verdicts_complete():
            judge.certify(answers.pending, answers.verdicts())
        point = judge.see(answers.w.copy(), answers.slopes, answers.losses, self.method.flows(answers.w))
        self.done = judge.done(point)
        if answers.pending is None or answers.verdicts_complete():
            answers.judge_next(point, self.coupling.divergence(point.flows))
        judge.note(server_round, point, int(there.sum()))
        return self._arrays(judge.best.w), self._metrics(point.kkt_residual, there)

    def configure_evaluate(self, server_round: int, arrays: ArrayRecord, config: ConfigRecord, grid: Grid) -> Iterable[Message]:
        """Brings every node its model."""
        best, index = self.judge.best, self.network.index
        return [
            request(MODEL, member.supernode, pack({"w": best.w[index[name]]}, **{CONFIG: {**config, "node": name}}), server_round, self.ttl)
            for name, member in sorted(self.roster.members.items())
        ]  # fmt: skip

    def aggregate_evaluate(self, server_round: int, replies: Iterable[Message]) -> MetricRecord | None:
        """The mean loss over the nodes that tell theirs."""
        losses = []
        for reply in replies:
            if not self._failed(reply) and "loss" in (said := record_of(reply, METRICS)):
                losses.append(float(said["loss"]))
        return MetricRecord({"loss": float(np.mean(losses)), "nodes": len(losses)}) if losses else None

    def summary(self) -> None:
        """Says what is about to be solved."""
        net = self.network
        log.info("\t%s: %d nodes, lam %g, penalty %s, tol %g", type(self).__name__, len(net), net.lam, net.penalty, self.tol)

    # -- one round ------------------------------------------------------------------------------

    def _drawn(self) -> np.ndarray:
        n = len(self.network)
        drawn = np.zeros(n, dtype=bool)
        drawn[self.random.permutation(n)[: max(1, round(self.fraction * n))]] = True
        return drawn

    def _ask(self, server_round: int, i: int) -> Ask:
        accuracy = self.accuracy / server_round**1.1
        return Ask(self.network.names[i], self.answers.v[i], float(self.answers.tau[i]), server_round, accuracy, self.method.models[i])

    def _request(self, server_round: int, i: int, config: ConfigRecord) -> Message:
        ask = self._ask(server_round, i)
        numbers = {**config, "node": ask.node, "tau": ask.tau, "round": ask.round, "accuracy": ask.accuracy}
        arrays = {"v": ask.v, "start": ask.start, **self.answers.to_judge(i)}
        return request(PROX, self.roster.members[ask.node].supernode, pack(arrays, **{CONFIG: numbers}), server_round, self.ttl)

    def _read(self, reply: Message) -> None:
        if not self._failed(reply):
            name = self.roster.node_of[reply.metadata.src_node_id]
            self.answers.read(self.network.index[name], reply)

    def _serve(self, i: int, server_round: int) -> None:
        """Answers for a node without rows."""
        ask, judged = self._ask(server_round, i), self.answers.to_judge(i)
        verdict = self.empty.judge(judged["w"], judged["flow"]) if judged else None
        self.answers.put(i, self.empty.prox(ask), 0.0, verdict)

    def _failed(self, reply: Message) -> bool:
        """True for a reply without content. A failure of a client ends the run, unless the old models are to be kept."""
        if not reply.has_error():
            return False
        said, supernode = complaint(reply), reply.metadata.src_node_id
        name = self.roster.node_of.get(supernode)
        if said is not None:
            message = f"node {name!r} (supernode {supernode}) failed: {said}"
            if self.on_error == "raise":
                raise NodeError(message, node=name, supernode=supernode)
            log.warning("\t%s; its old model is kept", message)
        return True

    def _mind_silence(self, anybody: bool) -> None:
        self.unanswered = 0 if anybody or not self.silent else self.unanswered + 1
        if self.unanswered >= PATIENCE:
            some = ", ".join(repr(name) for name in sorted(self.silent)[:3])
            raise NodeError(f"nobody answered for {PATIENCE} rounds; asked were {some}, ...", node=min(self.silent), supernode=None)

    def _arrays(self, w: np.ndarray) -> ArrayRecord:
        return ArrayRecord({name: Array(np.ascontiguousarray(w[i])) for i, name in enumerate(self.network.names)})

    def _metrics(self, kkt_residual: float, there: np.ndarray) -> MetricRecord:
        best, gap = self.judge.best, self.judge.certified_gap
        metrics: dict[str, Any] = {"kkt-residual": kkt_residual, "answers": int(there.sum())}
        if best.objective is not None:
            metrics["objective"] = best.objective
        if gap is not None:
            metrics["certified-gap"] = gap
        return MetricRecord(metrics)
