"""States of a part between two rounds, in a folder that all machines see."""

from __future__ import annotations

import os
from pathlib import Path

from ..errors import FileError


class Checkpoints:
    """The last two of a part: when parts are rolled back, some may have saved a batch that others have not ended."""

    def __init__(self, folder: str, own: int) -> None:
        self._folder, self._own = Path(folder), own

    def _path(self, done: int) -> Path:
        return self._folder / f"part-{self._own:04}-{done:012}.state"

    def save(self, done: int, state: bytes) -> None:
        """After `done` rounds. A file is there as a whole or not at all."""
        path = self._path(done)
        half = path.with_suffix(".half")
        with open(os.open(half, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
            file.write(state)
            file.flush()
            os.fsync(file.fileno())
        half.replace(path)
        for old in sorted(self._folder.glob(f"part-{self._own:04}-*.state"))[:-2]:
            old.unlink()

    def load(self, done: int) -> bytes | None:
        """The state after `done` rounds; none at the beginning."""
        if done == 0:
            return None
        # What was saved after it belongs to rounds that are done again.
        for later in self._folder.glob(f"part-{self._own:04}-*.state"):
            if later > self._path(done):
                later.unlink()
        try:
            return self._path(done).read_bytes()
        except OSError as error:
            message = f"{self._path(done)}: {error.strerror}; `checkpoints` must be a folder that all machines see"
            raise FileError(message, path=str(self._path(done)), line=None) from None
