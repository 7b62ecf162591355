#!/usr/bin/env python3
"""Damaged files of parts: the program must refuse or accept them, never crash or hang.

Usage: fuzz_config.py [seconds (60)] [seed (0)]
"""

import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from common import PROGRAM, fedweave, network

WORDS = ["inf", "nan", "-1", "0", "1e308", "1e-320", "99999999999999999999", "true", '""', "[]", "{}", '"\\u0000"']
WORDS += ["[[edge]]", "[model]", "name", "=", "\n", '"', "'''", "[[neighbour]]", '"../../etc/passwd"', "ä", "1979-05-27"]
WORDS += ['"multinomial"', '"point"', '"rows"', "lambda = 1", "classes = 1", "weight = -1", "nodes = 5", '"127.0.0.1:0"']


def damaged(draw, text):
    data = bytearray(text.encode())
    for _ in range(draw.choice([1, 1, 1, 2, 5, 30])):
        at = draw.randrange(len(data) + 1)
        kind = draw.randrange(6)
        if kind == 0:
            data[at:at] = draw.choice(WORDS).encode()
        elif kind == 1:
            del data[at : at + draw.randrange(1, 40)]
        elif kind == 2 and at < len(data):
            data[at] = draw.randrange(256)
        elif kind == 3:
            other = draw.randrange(len(data) + 1)
            data[at:at] = data[other : other + draw.randrange(1, 200)]
        else:
            # A value of its own: what follows an equals sign.
            lines = data.decode(errors="replace").split("\n")
            k = draw.randrange(len(lines))
            if "=" in lines[k]:
                lines[k] = lines[k].split("=")[0] + "= " + draw.choice(WORDS)
            data = bytearray("\n".join(lines).encode())
    return bytes(data)


def main():
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 60
    draw = random.Random(int(sys.argv[2]) if len(sys.argv) > 2 else 0)
    with tempfile.TemporaryDirectory() as scratch:
        data = network(Path(scratch) / "data", 1, nodes=6)
        work = Path(scratch) / "work"
        flags = [data / "nodes.csv", "--edges", data / "edges.csv", "--target", "y", "--lambda", "0.1", "--parts", "3"]
        fedweave("up", *flags, "--rounds", 10, "--work", work, "--prepare")
        good = (work / "part-0001/node.toml").read_text()
        path = work / "part-0001/damaged.toml"
        end, tried, accepted = time.monotonic() + seconds, 0, 0
        while time.monotonic() < end:
            path.write_bytes(damaged(draw, good))
            words = [str(PROGRAM), "node", "--config", str(path), "--check"]
            try:
                done = subprocess.run(words, capture_output=True, timeout=20)
            except subprocess.TimeoutExpired:
                sys.exit(f"hangs:\n{path.read_bytes()!r}")
            if done.returncode not in (0, 2) or b"panicked" in done.stderr:
                sys.exit(f"exit code {done.returncode}: {done.stderr.decode(errors='replace')}\n{path.read_bytes()!r}")
            tried, accepted = tried + 1, accepted + (done.returncode == 0)
        print(f"{tried} damaged files in {seconds:.0f} s: {accepted} accepted, the others refused, no crash, no hang")


if __name__ == "__main__":
    main()
