"""What travels, in Flower's records.

`query.describe`  asks a supernode which node of the graph it is: `node`, `dim`, `exact`, `curvature`.
`train.prox`      asks for a proximal step: arrays `v` and `start`; numbers `tau`, `round`, `accuracy`; and, to be judged, `w` and `flow`.
                  The answer: array `w`; `loss` if it is known; `gap`, `residue` and `slope` about what was to be judged.
`evaluate.model`  brings a node its model, `w`; the answer is its `loss`, if it is known. The client keeps it in its state.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from flwr.app import Array, ArrayRecord, ConfigRecord, Message, MetricRecord, RecordDict

DESCRIBE, PROX, MODEL = "query.describe", "train.prox", "evaluate.model"
ARRAYS, CONFIG, METRICS = "arrays", "config", "metrics"


@dataclass(frozen=True)
class Ask:
    """What a node is asked for: `argmin_w L_i(w) + |w - v|^2 / (2 tau)`, found to about `accuracy` in the parameters.

    `start` is the node's current model, a good place to begin; `round` counts from 1.
    """

    node: str
    v: np.ndarray
    tau: float
    round: int
    accuracy: float
    start: np.ndarray


def pack(arrays: Mapping[str, np.ndarray] | None = None, **records: Mapping[str, Any]) -> RecordDict:
    """Records of a message."""
    content = RecordDict()
    if arrays is not None:
        content[ARRAYS] = ArrayRecord({name: Array(np.ascontiguousarray(a, dtype=np.float64)) for name, a in arrays.items()})
    for name, values in records.items():
        content[name] = (MetricRecord if name == METRICS else ConfigRecord)(dict(values))
    return content


def arrays_of(message: Message) -> dict[str, np.ndarray]:
    """The arrays of a message."""
    found = message.content.get(ARRAYS)
    return {} if found is None else {name: array.numpy() for name, array in found.items()}


def record_of(message: Message, name: str) -> dict[str, Any]:
    """A record of numbers or words."""
    found = message.content.get(name)
    return {} if found is None else dict(found)


def request(kind: str, to: int, content: RecordDict, round: int, ttl: float) -> Message:
    """A message to a supernode."""
    return Message(content=content, message_type=kind, dst_node_id=to, group_id=str(round), ttl=ttl)
