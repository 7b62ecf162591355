#!/usr/bin/env python3
"""How long rounds take on loopback with mutual TLS: 8 processes with 100 parameters, and 1,000 rounds of 50 processes.

Usage: latency.py
"""

import json
import statistics
import sys
import tempfile
from pathlib import Path

from common import fedweave, network


def federation(scratch, parts, nodes, dim, rounds):
    data = network(scratch / f"data{parts}", parts, nodes=nodes, dim=dim, rows=4)
    work = scratch / f"work{parts}"
    flags = [data / "nodes.csv", "--edges", data / "edges.csv", "--target", "y", "--lambda", "0.2", "--no-intercept"]
    fedweave("up", *flags, "--rounds", rounds, "--parts", parts, "--work", work)
    results = sorted(work.glob("part-*/state/result/summary.json"))
    return [json.loads(path.read_text()) for path in results], work


def rounds_took(work):
    """Seconds from the moment when all neighbours have met to the end of the last part: start-up is not counted."""
    met, ended = 0, 0
    for log in work.glob("part-*/state/events.jsonl"):
        events = [json.loads(line) for line in log.read_text().splitlines()]
        first_up = {}
        for e in events:
            if e["event"].get("event") == "link_up":
                first_up.setdefault(e["event"]["peer"], e["time_ms"])
        met = max(met, *first_up.values())
        ended = max([ended, *(e["time_ms"] for e in events if e["event"].get("event") == "finished")])
    return (ended - met) / 1000


def main():
    with tempfile.TemporaryDirectory() as scratch:
        scratch = Path(scratch)
        parts, _ = federation(scratch, 8, 8, 100, 2000)
        medians = [1e3 * part["round_seconds_median"] for part in parts]
        print(f"8 processes, d = 100, 2000 rounds: median of a round {statistics.median(medians):.2f} ms (limit 2)")
        many, work = federation(scratch, 50, 50, 10, 1000)
        seconds = rounds_took(work)
        print(f"50 processes, 1,000 rounds: {seconds:.1f} s (limit 60), start-up not counted")
        bytes_sent = sum(part["bytes_sent"] for part in many)
        print(f"50 processes: {bytes_sent} bytes sent in {sum(part['frames_sent'] for part in many)} frames")
        sys.exit(statistics.median(medians) >= 2 or seconds >= 60)


if __name__ == "__main__":
    main()
