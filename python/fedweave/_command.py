"""The `fedweave` command: the same program as the one that `cargo build` makes."""

from __future__ import annotations

import json
import os
import signal
import sys

from . import _engine


def main() -> int:
    """Runs the command line; returns its exit code."""
    # Until the engine catches Ctrl-C itself, it ends the program, as anywhere else.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    # How the engine starts itself for every part of a federation: it sees the interpreter, but not its virtual environment.
    os.environ.setdefault("FEDWEAVE_COMMAND", json.dumps([sys.executable, "-m", "fedweave"]))
    return _engine.main(["fedweave", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
