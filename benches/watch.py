#!/usr/bin/env python3
"""What `--watch` costs: processor time of the same run without and with the page, which is read as a browser reads it.

    benches/watch.py [--runs 7] [--program target/release/fedweave]

Runs take turns, each alone on the machine. Prints the median seconds of processor time (user and system), of wall time and of the solver
alone (`seconds` of the summary), and ratios of the medians; the parameters that are written must be equal, byte for byte. A federation ends after so many rounds, whoever watches.
"""

import argparse
import filecmp
import json
import os
import shutil
import statistics
import subprocess
import tempfile
import threading
import time
import urllib.request
from pathlib import Path
from typing import Any

FITS = {
    "fit": "fit {rows} --edges {edges} --target y --lambda 0.1 --penalty squared --solver fedgd --rounds 10000",
    "up": "up {rows} --edges {edges} --target y --lambda 0.1 --parts 4 --rounds 4000",
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=7)
    parser.add_argument("--program", type=Path, default=Path("target/release/fedweave"))
    args = parser.parse_args()
    program = str(args.program.resolve())
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder)
        generate = [program, "generate", str(data / "data"), "--dim", "20", "--rows", "30", "--seed", "1"]
        subprocess.run(generate, check=True, stdout=subprocess.DEVNULL)
        files = {"rows": data / "data" / "nodes.csv", "edges": data / "data" / "edges.csv"}
        print("| run | CPU s | CPU s watched | ratio | wall s | wall s watched | solver s | solver s watched | ratio |\n" + "|---" * 9 + "|")
        for name, words in FITS.items():
            command = [program, *words.format(**files).split(), "--overwrite"]
            plain, watched = [], []
            for _ in range(args.runs):
                plain.append((*run([*command, "--out", str(data / "plain")], data), solver(data / "plain")))
                seen = run([*command, "--out", str(data / "watched"), "--watch"], data, watch=True)
                watched.append((*seen, solver(data / "watched")))
            same = filecmp.cmp(data / "plain" / "parameters.csv", data / "watched" / "parameters.csv", shallow=False)
            assert same, "other models"
            cpu, cpu_watched = (statistics.median(r[0] for r in runs) for runs in (plain, watched))
            wall, wall_watched = (statistics.median(r[1] for r in runs) for runs in (plain, watched))
            alone, alone_watched = (statistics.median(r[2] for r in runs) for runs in (plain, watched))
            row = [f"{cpu:.2f}", f"{cpu_watched:.2f}", f"{cpu_watched / cpu:.3f}", f"{wall:.2f}", f"{wall_watched:.2f}"]
            row += [f"{alone:.2f}", f"{alone_watched:.2f}", f"{alone_watched / alone:.3f}"]
            print(f"| `{name}` | {' | '.join(row)} |")
            for out in ("plain", "watched"):
                shutil.rmtree(data / out)


def solver(folder: Path) -> float:
    """Seconds that the solver itself took."""
    return json.loads((folder / "summary.json").read_text(encoding="utf-8"))["seconds"]


def run(command: list[str], folder: Path, watch: bool = False) -> tuple[float, float]:
    """Seconds of processor time, of the parts of a federation too, and of wall time."""
    began, before = time.perf_counter(), os.times()
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    if watch:
        address = process.stderr.readline().strip().removeprefix("watch ")
        threading.Thread(target=look, args=(address,), daemon=True).start()
    process.stderr.read()
    assert process.wait() in (0, 1), "the run failed"
    after = os.times()
    cpu = after.children_user + after.children_system - before.children_user - before.children_system
    return cpu, time.perf_counter() - began


def look(address: str) -> None:
    """Reads every state, and a picture twice a second, until the run is over."""
    base, token = address.split("/?token=")
    headers = {"Cookie": f"fedweave-studio-{base.rsplit(':', 1)[1]}={token}"}

    def ask(path: str) -> Any:
        return urllib.request.urlopen(urllib.request.Request(base + path, headers=headers))

    drawn = 0.0
    with ask("/events") as events:
        for line in events:
            if time.monotonic() - drawn > 0.5:
                drawn = time.monotonic()
                ask("/picture").read()
            if b'"ended":{' in line:
                return


if __name__ == "__main__":
    main()
