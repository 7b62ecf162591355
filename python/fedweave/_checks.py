"""Arguments of constructors: each is checked in `fit`, with a message that says what would do."""

from __future__ import annotations

import numbers
import sys
import warnings
from typing import Any

import numpy as np

from .errors import ParameterError

SEED_MAX = 2**31 - 1

# As Any, so that type checkers let numbers of every kind be compared and rounded.
REAL: Any = numbers.Real
INTEGRAL: Any = numbers.Integral


def number(name: str, value: Any, least: float, strict: bool = False) -> float:
    """A finite number, at least (or above) `least`."""
    if isinstance(value, bool) or not isinstance(value, REAL):
        raise TypeError(f"{name}: expected a number, got {value!r}")
    good = value > least if strict else value >= least
    if not (good and np.isfinite(value)):
        needs = f"a finite number {'above' if strict else 'of at least'} {least:g}"
        raise ParameterError(f"{name} is {value}; it must be {needs}", name=name, value=value, needs=needs)
    return float(value)


def level_of(interval: Any) -> float:
    """The probability of an interval."""
    level = number("interval", interval, 0.0, strict=True)
    if level >= 1:
        raise ParameterError(f"interval is {level}; it must be between 0 and 1, e.g. 0.9", name="interval", value=level)
    return level


def one_of(name: str, value: Any, known: tuple[str, ...]) -> str:
    """One of some words."""
    if value not in known:
        needs = f"one of {', '.join(known)}"
        raise ParameterError(f"{name} is {value!r}; it must be {needs}", name=name, value=value, needs=needs)
    return str(value)


def seed_of(random_state: Any) -> int:
    """A seed; `None` is 0, as on the command line."""
    from sklearn.utils import check_random_state  # slow to import, and Flower's nodes do without

    if random_state is None:
        return 0
    if isinstance(random_state, numbers.Integral):
        return int(random_state)
    return int(check_random_state(random_state).randint(SEED_MAX))


def threads_of(n_jobs: Any) -> int:
    """Number of threads, 0 for all cores. The result does not depend on it."""
    if n_jobs is None or n_jobs == -1:
        return 0
    if isinstance(n_jobs, bool) or not isinstance(n_jobs, INTEGRAL) or not 1 <= n_jobs <= 1024:
        raise ParameterError(f"n_jobs is {n_jobs!r}; it must be None, -1 or a number of threads", name="n_jobs", value=n_jobs)
    return int(n_jobs)


def warn(message: str, category: type[Warning] = UserWarning) -> None:
    """A warning about the line outside this package that called it."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and str(frame.f_globals.get("__name__", "")).split(".")[0] == "fedweave":
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)
