#!/usr/bin/env python3
"""Real processes that have a hard time: every connection goes through a proxy of this script, which delays, holds back as a lossy
network does, or cuts. The answer must have the bits of one machine.

Usage: hardship.py [calm|kills|freeze|loss|far|cuts ...]     (all of them if none is named)

calm    nothing goes wrong
kills   20 processes are killed, one after another, and resumed
freeze  one process stands still for so many seconds as FREEZE says (60)
loss    20 % of what is sent is late, as what a lossy network has to send again: 0.2 s, then 0.4 s, 0.8 s, ...
far     a round trip takes a second
cuts    half of the processes cannot reach the other half, five times for 2 s
"""

import os
import random
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from common import PROGRAM, fedweave, network

PARTS = 6
ROUNDS = {"calm": 3000, "kills": 30000, "freeze": 20000, "loss": 120, "far": 40, "cuts": 20000}
TIME_LIMIT = 300


class Proxy:
    """Forwards connections to one part, in order, in both directions."""

    def __init__(self, port, world, dialler, host):
        self.port, self.world, self.pair = port, world, (dialler, host)
        self.listener = socket.create_server(("127.0.0.1", 0))
        threading.Thread(target=self.accept, daemon=True).start()

    def address(self):
        return "127.0.0.1:%d" % self.listener.getsockname()[1]

    def accept(self):
        while True:
            near, _ = self.listener.accept()
            try:
                far = socket.create_connection(("127.0.0.1", self.port), timeout=2)
            except OSError:
                # Nobody listens yet: who dialled must hear of it, or it waits for the handshake.
                near.close()
                continue
            far.settimeout(None)
            for stream in (near, far):
                stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self.world.streams.append((self.pair, near, far))
            for a, b in ((near, far), (far, near)):
                threading.Thread(target=self.forward, args=(a, b), daemon=True).start()

    def forward(self, source, sink):
        queue, there = [], threading.Condition()

        def deliver():
            while True:
                with there:
                    while not queue:
                        there.wait()
                    due, data = queue.pop(0)
                time.sleep(max(0.0, due - time.monotonic()))
                try:
                    if data:
                        sink.sendall(data)
                    else:
                        sink.shutdown(socket.SHUT_WR)
                        return
                except OSError:
                    return

        threading.Thread(target=deliver, daemon=True).start()
        last = 0.0
        while True:
            try:
                data = source.recv(1 << 16)
            except OSError:
                data = b""
            last = max(last, time.monotonic() + self.world.delay())
            with there:
                queue.append((last, data))
                there.notify()
            if not data:
                return


class World:
    def __init__(self, scenario):
        self.scenario, self.streams, self.draw = scenario, [], random.Random(7)

    def delay(self):
        if self.scenario == "far":
            return 0.5
        if self.scenario == "loss":
            late, step = 0.001, 0.2
            while self.draw.random() < 0.2:
                late, step = late + step, 2 * step
            return late
        return 0.0

    def cut(self, half):
        """Closes the connections between two halves."""
        for (a, b), near, far in self.streams:
            if (a in half) != (b in half):
                for stream in (near, far):
                    try:
                        stream.shutdown(socket.SHUT_RDWR)
                    except OSError:
                        pass


def start(work, part, more=()):
    words = [str(PROGRAM), "node", "--config", str(work / part / "node.toml"), *more]
    with open(work / part / "said.txt", "a") as said:
        return subprocess.Popen(words, stdout=said, stderr=said)


def through_proxies(work, parts, world):
    ports = {p: int(re.search(r'^listen = "127.0.0.1:(\d+)"', (work / p / "node.toml").read_text(), re.M)[1]) for p in parts}
    for part in parts:
        file = work / part / "node.toml"
        lines, name = [], None
        for line in file.read_text().splitlines():
            if line == "[[neighbour]]":
                name = None
            found = re.match(r'name = "(.*)"', line)
            name = found[1] if found else name
            if line.startswith("endpoint = ") and name in ports:
                line = 'endpoint = "%s"' % Proxy(ports[name], world, part, name).address()
            lines.append(line)
        file.write_text("\n".join(lines) + "\n")


def rounds_done(work, part):
    """From its newest checkpoint, without asking it: the fourth word of a state."""
    best = 0
    for slot in ("0", "1"):
        path = work / part / f"state/checkpoint.{slot}"
        if path.exists():
            data = path.read_bytes()[:64]
            if len(data) >= 56:
                best = max(best, int.from_bytes(data[24 + 24 : 24 + 32], "little"))
    return best


def trouble(scenario, work, running, world):
    draw = random.Random(3)
    parts = list(running)
    if scenario == "kills":
        for kill in range(20):
            part = draw.choice(parts)
            time.sleep(draw.uniform(0.05, 0.3))
            if running[part].poll() is not None:
                return kill
            running[part].kill()
            running[part].wait()
            time.sleep(draw.uniform(0.0, 0.2))
            running[part] = start(work, part, ["--resume"])
        return 20
    if scenario == "freeze":
        time.sleep(0.5)
        part = running[parts[0]]
        part.send_signal(signal.SIGSTOP)
        time.sleep(float(os.environ.get("FREEZE", "60")))
        part.send_signal(signal.SIGCONT)
    if scenario == "cuts":
        for _ in range(5):
            half = set(draw.sample(parts, len(parts) // 2))
            until = time.monotonic() + 2
            while time.monotonic() < until:
                world.cut(half)
                time.sleep(0.05)
            time.sleep(0.3)
    return None


def run(scenario, scratch):
    data = network(scratch / scenario, 5, nodes=12, dim=3)
    rounds, work = str(ROUNDS[scenario]), scratch / f"work-{scenario}"
    flags = [data / "nodes.csv", "--edges", data / "edges.csv", "--target", "y", "--lambda", "0.2", "--solver", "primal-dual"]
    flags += ["--rounds", rounds, "--step-ratio", "1"]
    fedweave("fit", *flags, "--out", data / "central")
    fedweave("up", *flags, "--parts", PARTS, "--work", work, "--prepare")
    parts = sorted(path.parent.name for path in work.glob("*/node.toml"))
    world = World(scenario)
    through_proxies(work, parts, world)
    began = time.monotonic()
    running = {part: start(work, part) for part in parts}
    try:
        while not all(rounds_done(work, part) > 0 for part in parts):
            time.sleep(0.02)
            if time.monotonic() - began > TIME_LIMIT:
                return False, "they do not begin"
        met = time.monotonic() - began
        times = trouble(scenario, work, running, world)
        for part, process in running.items():
            process.wait(max(1.0, TIME_LIMIT - (time.monotonic() - began)))
    except subprocess.TimeoutExpired:
        return False, "they do not end: " + ", ".join(f"{p} in round {rounds_done(work, p)}" for p in parts)
    finally:
        for process in running.values():
            if process.poll() is None:
                process.send_signal(signal.SIGCONT)
                process.kill()
                process.wait()
    codes = [process.returncode for process in running.values()]
    rows = []
    for part in parts:
        rows += (work / part / "state/result/parameters.csv").read_text().splitlines()[1:]
    same = sorted(rows) == sorted((data / "central/parameters.csv").read_text().splitlines()[1:])
    seconds = time.monotonic() - began
    more = "" if times is None else f", {times} kills"
    return same and set(codes) == {0}, f"{rounds} rounds, met after {met:.1f} s, {seconds:.1f} s{more}, exit codes {sorted(set(codes))}, same bits: {same}"


def main():
    bad = 0
    with tempfile.TemporaryDirectory() as scratch:
        for scenario in sys.argv[1:] or ROUNDS:
            good, what = run(scenario, Path(scratch))
            bad += not good
            print(f"{scenario}: {what}", flush=True)
    sys.exit(bad > 0)


if __name__ == "__main__":
    main()
