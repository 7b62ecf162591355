"""A progress bar for terminals and notebooks."""

from __future__ import annotations

import math
import sys
import time
from typing import Any

WIDTH = 30


def in_notebook() -> bool:
    """True inside a Jupyter kernel."""
    shell = sys.modules.get("IPython")
    running = shell.get_ipython() if shell is not None else None
    return running is not None and "IPKernelApp" in getattr(running, "config", {})


class Bar:
    """Called by the engine while it solves; `close` removes the line."""

    def __init__(self, tol: float, what: str = "fitting", stream: Any = None) -> None:
        self.stream = sys.stderr if stream is None else stream
        self.tol, self.what = tol, what
        self.first: dict[int, float] = {}
        self.started = time.monotonic()
        self.drawn = 0

    def __call__(
        self, piece: int, iteration: int, objective: float, error: float, what: str | None = None, tol: float | None = None
    ) -> None:
        """The solver is at `iteration` of its solve number `piece`; `what` is done there, to the accuracy `tol`."""
        self.what, self.tol = what or self.what, tol or self.tol
        first = self.first.setdefault(piece, error)
        # The error falls about geometrically, so its logarithm tells how far we are.
        goal = math.log(max(first / self.tol, 1 + 1e-9)) if first > 0 else 1.0
        share = min(max(math.log(first / error) / goal, 0.0), 1.0) if error > 0 and first > 0 else 1.0
        done = int(WIDTH * share)
        bar = "=" * done + " " * (WIDTH - done)
        seconds = time.monotonic() - self.started
        self._draw(f"{self.what} [{bar}] {seconds:.1f} s, iteration {iteration}, objective {objective:.6g}, error {error:.1e}")

    def advance(self, what: str, done: int, total: int) -> None:
        """Piece `done` of `total` alike is under way, counted from 0."""
        full = WIDTH * done // max(total, 1)
        bar = "=" * full + " " * (WIDTH - full)
        self._draw(f"{what} {done + 1} of {total} [{bar}] {time.monotonic() - self.started:.1f} s")

    def _draw(self, line: str) -> None:
        self.stream.write("\r" + line.ljust(self.drawn))
        self.stream.flush()
        self.drawn = len(line)

    def close(self) -> None:
        """Removes the bar."""
        if self.drawn:
            self.stream.write("\r" + " " * self.drawn + "\r")
            self.stream.flush()


def bar_for(verbose: Any, tol: float, what: str = "fitting") -> Bar | None:
    """A bar if one is wanted and somebody can see it (`verbose=2`: always)."""
    if not verbose:
        return None
    visible = int(verbose) > 1 or getattr(sys.stderr, "isatty", bool)() or in_notebook()
    return Bar(tol, what) if visible else None
