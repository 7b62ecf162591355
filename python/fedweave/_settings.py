"""Arguments of constructors as the settings of a job: the keys of config files and flags."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from . import _engine
from ._checks import number, one_of, seed_of
from ._nodes import name_of
from ._task import PENALTIES
from .errors import FedweaveError, ParameterError, UnknownNodeError


def lam_settings(lam: Any) -> dict[str, Any]:
    """A number, "auto", or values to choose from."""
    if isinstance(lam, str):
        return {"lambda": one_of("lam", lam, ("auto",))}
    if isinstance(lam, (Sequence, np.ndarray)) and not isinstance(lam, (str, bytes)):
        return {"lambda-grid": grid_of(lam, "lam")}
    return {"lambda": number("lam", lam, 0.0)}


def grid_of(lams: Any, name: str = "lams") -> list[float]:
    """Values of lambda to choose from."""
    values = np.atleast_1d(np.asarray(lams, dtype=np.float64))
    if not values.size or not np.all(np.isfinite(values) & (values >= 0)):
        raise ParameterError(f"{name} is {lams!r}; it must hold numbers, zero or positive", name=name, value=lams)
    return values.tolist()


def model_settings(estimator: Any, features: Sequence[str]) -> dict[str, Any]:
    """Loss, penalty and what is done to the features."""
    loss = estimator.loss if isinstance(estimator.loss, str) else estimator.LOSSES[0]
    said = {
        "loss": one_of("loss", loss, estimator.LOSSES),
        "huber-delta": number("huber_delta", getattr(estimator, "huber_delta", 1.0), 0.0, strict=True),
        "quantile": number("quantile", getattr(estimator, "quantile", 0.5), 0.0, strict=True),
        "penalty": one_of("penalty", estimator.penalty, PENALTIES),
        "ridge": number("ridge", getattr(estimator, "ridge", 0.0), 0.0),
        "node-weight": one_of("node_weight", getattr(estimator, "node_weight", "equal"), ("equal", "rows")),
        "standardize": bool(estimator.standardize),
        "seed": seed_of(estimator.random_state),
    }
    if estimator.penalty == "blocks":
        said["block"] = blocks_of(estimator.blocks, features)
    if options_of(getattr(estimator, "options", None)).get("coupling") == "learnt":
        # Found from the rows.
        return {key: value for key, value in said.items() if key not in ("penalty", "node-weight")}
    return said


def solver_settings(estimator: Any) -> dict[str, Any]:
    """When to stop, and by what."""
    limit = estimator.time_limit
    return {
        "solver": solver_of(estimator.solver),
        "tolerance": number("tol", estimator.tol, 0.0, strict=True),
        "max-iterations": int(number("max_iter", estimator.max_iter, 1)),
        "time-limit": None if limit is None else number("time_limit", limit, 0.0),
        **options_of(getattr(estimator, "options", None)),
    }


def held_out_settings(estimator: Any) -> dict[str, Any]:
    """Rows to hold out."""
    share, split, rule = (getattr(estimator, name, None) for name in ("validation", "split", "lam_rule"))
    return {
        "validation": None if share is None else number("validation", share, 0.0),
        # Defaults say nothing: they would be refused where no rows are held out.
        "split": None if split == "random" else split,
        "lambda-rule": None if rule == "minimum" else rule,
    }


def solver_of(solver: Any) -> str:
    """A solver that the engine knows."""
    return one_of("solver", solver, tuple(_engine.solvers()))


def options_of(options: Mapping[str, Any] | None) -> dict[str, Any]:
    """Whatever else the command line can be told, by name: `rounds`, `step`, `local_steps`, `coupling`, ..."""
    if options is None:
        return {}
    if not isinstance(options, Mapping):
        raise TypeError(f"options: expected a mapping such as {{'rounds': 100}}, got {options!r}")
    return {str(name).replace("_", "-"): value for name, value in options.items()}


def matrix_of(estimator: Any) -> np.ndarray | None:
    """The matrix of the quadratic penalty."""
    if estimator.penalty != "quadratic":
        return None
    if estimator.penalty_matrix is None:
        raise ParameterError("penalty 'quadratic' needs penalty_matrix", name="penalty_matrix", value=None)
    return np.ascontiguousarray(estimator.penalty_matrix, dtype=np.float64)


def blocks_of(blocks: Any, features: Sequence[str]) -> list[str]:
    """Blocks as the command line writes them; features are names or positions."""
    if blocks is None or isinstance(blocks, (str, bytes)) or not isinstance(blocks, Iterable):
        raise ParameterError("penalty 'blocks' needs blocks=[(penalty, strength, features), ...]", name="blocks", value=blocks)
    texts = []
    for block in blocks:
        if not isinstance(block, Sequence) or isinstance(block, str) or len(block) != 3:
            raise ParameterError(f"blocks: expected (penalty, strength, features), got {block!r}", name="blocks", value=block)
        penalty, strength, members = block
        members = [members] if isinstance(members, str) else list(members)
        names = [m if isinstance(m, str) else features[int(m)] for m in members]
        texts.append(f"{penalty}:{number('blocks', strength, 0.0)!r}:{','.join(names)}")
    return texts


def losses_of(estimator: Any, names: Sequence[str], node_of_row: np.ndarray, column: Any) -> list[str | None] | None:
    """The loss of every node, where nodes differ: a mapping, or a column of X that is constant inside a node."""
    if column is not None:
        return _constant(estimator, names, node_of_row, column)
    if not isinstance(estimator.loss, Mapping):
        return None
    given = {name_of(node): one_of("loss", loss, estimator.LOSSES) for node, loss in estimator.loss.items()}
    unknown = [node for node in given if node not in set(names)]
    if unknown:
        raise UnknownNodeError(f"loss: there is no node {unknown[0]!r} in the data or the graph", node=unknown[0])
    return [given.get(name) for name in names]


def _constant(estimator: Any, names: Sequence[str], node_of_row: np.ndarray, column: Any) -> list[str | None]:
    found: list[str | None] = [None] * len(names)
    for node, loss in dict.fromkeys(zip(node_of_row.tolist(), column.tolist())):
        if found[node] not in (None, loss):
            raise FedweaveError(f"loss_column: node {names[node]!r} has the losses {found[node]!r} and {loss!r}; give it one")
        found[node] = one_of("loss_column", loss, estimator.LOSSES)
    return found
