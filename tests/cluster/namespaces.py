#!/usr/bin/env python3
"""Eight processes in eight network namespaces, mutual TLS, and trouble: two are killed (kill -9) at random times and
resumed, a link is cut for 5 s, a process is frozen for 15 s. Every scenario must end at the central answer to 1e-9.

Usage: namespaces.py [scenarios (20)] [at the same time (5)]
Skipped, with a message, where namespaces are not permitted.
"""

import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from common import PROGRAM, difference, fedweave, network, parameters

PARTS = 8
ROUNDS = 1500
LIMIT = 240.0
TAG = f"fw{os.getpid() % 46656:x}"


def ip(*words, check=True):
    done = subprocess.run(["ip", *words], capture_output=True, text=True)
    if check and done.returncode != 0:
        raise RuntimeError(f"ip {' '.join(words)}: {done.stderr.strip()}")
    return done.returncode == 0


def permitted():
    name = f"{TAG}probe"
    if shutil.which("ip") is None or os.geteuid() != 0 or not ip("netns", "add", name, check=False):
        return False
    bridge = f"{TAG}pb"
    good = ip("link", "add", bridge, "type", "bridge", check=False)
    ip("link", "del", bridge, check=False)
    ip("netns", "del", name, check=False)
    return good


class Net:
    """A bridge and eight namespaces, one address each."""

    def __init__(self, k):
        self.bridge = f"{TAG}b{k}"
        self.spaces = [f"{TAG}n{k}x{p}" for p in range(PARTS)]
        self.hosts = [f"10.{100 + k // 250}.{k % 250}.{p + 1}" for p in range(PARTS)]

    def __enter__(self):
        ip("link", "add", self.bridge, "type", "bridge")
        ip("link", "set", self.bridge, "up")
        for p, space in enumerate(self.spaces):
            outer = f"{self.bridge}v{p}"
            ip("netns", "add", space)
            ip("link", "add", outer, "type", "veth", "peer", "name", "eth0", "netns", space)
            ip("link", "set", outer, "master", self.bridge)
            ip("link", "set", outer, "up")
            ip("-n", space, "link", "set", "lo", "up")
            ip("-n", space, "addr", "add", f"{self.hosts[p]}/24", "dev", "eth0")
            ip("-n", space, "link", "set", "eth0", "up")
        return self

    def link(self, p, state):
        ip("link", "set", f"{self.bridge}v{p}", state)

    def __exit__(self, *_):
        for space in self.spaces:
            ip("netns", "del", space, check=False)
        ip("link", "del", self.bridge, check=False)


class Federation:
    """The processes of one scenario; none of them survives it."""

    def __init__(self, net, work):
        self.net, self.work, self.running = net, work, {}

    def start(self, p, resume=False):
        folder = self.work / f"part-{p:04d}"
        words = ["ip", "netns", "exec", self.net.spaces[p], str(PROGRAM), "node", "--config", str(folder / "node.toml")]
        out = open(folder / "output.txt", "ab")
        # `ip netns exec` becomes the program: the id stays the same.
        self.running[p] = subprocess.Popen(words + ["--resume"] * resume, stdout=out, stderr=out)

    def signal(self, p, number):
        if self.running[p].poll() is None:
            self.running[p].send_signal(number)

    def kill_and_resume(self, p, pause):
        self.signal(p, signal.SIGKILL)
        self.running[p].wait()
        time.sleep(pause)
        if not (self.work / f"part-{p:04d}/state/result/summary.json").exists():
            self.start(p, resume=True)

    def wait(self, deadline):
        for p, child in self.running.items():
            child.wait(max(0.1, deadline - time.monotonic()))

    def end(self):
        for child in self.running.values():
            if child.poll() is None:
                child.kill()
                child.wait()


def trouble(draw, federation, log):
    """Everything that happens to a federation, each in its own thread."""
    victims = draw.sample(range(PARTS), 4)

    def kill(p, at, pause):
        time.sleep(at)
        log.append(f"kill {p} at {at:.1f}")
        federation.kill_and_resume(p, pause)

    def cut(p, at):
        time.sleep(at)
        log.append(f"cut {p} at {at:.1f}")
        federation.net.link(p, "down")
        time.sleep(5)
        federation.net.link(p, "up")

    def freeze(p, at):
        time.sleep(at)
        log.append(f"freeze {p} at {at:.1f}")
        federation.signal(p, signal.SIGSTOP)
        time.sleep(15)
        federation.signal(p, signal.SIGCONT)

    jobs = [(kill, victims[0], draw.uniform(0.5, 6), draw.uniform(0, 2)), (kill, victims[1], draw.uniform(1, 20), 0.5)]
    jobs += [(cut, victims[2], draw.uniform(0.5, 6)), (freeze, victims[3], draw.uniform(0.5, 6))]
    return [threading.Thread(target=job[0], args=job[1:]) for job in jobs]


def scenario(k, scratch):
    draw = random.Random(k)
    folder = scratch / f"s{k}"
    data = network(folder / "data", k, nodes=24, dim=4)
    flags = [data / "nodes.csv", "--edges", data / "edges.csv", "--target", "y", "--lambda", "0.2"]
    flags += ["--rounds", ROUNDS, "--step-ratio", "1", "--solver", "primal-dual"]
    fedweave("fit", *flags, "--out", folder / "central")
    central = parameters(folder / "central/parameters.csv")
    log, started = [], time.monotonic()
    with Net(k) as net:
        work = folder / "work"
        fedweave("up", *flags, "--parts", PARTS, "--work", work, "--hosts", ",".join(net.hosts), "--prepare")
        federation = Federation(net, work)
        try:
            for p in range(PARTS):
                federation.start(p)
            threads = trouble(draw, federation, log)
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            federation.wait(started + LIMIT)
        except subprocess.TimeoutExpired:
            log.append("did not end in time")
        finally:
            federation.end()
    found, seconds = {}, time.monotonic() - started
    for p in range(PARTS):
        result = work / f"part-{p:04d}/state/result"
        if not (result / "parameters.csv").exists():
            return False, f"part {p} has no result; {'; '.join(log)}"
        found |= parameters(result / "parameters.csv")
    gap = difference(found, central)
    return gap <= 1e-9, f"difference {gap:.1e}, {seconds:.0f} s; {'; '.join(log)}"


def main():
    scenarios = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    together = int(sys.argv[2]) if len(sys.argv) > 2 else 5
    if not permitted():
        print("network namespaces are not permitted here: the federation in namespaces is skipped")
        return
    good, lock, places = 0, threading.Lock(), threading.Semaphore(together)
    scratch = Path(tempfile.mkdtemp(prefix="fedweave-namespaces-"))

    def one(k):
        nonlocal good
        with places:
            try:
                passed, words = scenario(k, scratch)
            except Exception as error:  # a scenario that breaks is a scenario that failed
                passed, words = False, f"{type(error).__name__}: {error}"
        with lock:
            good += passed
            print(f"scenario {k}: {'ok' if passed else 'FAILED'}: {words}", flush=True)

    threads = [threading.Thread(target=one, args=(k,)) for k in range(scenarios)]
    started = time.monotonic()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print(f"{good} of {scenarios} scenarios ended at the central answer to 1e-9, {time.monotonic() - started:.0f} s")
    if good == scenarios:
        shutil.rmtree(scratch, ignore_errors=True)
    else:
        print(f"files are kept in {scratch}")
    sys.exit(good != scenarios)


if __name__ == "__main__":
    main()
