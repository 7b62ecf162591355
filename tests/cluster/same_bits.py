#!/usr/bin/env python3
"""The answer of 1, 2 and 8 processes over mutual TLS is, byte for byte, that of the one-machine solver.

Usage: same_bits.py [networks (20)] [rounds (150)]
"""

import sys
import tempfile
from pathlib import Path

from common import fedweave, network

KINDS = [
    ["--penalty", "norm2"],
    ["--penalty", "norm1"],
    ["--penalty", "squared"],
    ["--penalty", "norminf"],
    ["--penalty", "norm2", "--loss", "huber"],
    ["--penalty", "norm2", "--node-weight", "rows", "--ridge", "0.01"],
    ["--penalty", "norm2", "--standardize"],
    ["--penalty", "norm1", "--loss", "absolute"],
]


def main():
    networks = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    rounds = sys.argv[2] if len(sys.argv) > 2 else "150"
    bad = 0
    with tempfile.TemporaryDirectory() as scratch:
        for seed in range(networks):
            data = network(Path(scratch) / f"data{seed}", seed, nodes=16 + seed % 17, dim=2 + seed % 5)
            kind = KINDS[seed % len(KINDS)]
            flags = [data / "nodes.csv", "--edges", data / "edges.csv", "--target", "y", "--lambda", "0.2", *kind]
            flags += ["--solver", "primal-dual", "--rounds", rounds, "--step-ratio", "1"]
            fedweave("fit", *flags, "--out", data / "central")
            expected = (data / "central/parameters.csv").read_bytes()
            same = []
            for parts in (1, 2, 8):
                fedweave("up", *flags, "--parts", parts, "--out", data / f"up{parts}")
                same.append((data / f"up{parts}/parameters.csv").read_bytes() == expected)
            bad += not all(same)
            print(f"network {seed}: {' '.join(kind)}: 1, 2, 8 processes same bits: {same}", flush=True)
    print(f"{networks - bad} of {networks} networks: byte-identical to the one-machine solver")
    sys.exit(bad > 0)


if __name__ == "__main__":
    main()
