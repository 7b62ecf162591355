"""A part as an actor: it reads its own rows, and hands the models at the cut to the actors next to it, round by round."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import _engine
from .._task import Rows, Task
from ..errors import LabelError
from ._checkpoints import Checkpoints
from ._cut import Piece
from ._tables import RowsFile


@dataclass
class Job:
    """What all parts are told. `settings` are those of the command line, by key."""

    rows: RowsFile
    settings: dict[str, Any]
    step_ratio: float
    relaxation: float
    folder: str
    threads: int


class RolledBack(Exception):
    """The driver has started a later generation: what this one was doing no longer counts."""


class PartActor:
    """One part. Whenever an actor dies, the driver starts all of them anew from the same round, as another generation; what is left of
    earlier ones is ignored. So no message counts twice, and none is missing."""

    def __init__(self, job: Job, own: int, piece: Piece) -> None:
        # Read when the engine first uses its threads.
        os.environ["RAYON_NUM_THREADS"] = str(job.threads)
        self._job, self._own, self._piece = job, own, piece
        self._saved = Checkpoints(job.folder, own)
        self._generation = -1
        self._others: Mapping[int, Any] = {}
        self._part: _engine.Part | None = None
        self._arrived: dict[tuple[int, int], np.ndarray] = {}
        self._news = asyncio.Event()

    async def start(self, generation: int, done: int, others: Mapping[int, Any]) -> None:
        """Goes on from the state after `done` rounds. Calls may overtake each other: the latest generation counts."""
        if generation <= self._generation:
            return
        self._generation, self._others = generation, others
        self._arrived.clear()
        self._news.set()
        self._part = self._read(done)

    async def advance(self, generation: int, until: int) -> float | None:
        """Rounds up to `until`, then a checkpoint; returns the residual, or None if this generation is over."""
        part = self._part
        if part is None or generation != self._generation:
            return None
        try:
            while part.round < until:
                await self._round(generation, part)
        except RolledBack:
            return None
        self._saved.save(until, part.checkpoint())
        return part.residual()

    async def receive(self, generation: int, done: int, peer: int, rows: np.ndarray) -> None:
        """What is outgoing at a neighbour after `done` rounds."""
        if generation == self._generation:
            self._arrived[done, peer] = rows
            self._news.set()

    async def models(self, generation: int) -> np.ndarray | None:
        """The models of its nodes, in the order of their names."""
        return None if self._part is None or generation != self._generation else self._part.models

    async def _round(self, generation: int, part: _engine.Part) -> None:
        part.begin()
        for peer in part.peers:
            # Nobody waits for an answer: whether rows arrived shows in those that come back.
            self._others[peer].receive.options(num_returns=0).remote(generation, part.round, self._own, part.outgoing(peer))
        for peer in part.peers:
            part.incoming(peer, await self._arrival(generation, (part.round, peer)))
        part.complete()
        # A part without neighbours listens too.
        await asyncio.sleep(0)
        self._check(generation)

    async def _arrival(self, generation: int, key: tuple[int, int]) -> np.ndarray:
        while key not in self._arrived:
            self._news.clear()
            await self._news.wait()
            self._check(generation)
        return self._arrived.pop(key)

    def _check(self, generation: int) -> None:
        if generation != self._generation:
            raise RolledBack

    def _read(self, done: int) -> _engine.Part:
        job, piece = self._job, self._piece
        state = self._saved.load(done)
        x, y, node = job.rows.read({piece.names[i]: i for i in piece.own(self._own)})
        rows = Rows(x, y, None, node, len(piece.names), piece.heads, piece.tails, piece.weights, job.rows.intercept)
        task = Task(rows, piece.names, job.rows.features, job.settings)
        try:
            return _engine.Part(task, piece.part_of, self._own, job.step_ratio, job.relaxation, state)
        except LabelError as error:
            # Its row is one among those of this part, which nobody else can count.
            message = f"{job.rows.path}: column {job.rows.target!r} holds {error.label:g}; the {error.loss} loss needs {error.needs}"
            raise LabelError(message, row=None, label=error.label, loss=error.loss, needs=error.needs) from None
