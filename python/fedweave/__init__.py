"""Personal models for networks of datasets.

A model at every node, neighbours drawn together: `minimise sum_i L_i(w_i) + lam * sum_e A_e * phi(w_i - w_j)`.

    from fedweave import GTVRegressor, knn
    model = GTVRegressor(knn(5, by=["lat", "lon"]), node="station").fit(frame, temperature)
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from . import errors
from ._engine import version as _version

if TYPE_CHECKING:
    from ._active import ActiveSampling
    from ._attack import Attack, attack
    from ._classifier import GTVClassifier, GTVClassifierCV
    from ._clustering import ConvexClustering
    from ._compare import compare
    from ._graphs import knn
    from ._learnt_graph import LearntGraph, learn_graph
    from ._path import LambdaPath
    from ._plots import plot_convergence, plot_network, plot_path
    from ._regressor import GTVRegressor, GTVRegressorCV
    from ._relax import FedRelax
    from ._table import Table
    from ._tuned import TunedClassifier, TunedRegressor
    from ._vertical import VerticalModel, fit_vertical

__version__ = _version()
__all__ = [
    "ActiveSampling",
    "Attack",
    "ConvexClustering",
    "FedRelax",
    "GTVClassifier",
    "GTVClassifierCV",
    "GTVRegressor",
    "GTVRegressorCV",
    "LambdaPath",
    "LearntGraph",
    "Table",
    "TunedClassifier",
    "TunedRegressor",
    "VerticalModel",
    "attack",
    "compare",
    "errors",
    "fit_vertical",
    "knn",
    "learn_graph",
    "plot_convergence",
    "plot_network",
    "plot_path",
]

# Where each name lives. Imported when it is first asked for: scikit-learn takes seconds to import, and a node that runs inside
# Flower, which starts a process for every message, never needs it.
_HOMES = {
    "ActiveSampling": "_active",
    "Attack": "_attack",
    "ConvexClustering": "_clustering",
    "FedRelax": "_relax",
    "GTVClassifier": "_classifier",
    "GTVClassifierCV": "_classifier",
    "GTVRegressor": "_regressor",
    "GTVRegressorCV": "_regressor",
    "LambdaPath": "_path",
    "LearntGraph": "_learnt_graph",
    "Table": "_table",
    "TunedClassifier": "_tuned",
    "TunedRegressor": "_tuned",
    "VerticalModel": "_vertical",
    "attack": "_attack",
    "compare": "_compare",
    "fit_vertical": "_vertical",
    "knn": "_graphs",
    "learn_graph": "_learnt_graph",
    "plot_convergence": "_plots",
    "plot_network": "_plots",
    "plot_path": "_plots",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f".{_HOMES[name]}", __name__), name)
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
