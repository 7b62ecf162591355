"""A grid without processes: messages go straight to client apps, so that the server's logic can be tested in milliseconds."""

from __future__ import annotations

import itertools
import traceback

import numpy as np
from flwr.app import Context, Error, Message, RecordDict
from flwr.supercore.task_identity import TaskIdentity

RAISED, UNAVAILABLE = 2, 5


class DirectGrid:
    """`clients[supernode] = (app, node_config)`. `lost(supernode, round)` says which messages nobody answers."""

    def __init__(self, clients, lost=lambda supernode, round: False):
        self.clients, self.lost = dict(clients), lost
        self.contexts, self.replies, self.ids = {}, {}, itertools.count(1)
        self.kinds = []
        # Flower's runtimes say who sends; here nobody else does.
        TaskIdentity.run_id, TaskIdentity.node_id, TaskIdentity.task_id = 1, 1, 1

    def get_node_ids(self):
        return list(self.clients)

    def push_messages(self, messages):
        ids = []
        for message in messages:
            id = f"m{next(self.ids)}"
            message.metadata.__dict__["_message_id"] = id
            self.kinds.append(message.metadata.message_type)
            reply = self._answer(message)
            if reply is not None:
                self.replies[id] = reply
            ids.append(id)
        return ids

    def pull_messages(self, message_ids):
        return [self.replies.pop(id) for id in list(message_ids) if id in self.replies]

    def _answer(self, message):
        supernode, round = message.metadata.dst_node_id, int(message.metadata.group_id)
        app, config = self.clients[supernode]
        if round and self.lost(supernode, round):
            return Message(Error(UNAVAILABLE, "not there"), reply_to=message)
        context = self.contexts.setdefault(supernode, Context(1, supernode, config, RecordDict(), {}))
        try:
            return app(message, context)
        except Exception:
            return Message(Error(RAISED, traceback.format_exc()), reply_to=message)


def clients(app, names):
    """A supernode for every name, in an order that is not the names'."""
    order = np.random.default_rng(7).permutation(len(names))
    return {1000 + int(k): (app, {"node": names[k]}) for k in order}


def rows(nodes=20, dim=3, per_node=8, seed=0, noise=0.3):
    """Two clusters of nodes on a ring with chords: `{name: (X, y)}` and the edges."""
    rng = np.random.default_rng(seed)
    names = [f"n{i:02d}" for i in range(nodes)]
    truth = np.where(np.arange(nodes)[:, None] < nodes // 2, 1.0, -1.0) * rng.normal(size=dim)
    data = {}
    for i, name in enumerate(names):
        x = rng.normal(size=(per_node, dim))
        data[name] = (x, x @ truth[i] + noise * rng.normal(size=per_node))
    ring = [(names[i], names[(i + 1) % nodes], 1.0) for i in range(nodes)]
    chords = [(names[i], names[(i + nodes // 2) % nodes], 0.5) for i in range(0, nodes // 2, 3)]
    return data, ring + chords
