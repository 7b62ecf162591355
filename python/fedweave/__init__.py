"""Personal models for networks of datasets.

A model at every node, neighbours drawn together: `minimise sum_i L_i(w_i) + lam * sum_e A_e * phi(w_i - w_j)`.

    from fedweave import GTVRegressor, knn
    model = GTVRegressor(knn(5, by=["lat", "lon"]), node="station").fit(frame, temperature)
"""

from . import errors
from ._active import ActiveSampling
from ._classifier import GTVClassifier, GTVClassifierCV
from ._clustering import ConvexClustering
from ._compare import compare
from ._engine import version as _version
from ._graphs import knn
from ._path import LambdaPath
from ._plots import plot_convergence, plot_network, plot_path
from ._regressor import GTVRegressor, GTVRegressorCV
from ._relax import FedRelax
from ._table import Table

__version__ = _version()
__all__ = [
    "ActiveSampling",
    "ConvexClustering",
    "FedRelax",
    "GTVClassifier",
    "GTVClassifierCV",
    "GTVRegressor",
    "GTVRegressorCV",
    "LambdaPath",
    "Table",
    "compare",
    "errors",
    "knn",
    "plot_convergence",
    "plot_network",
    "plot_path",
]
