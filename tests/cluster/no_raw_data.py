#!/usr/bin/env python3
"""No cell of the data leaves its part: every cell is a number of its own, and all that a run sends, keeps and shows is
searched for it: 8 bytes in both byte orders, as a 4-byte number, as decimal text. Also the bytes per edge and round.
Then again with a coupling that the parts learn, and with models of any class, which exchange predictions. Models of nearest neighbours are rows: they may be in the
models.json that their owner gets, and nowhere else.

Usage: no_raw_data.py
"""

import json
import random
import struct
import sys
import tempfile
import threading
import time
import tomllib
import urllib.request
from pathlib import Path

from common import fedweave

NODES, DIM, ROWS, ROUNDS = 8, 5, 6, 400
# Seeds of the data. Chance finds a four-byte number once in several runs of a million bytes (checksums differ from run to run), a leak in
# every run: only if nothing else was found, other data have another try, and they must show nothing.
SEEDS = (7, 8)


def write_data(folder, seed):
    draw = random.Random(seed)
    cells = []

    def cell(size):
        cells.append(size * draw.uniform(0.5, 2) * draw.choice([-1, 1]))
        return repr(cells[-1])

    with open(folder / "nodes.csv", "w") as out:
        out.write("node," + ",".join(f"x{j}" for j in range(DIM)) + ",y\n")
        for k in range(NODES):
            for _ in range(ROWS):
                out.write(f"n{k}," + ",".join(cell(1) for _ in range(DIM)) + f",{cell(3)}\n")
    with open(folder / "edges.csv", "w") as out:
        edges = [(i, j) for i in range(NODES) for j in (i + 1, i + 3) if j < NODES]
        out.write("source,target\n" + "".join(f"n{i},n{j}\n" for i, j in edges))
    assert len(set(cells)) == len(cells)
    return cells, len(edges)


def patterns(value):
    """Everything a cell could look like."""
    yield "8 bytes, little-endian", struct.pack("<d", value)
    yield "8 bytes, big-endian", struct.pack(">d", value)
    yield "4 bytes, little-endian", struct.pack("<f", value)
    yield "4 bytes, big-endian", struct.pack(">f", value)
    digits = f"{abs(value):.17e}".replace(".", "")[:9]
    yield "decimal text", f"{digits[0]}.{digits[1:]}".encode()
    yield "decimal text below one", digits.encode()


def found_in(data, cells):
    return [(value, what) for value in cells for what, pattern in patterns(value) if pattern in data]


def watch_metrics(work, answers, stop):
    while not stop.is_set():
        for config in work.glob("part-*/node.toml"):
            address = tomllib.loads(config.read_text())["metrics"]
            for page in ("metrics", "status"):
                try:
                    token = (config.parent / "state/metrics-token").read_text()
                    wanted = urllib.request.Request(f"http://{address}/{page}", headers={"Authorization": f"Bearer {token}"})
                    answers.append(urllib.request.urlopen(wanted, timeout=1).read())
                except OSError:
                    pass
        time.sleep(0.05)


def frames(path):
    data, at = path.read_bytes(), 0
    while at < len(data):
        (length,) = struct.unpack_from("<I", data, at)
        yield data[at + 4 : at + 4 + length]
        at += 4 + length


def search(work, out, cells, answers, own):
    """Everything a run wrote and showed, but for the files of the owner."""
    files = [p for p in [*work.rglob("*"), *out.rglob("*")] if p.is_file() and p.name not in own]
    kinds = {p.name for p in files}
    needed = {"frames.bin", "checkpoint.0", "checkpoint.1", "events.jsonl", "report.html", "summary.json"}
    assert needed <= kinds, f"missing: {needed - kinds}"
    # The search must find what is there.
    rows = b"".join(p.read_bytes() for p in work.glob("part-*/rows.csv"))
    seen = {value for value, _ in found_in(rows, cells)}
    assert seen == set(cells), "the search misses cells that are there"
    leaks = [(p.name, leak) for p in files for leak in found_in(p.read_bytes(), cells)]
    leaks += [("metrics", leak) for leak in found_in(b"".join(answers), cells)]
    total = sum(p.stat().st_size for p in files)
    print(f"{len(cells)} cells, {len(files)} files, {total} bytes, {len(answers)} metrics pages: {len(leaks)} found")
    for leak in leaks[:10]:
        print("  ", leak)
    return leaks


def models(scratch, cells):
    """Models of any class: what was found of the cells."""
    leaks = []
    kinds = [("ridge", []), ("forest trees=5 min-samples-leaf=3", []), ("mlp hidden=4 epochs=5", [])]
    for k, (kind, own) in enumerate([*kinds, ("nearest neighbours=3", ["models.json"])]):
        work, out = scratch / f"work{k}", scratch / f"run{k}"
        flags = [scratch / "nodes.csv", "--edges", scratch / "edges.csv", "--target", "y", "--lambda", "0.5"]
        flags += ["--model", kind, "--rounds", "20", "--parts", NODES, "--public-from", "normal", "--public-rows", "20"]
        fedweave("up", *flags, "--record-frames", "--work", work, "--out", out)
        print(f"{kind}: ", end="")
        leaks += search(work, out, cells, [], {"rows.csv", "node.toml", *own})
        if own:
            kept = b"".join(p.read_bytes() for p in work.rglob("models.json"))
            assert found_in(kept, cells), "nearest neighbours without rows?"
        assert max(len(f) for p in work.glob("part-*/frames.bin") for f in frames(p)) <= 8 * 20 + 64
    return leaks


def coupling(scratch, cells):
    """Two parts learn the coupling by sums over their rows: what was found of the cells."""
    work, out = scratch / "learnt", scratch / "learnt-run"
    flags = [scratch / "nodes.csv", "--edges", scratch / "edges.csv", "--target", "y", "--coupling", "learnt"]
    flags += ["--rounds", "20", "--parts", "2", "--record-frames"]
    fedweave("up", *flags, "--work", work, "--out", out)
    print("learnt coupling: ", end="")
    return search(work, out, cells, [], {"rows.csv", "node.toml"})


def run(seed):
    """Everything once; what was found of the cells."""
    with tempfile.TemporaryDirectory() as scratch:
        scratch = Path(scratch)
        cells, edges = write_data(scratch, seed)
        work, answers, stop = scratch / "work", [], threading.Event()
        watcher = threading.Thread(target=watch_metrics, args=(work, answers, stop))
        watcher.start()
        flags = [scratch / "nodes.csv", "--edges", scratch / "edges.csv", "--target", "y", "--lambda", "0.05"]
        flags += ["--no-intercept", "--rounds", ROUNDS, "--parts", NODES, "--record-frames"]
        fedweave("up", *flags, "--work", work, "--out", scratch / "run")
        stop.set()
        watcher.join()
        assert answers, "no metrics were read"
        leaks = search(work, scratch / "run", cells, answers, {"rows.csv", "node.toml"})
        sent = [len(f) for p in work.glob("part-*/frames.bin") for f in frames(p)]
        each = sum(sent) / (2 * edges * ROUNDS)
        summaries = [json.loads(p.read_text()) for p in work.glob("part-*/state/result/summary.json")]
        assert sum(sent) == sum(s["bytes_sent"] for s in summaries)
        limit = 8 * DIM + 64
        print(f"{each:.1f} bytes per edge, direction and round, largest frame {max(sent)} (limit {limit})")
        assert max(each, *sent) <= limit
        return leaks + coupling(scratch, cells) + models(scratch, cells)


def main():
    for seed in SEEDS:
        leaks = run(seed)
        if not leaks or any(not what.startswith("4 bytes") for _, (_, what) in leaks):
            break
        print("four bytes only: chance or not, other data tell")
    sys.exit(bool(leaks))


if __name__ == "__main__":
    main()
