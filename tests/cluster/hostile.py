#!/usr/bin/env python3
"""A hostile member, and strangers, beside honest processes that go on without it: how many rounds a second are left, how long an honest
part that is started anew takes to come in, and how much is logged.

Usage: hostile.py [join|ack|terms|rows|garbage|damaged|alive|flapping|strangers ...]     (all of them if none is named)

A member floods its neighbours, over its own certificate, with what the name says; `flapping` connects and leaves as often as it
can. `strangers` open 200 connections a second for 30 s that say nothing or nonsense (SECONDS says how long; floods take 5 s).
Both share this machine's cores with the honest ones: a core of its own for the attacker is a fairer trial.
"""

import os
import re
import socket
import ssl
import struct
import subprocess
import sys
import tempfile
import threading
import time
import zlib
from pathlib import Path

from common import PROGRAM, fedweave, network

PARTS = 4
LIAR = "part-0000"
FLOODS = ["join", "ack", "terms", "rows", "garbage", "damaged", "alive", "flapping"]
KINDS = {"rows": 1, "ack": 2, "join": 5, "terms": 11}


def message(kind, body=b""):
    return bytes([kind]) + struct.pack("<I", len(body)) + body


def frame(kind, federation, round, numbers=()):
    body = struct.pack("<BBHHHQQQd", 2, kind, 0, 1, len(numbers), federation, round, 0, 0.0)
    body += struct.pack("<%dd" % len(numbers), *numbers)
    return body + struct.pack("<I", zlib.crc32(body))


class Member:
    """A connection of the liar with one of its neighbours."""

    def __init__(self, work, endpoint):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = False
        context.load_verify_locations(work / "certs/ca.pem")
        context.load_cert_chain(work / f"certs/{LIAR}.pem", work / f"certs/{LIAR}.key")
        host, port = endpoint.rsplit(":", 1)
        self.stream = context.wrap_socket(socket.create_connection((host, int(port)), timeout=5))
        self.stream.settimeout(None)
        name = next(v for rdn in self.stream.getpeercert()["subject"] for k, v in rdn if k == "commonName")
        self.federation, self.round, self.sent, self.lock = None, 0, 0, threading.Lock()
        self.say(message(1, bytes([2]) + os.urandom(8) + (LIAR + "+1@" + name.split("@")[1]).encode()))

    def say(self, data):
        with self.lock:
            self.stream.sendall(data)

    def talk(self):
        """Listens, and says now and then that it is there."""
        threading.Thread(target=self.listen, daemon=True).start()
        threading.Thread(target=self.live, daemon=True).start()
        return self

    def listen(self):
        try:
            source = self.stream.makefile("rb")
            while True:
                head = source.read(5)
                body = source.read(struct.unpack("<I", head[1:])[0])
                if head[0] == 2:
                    self.federation, self.round = struct.unpack("<QQ", body[8:24])
        except (OSError, struct.error):
            return

    def live(self):
        try:
            while True:
                self.say(message(3))
                time.sleep(0.5)
        except OSError:
            return

    def flood(self, what, until):
        if what == "alive":
            data = message(3)
        elif what == "garbage":
            data = message(2, bytes(100))
        elif what == "damaged":
            data = message(2, frame(1, self.federation, 5, [0.0] * 8000)[:-1] + b"x")
        else:
            numbers = {"terms": [12.0] + [0.5] * 7999, "rows": [1.0] * 3}.get(what, [])
            data = message(2, frame(KINDS[what], self.federation, 3 if what != "join" else 0, numbers))
        many = max(1, 65536 // len(data))
        try:
            while time.monotonic() < until:
                self.say(data * many)
                self.sent += many
        except OSError:
            return


def start(work, part, more=()):
    words = [str(PROGRAM), "node", "--config", str(work / part / "node.toml"), *more]
    with open(work / part / "said.txt", "a") as said:
        return subprocess.Popen(words, stdout=said, stderr=said)


def rounds_done(work, part):
    """From its newest checkpoint, without asking it."""
    best = 0
    for slot in ("0", "1"):
        data = (work / part / f"state/checkpoint.{slot}").read_bytes()[:64]
        best = max(best, int.from_bytes(data[48:56], "little"))
    return best


def rate(work, part, seconds):
    began, before = time.monotonic(), rounds_done(work, part)
    time.sleep(seconds)
    return (rounds_done(work, part) - before) / (time.monotonic() - began)


def prepare(scratch, policy):
    data, work = network(scratch / "data", 5, nodes=12, dim=3), scratch / "work"
    flags = [data / "nodes.csv", "--edges", data / "edges.csv", "--target", "y", "--lambda", "0.2", "--solver", "primal-dual"]
    fedweave("up", *flags, "--rounds", "900000000", "--parts", PARTS, "--work", work, "--policy", policy, "--prepare")
    for file in work.glob("*/node.toml"):
        file.write_text(file.read_text().replace("[silence]", "[silence]\ndead-after-seconds = 1"))
    return work


def flood(what, scratch):
    work, seconds = prepare(scratch, "continue"), float(os.environ.get("SECONDS", "5"))
    endpoints = re.findall(r'^endpoint = "(.*)"', (work / LIAR / "node.toml").read_text(), re.M)
    honest = [f"part-{k:04}" for k in range(1, PARTS)]
    running = [start(work, part) for part in honest]
    try:
        time.sleep(0.5)
        members = [Member(work, endpoint).talk() for endpoint in endpoints]
        time.sleep(2.5)  # It says nothing in the rounds, and the others go on without it.
        calm, until = rate(work, honest[0], 3), time.monotonic() + seconds + 1
        if what == "flapping":
            attack = [threading.Thread(target=flap, args=(work, endpoint, until), daemon=True) for endpoint in endpoints]
        else:
            attack = [threading.Thread(target=member.flood, args=(what, until), daemon=True) for member in members]
        for thread in attack:
            thread.start()
        time.sleep(0.5)
        hot = rate(work, honest[0], seconds)
        logged = sum((work / part / "state/events.jsonl").stat().st_size for part in honest)
        sent = sum(member.sent for member in members)
        return hot > calm / 2, f"{calm:.0f} rounds/s before, {hot:.0f} under a flood of {sent} messages, {logged} bytes of log"
    finally:
        end(running)


def flap(work, endpoint, until):
    while time.monotonic() < until:
        try:
            Member(work, endpoint).stream.close()
        except OSError:
            pass


def strangers(scratch):
    work, seconds = prepare(scratch, "wait"), float(os.environ.get("SECONDS", "30"))
    parts = [f"part-{k:04}" for k in range(PARTS)]
    running = [start(work, part) for part in parts]
    try:
        time.sleep(2)
        calm = rate(work, parts[1], 3)
        doors = [re.search(r'^listen = "127.0.0.1:(\d+)"', (work / p / "node.toml").read_text(), re.M)[1] for p in parts]
        until, opened, kept = time.monotonic() + seconds, 0, []
        halfway, came_in, hot = time.monotonic() + seconds / 2, None, rounds_done(work, parts[1])
        began = time.monotonic()
        while time.monotonic() < until:
            try:
                stream = socket.create_connection(("127.0.0.1", int(doors[opened % PARTS])), timeout=1)
                if opened % 2:
                    stream.sendall(os.urandom(200))
                kept.append(stream)
            except OSError:
                pass
            opened += 1
            if len(kept) > 400:
                kept.pop(0).close()
            if came_in is None and time.monotonic() > halfway:
                hot = (rounds_done(work, parts[1]) - hot) / (time.monotonic() - began)
                running[1].kill()
                running[1].wait()
                running[1], came_in = start(work, parts[1], ["--resume"]), time.monotonic()
                at, back = rounds_done(work, parts[1]), None
            if came_in is not None and back is None and rounds_done(work, parts[1]) > at + 5:
                back = time.monotonic() - came_in
            time.sleep(max(0.0, began + opened / 200 - time.monotonic()))
        logged = sum((work / part / "state/events.jsonl").stat().st_size for part in parts)
        what = f"{opened} connections in {seconds:.0f} s; {calm:.0f} rounds/s before, {hot:.0f} meanwhile; "
        return back is not None and back < 5, what + f"back in step {back} s after a kill; {logged} bytes of log"
    finally:
        end(running)


def end(running):
    for process in running:
        process.kill()
        process.wait()


def main():
    bad = 0
    for what in sys.argv[1:] or [*FLOODS, "strangers"]:
        with tempfile.TemporaryDirectory() as scratch:
            good, told = strangers(Path(scratch)) if what == "strangers" else flood(what, Path(scratch))
        bad += not good
        print(f"{what}: {told}", flush=True)
    sys.exit(bad > 0)


if __name__ == "__main__":
    main()
