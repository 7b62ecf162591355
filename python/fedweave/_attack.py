"""How many nodes does it take to do harm, and what is proven about it?"""

from __future__ import annotations

import json
from typing import Any

from . import _engine
from ._base import Networked
from ._nodes import name_of
from ._settings import grid_of, lam_settings
from .errors import FedweaveError

# What belongs to fits that are not repeated.
FIT_ONLY = ("loss-column", "time-limit")


class Attack:
    """What an attack achieved; printed, it says so in words.

    `summary` is what `fedweave attack --json` prints, with every step; `smallest` the number of nodes that did the harm, None if no
    number within the budget did; `attackers` their ids.

    Examples
    --------
    >>> import numpy as np
    >>> from fedweave import GTVRegressor, attack
    >>> rng = np.random.default_rng(0)
    >>> X, ids = rng.normal(size=(60, 2)), np.repeat(["a", "b", "c"], 20)
    >>> model = GTVRegressor([("a", "b"), ("b", "c")], lam=1.0, penalty="squared")
    >>> found = attack(model, X, X[:, 0] + 0.1 * rng.normal(size=60), nodes=ids, kind="label", shift=100, victim="a")
    >>> found.smallest, found.attackers
    (1, ['b'])
    """

    def __init__(self, summary: dict[str, Any], text: str, attackers: list[Any]) -> None:
        self.summary, self._text, self.attackers = summary, text, attackers

    @property
    def smallest(self) -> int | None:
        """The smallest number of nodes that does the harm."""
        found = self.summary["smallest_budget"]
        return None if found is None else int(found)

    def __repr__(self) -> str:
        return self._text


def attack(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    kind: str,
    nodes: Any = None,
    sample_weight: Any = None,
    victim: Any = None,
    budget: int | None = None,
    increase: float = 0.2,
    shift: float | None = None,
    trigger: tuple[str, float] | None = None,
    wanted: Any = None,
    lie: str | None = None,
    rounds: int | None = None,
) -> Attack:
    """Attacks the models of the estimator with one node, two nodes, ... until the error of others has risen; the same as `fedweave attack`.

    `kind` is "label" (labels of attackers are shifted by `shift`), "feature" (features by so many deviations), "clean-label",
    "backdoor" (rows with a `trigger` get the label `wanted`), "model" (attackers lie in `rounds`: one `lie`, or all) or "dos".
    `victim` is the id of a node, attacked by its neighbours; without one, all honest nodes are. Rows are held out to measure harm,
    as the estimator says (`validation`); it is done when the error is `increase` above what it is if everybody behaves, or
    (backdoor) half of the rows with the trigger open.

    Examples
    --------
    >>> import numpy as np
    >>> from fedweave import GTVRegressor, attack
    >>> rng = np.random.default_rng(0)
    >>> X, ids = rng.normal(size=(80, 2)), np.repeat(["a", "b", "c", "d"], 20)
    >>> y = X[:, 0] + 0.1 * rng.normal(size=80)
    >>> graph = [("a", "b"), ("b", "c"), ("c", "d"), ("d", "a")]
    >>> found = attack(GTVRegressor(graph, lam=1.0, penalty="squared"), X, y, nodes=ids, kind="label", shift=100, victim="a")
    >>> found.smallest, len(found.attackers)
    (1, 1)
    """
    if not isinstance(estimator, Networked):
        raise TypeError(f"attack: expected a GTVRegressor or GTVClassifier, got {type(estimator).__name__}")
    if nodes is None and getattr(estimator, "node", None) is None:
        raise FedweaveError("attack: which nodes? give nodes=ids or an estimator with node='column'")
    task, net, _ = estimator._prepare(X, y, sample_weight, nodes)
    lams = getattr(estimator, "lams", None)
    said = {
        "kind": kind,
        "victim": None if victim is None else name_of(victim),
        "budget": budget,
        "raise": increase,
        "shift": shift,
        "trigger": None if trigger is None else f"{trigger[0]}={trigger[1]}",
        "wanted": None if wanted is None else str(wanted),
        "lie": lie,
        "rounds": rounds,
    }
    task.settings = {
        **{key: value for key, value in task.settings.items() if key not in FIT_ONLY},
        **(lam_settings(estimator.lam) if lams is None else {"lambda-grid": grid_of(lams)}),
        **{key: value for key, value in said.items() if value is not None},
    }
    out = estimator._solve(task, net, _engine.attack)
    summary = json.loads(out["summary"])
    return Attack(summary, out["text"], [net.id_of(name) for name in summary["attackers"]])
