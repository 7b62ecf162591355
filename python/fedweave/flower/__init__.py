"""Fedweave inside Flower: strategies with one model per node, and the client that answers them.

    # server_app.py                                           # client_app.py
    app = ServerApp()                                         def load(context):
                                                                  X, y = my_rows(context)
    @app.main()                                                   return LocalLoss(X, y, loss="squared")
    def main(grid, context):
        result = GTVMin(graph, lam=0.1).start(grid)           app = node_app(load)

The server keeps the flows on the edges and sends each node the argument of its proximal step; the rows stay at the nodes.
"""

try:
    import flwr.serverapp.strategy as _found  # noqa: F401
except ImportError as missing:
    raise ImportError("fedweave.flower needs Flower 1.41 or later: pip install 'fedweave[flower]'") from missing

from ._client import LocalLoss, Trainer, node_app, node_of
from ._result import NetworkResult
from ._roster import NodeError
from ._strategies import PDMM, FedRelax, GTVMin
from ._strategy import NetworkStrategy
from ._wire import Ask

__all__ = [
    "PDMM",
    "Ask",
    "FedRelax",
    "GTVMin",
    "LocalLoss",
    "NetworkResult",
    "NetworkStrategy",
    "NodeError",
    "Trainer",
    "node_app",
    "node_of",
]
