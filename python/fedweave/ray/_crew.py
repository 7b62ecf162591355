"""All actors of a run: called together, and started anew together when one of them dies."""

from __future__ import annotations

import time
from typing import Any

import ray
from ray.exceptions import RayActorError, RayTaskError

from ..errors import FedweaveError
from ._actor import Job, PartActor
from ._cut import Piece

PATIENCE = 30.0
"""Seconds for Ray to bring an actor back that it says is gone; one that waits for a place in the cluster may take longer."""


class PartLostError(RuntimeError):
    """An actor died, and Ray does not bring it back."""


class Crew:
    """The actors, by the number of their part."""

    def __init__(self, job: Job, pieces: list[Piece], restarts: int, run: str) -> None:
        kind: Any = ray.remote(PartActor)
        self._actors: dict[int, Any] = {}
        self._limit = restarts
        self._generation = 0
        self.restarts = 0
        for own, piece in enumerate(pieces):
            # Parts lie on as many machines as there are.
            made = kind.options(num_cpus=job.threads, max_restarts=restarts, name=f"{run}-{own}", scheduling_strategy="SPREAD")
            self._actors[own] = made.remote(job, own, piece)

    def start(self, done: int) -> None:
        """All go on from the state after `done` rounds."""
        until = time.monotonic() + PATIENCE
        while True:
            self._generation += 1
            try:
                self._together("start", done, self._actors)
                return
            except RayActorError as lost:
                if time.monotonic() > until:
                    message = f"a part died and does not come back (each may be restarted {self._limit} times): {lost}"
                    raise PartLostError(message) from lost
                time.sleep(0.5)

    def ask(self, what: str, done: int, *arguments: Any) -> list[Any]:
        """The answers of all parts. If one dies, all go back to `done` rounds and are asked again."""
        while True:
            try:
                answers = self._together(what, *arguments)
                if all(answer is not None for answer in answers):
                    return answers
            except RayActorError:
                pass
            self.restarts += 1
            self.start(done)

    def end(self) -> None:
        """They know each other, so none would end by itself."""
        for actor in self._actors.values():
            ray.kill(actor)

    def _together(self, what: str, *arguments: Any) -> list[Any]:
        """Calls all; the first that fails, or that was born after the generation began, ends the wait: others may be waiting for it."""
        calls = [getattr(actor, what).remote(self._generation, *arguments) for actor in self._actors.values()]
        left, answers = calls, {}
        try:
            while left:
                [ready], left = ray.wait(left, num_returns=1)
                answers[ready] = ray.get(ready)
                if answers[ready] is None and what != "start":
                    break
        except RayTaskError as error:
            if isinstance(error.cause, FedweaveError):
                raise error.cause from None
            raise
        return [answers.get(call) for call in calls]
