"""Fedweave on a Ray cluster: one owner, many machines. The network is cut into parts, each part is an actor that reads its own rows,
and neighbouring actors hand each other the models at the cut, round by round:

    import ray, fedweave.ray
    ray.init(address="auto")
    result = fedweave.ray.fit("rows.parquet", "edges.parquet", target="y", lam=0.1, parts=8)
    result.models["turku"]

The bits are those of one machine. Rows are not hidden from the cluster's owner: for parties that keep their rows from each other
there is the federation of the command line.
"""

try:
    import ray as _found  # noqa: F401
except ImportError as missing:
    raise ImportError("fedweave.ray needs Ray: pip install 'fedweave[ray]'") from missing

from ._crew import PartLostError
from ._fit import fit
from ._result import RayResult

__all__ = ["PartLostError", "RayResult", "fit"]
