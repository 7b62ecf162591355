"""The methods as a server runs them. Each asks every node for the same thing, a proximal step,

    w_i = argmin_w L_i(w) + |w - v_i|^2 / (2 tau_i)

and differs in the arguments `v_i` it sends and in what it does with the answers. A node that does not answer keeps its model.
"""

from __future__ import annotations

import numpy as np

from .._checks import number
from ..errors import MethodError, ParameterError
from ._network import Coupling

ALONE = 1e6
"""`tau` of a node without neighbours: a step this long ends, after two or three, where its own loss is smallest."""
FIRST_CHANGE = 10
WORTHWHILE = 1.2


class Method:
    """A state between rounds: `models` is where nodes are, `tau` the lengths of the steps they are asked for."""

    def __init__(self, coupling: Coupling) -> None:
        self.coupling = coupling
        self.models = np.zeros((coupling.nodes, coupling.dim))
        self.tau = np.full(coupling.nodes, ALONE)

    def arguments(self) -> np.ndarray:
        """`v`, a row per node."""
        raise NotImplementedError

    def take(self, answers: np.ndarray, there: np.ndarray) -> None:
        """Goes on with the answers of the nodes that are `there`."""
        raise NotImplementedError

    def flows(self, answers: np.ndarray) -> np.ndarray:
        """Flows in the domain of the conjugates that fit the answers."""
        raise NotImplementedError

    def _spread(self, tau: np.ndarray) -> None:
        """Nodes without neighbours keep the long step."""
        self.tau = np.where(self.coupling.coupled, tau, ALONE)


class PrimalDual(Method):
    """Algorithm 1 of gtv-minimization: a flow on every edge. `step_ratio=None` adapts the ratio of primal to dual steps."""

    def __init__(self, coupling: Coupling, step_ratio: float | None = None, relaxation: float = 1.8) -> None:
        super().__init__(coupling)
        if not 0 < number("relaxation", relaxation, 0.0, strict=True) < 2:
            message = f"relaxation is {relaxation}; it must be between 0 and 2"
            raise ParameterError(message, name="relaxation", value=relaxation)
        self.relaxation = relaxation
        self.adapts = step_ratio is None
        self.u = np.zeros((len(coupling.heads), coupling.dim))
        self.set_step_ratio(1.0 if step_ratio is None else number("step_ratio", step_ratio, 0.0, strict=True))
        self.round, self.next = 0, FIRST_CHANGE
        self.last = (self.models, self.u)

    def set_step_ratio(self, eta: float) -> None:
        """`tau_i = eta / degree_i`, `sigma = 1 / (2 eta)`."""
        self.eta, self.sigma = eta, 0.5 / eta
        self._spread(eta / np.maximum(self.coupling.degree, 1.0))

    def arguments(self) -> np.ndarray:
        pull = np.where(self.coupling.coupled, self.tau, 0.0)
        return self.models - pull[:, None] * self.coupling.divergence(self.u)

    def take(self, answers: np.ndarray, there: np.ndarray) -> None:
        net, old = self.coupling, self.models
        new = np.where(there[:, None], answers, old)
        u = net.engine.prox_conjugate(self.u + self.sigma * net.differences(2 * new - old), self.sigma)
        # A node on its own has nothing to overshoot.
        self.models = np.where(net.coupled[:, None], old + self.relaxation * (new - old), new)
        self.u = self.u + self.relaxation * (u - self.u)
        self.round += 1
        if self.adapts and self.round >= self.next:
            self._adapt()

    def flows(self, answers: np.ndarray) -> np.ndarray:
        net = self.coupling
        return net.engine.prox_conjugate(self.u + self.sigma * net.differences(answers), self.sigma)

    def _adapt(self) -> None:
        """Balances how far models and flows travelled, half way on a logarithmic scale, at growing intervals."""
        self.next = self.round + max(self.round // 2, FIRST_CHANGE)
        primal = float((self.coupling.degree[:, None] * (self.models - self.last[0]) ** 2).sum())
        dual = float(((self.u - self.last[1]) ** 2).sum())
        wanted = np.sqrt(primal / (2 * dual)) if dual > 0 else 0.0
        if wanted > 0 and np.isfinite(wanted):
            eta = float(np.sqrt(self.eta * wanted))
            if not 1 / WORTHWHILE <= eta / self.eta <= WORTHWHILE:
                self.set_step_ratio(eta)
        self.last = (self.models, self.u)


class PDMM(Method):
    """Algorithm 1 of convex-clustering-pdmm, corrected: two ordered pairs per edge, any subset of users in a round."""

    def __init__(
        self, coupling: Coupling, rho: float, eta: float | None, tau: float | None, nu: float | None, share: float
    ) -> None:
        super().__init__(coupling)
        self.rho = number("rho", rho, 0.0, strict=True)
        self.eta = self.rho if eta is None else number("eta", eta, 0.0)
        self.damping = share / (3 * (2 - share)) if tau is None else number("tau", tau, 0.0, strict=True)
        self.nu = 2 / 3 if nu is None else number("nu", nu, 0.0)
        # Pair 0 of edge e goes from its head to its tail, pair 1 back.
        shape = (2, len(coupling.heads), coupling.dim)
        self.z, self.mu, self.mu_hat = np.zeros(shape), np.zeros(shape), np.zeros(shape)
        self._spread(1 / (2 * self.rho * coupling.degree + self.eta))
        unweighted = coupling.adjacency.copy()
        unweighted.data[:] = 1.0
        self.neighbours = unweighted

    def arguments(self) -> np.ndarray:
        net, x = self.coupling, self.models
        pull = self.rho * (self.z[0] - self.z[1]) - (self.mu_hat[0] - self.mu_hat[1])
        v = self.eta * x + 2 * self.rho * (self.neighbours @ x) + net.divergence(pull)
        return np.where(net.coupled[:, None], self.tau[:, None] * v, x)

    def take(self, answers: np.ndarray, there: np.ndarray) -> None:
        net, old = self.coupling, self.models
        x = np.where(there[:, None], answers, old)
        before, after, total = net.differences(old), net.differences(x), self.rho + self.eta
        for pair, (sign, user) in enumerate(((1.0, net.heads), (-1.0, net.tails))):
            drawn = there[user][:, None]
            t = (self.mu_hat[pair] + self.rho * sign * before + self.eta * self.z[pair]) / total
            self.z[pair] = np.where(drawn, net.engine.prox(t, 0.5 / total), self.z[pair])
            off = self.rho * (sign * after - self.z[pair])
            self.mu[pair] = np.where(drawn, self.mu[pair] + self.damping * off, self.mu[pair])
            self.mu_hat[pair] = np.where(drawn, self.mu[pair] - self.nu * off, self.mu_hat[pair])
        self.models = x

    def flows(self, answers: np.ndarray) -> np.ndarray:
        net = self.coupling
        return net.engine.prox_conjugate(self.mu[0] - self.mu[1] + self.rho * net.differences(answers), self.rho)


class FedRelax(Method):
    """Every node minimises the objective over its own model while its neighbours hold still: a step from their mean."""

    def __init__(self, coupling: Coupling) -> None:
        super().__init__(coupling)
        if coupling.penalty != "squared":
            message = f"FedRelax needs penalty='squared', not {coupling.penalty!r}; GTVMin and PDMM take any"
            raise MethodError(message, method="fedrelax", needs="the squared penalty")
        total = np.where(coupling.coupled, coupling.lam * coupling.weighted_degree, 1.0)
        self._spread(0.5 / total)

    def arguments(self) -> np.ndarray:
        net, total = self.coupling, np.where(self.coupling.coupled, self.coupling.weighted_degree, 1.0)
        return np.where(net.coupled[:, None], (net.adjacency @ self.models) / total[:, None], self.models)

    def take(self, answers: np.ndarray, there: np.ndarray) -> None:
        self.models = np.where(there[:, None], answers, self.models)

    def flows(self, answers: np.ndarray) -> np.ndarray:
        return self.coupling.engine.gradient(self.coupling.differences(answers))
