"""Which supernode is which node of the graph: by what supernodes say about themselves, never by the order of arrival."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from flwr.app import Message
from flwr.serverapp import Grid

from ..errors import FedweaveError, ParameterError, SizeError, UnknownNodeError
from ._wire import CONFIG, DESCRIBE, pack, record_of, request

SILENT = {3, 4, 5}
"""Flower's error codes for messages, replies and supernodes that are not available: nobody is to blame, ask again."""
FIRST_PAUSE, LONGEST_PAUSE = 0.02, 0.25


class NodeError(FedweaveError):
    """A node that failed, or answered what cannot be: `node`, `supernode`."""


@dataclass
class Member:
    """A supernode that says which node it is."""

    supernode: int
    facts: dict[str, Any]


def exchange(grid: Grid, messages: Iterable[Message], timeout: float) -> list[Message]:
    """Sends messages and collects the replies that come in time. `Grid.send_and_receive` looks only every three seconds."""
    open_ids = {str(id) for id in grid.push_messages(messages) if id}
    replies: list[Message] = []
    end, pause = time.monotonic() + timeout, FIRST_PAUSE
    while open_ids:
        got = list(grid.pull_messages(open_ids))
        replies.extend(got)
        open_ids -= {reply.metadata.reply_to_message_id for reply in got}
        if not open_ids or time.monotonic() >= end:
            break
        time.sleep(pause)
        pause = FIRST_PAUSE if got else min(1.3 * pause, LONGEST_PAUSE)
    return replies


def complaint(reply: Message) -> str | None:
    """What a failed client said; `None` for one that was not reached."""
    if reply.error.code in SILENT:
        return None
    lines = [line.strip() for line in (reply.error.reason or "no reason given").strip().splitlines() if line.strip()]
    return lines[-1] if lines else "no reason given"


class Roster:
    """The supernode of every node."""

    def __init__(self, names: Sequence[str]) -> None:
        self.names = set(names)
        self.members: dict[str, Member] = {}
        self.node_of: dict[int, str] = {}

    def missing(self) -> list[str]:
        """Nodes without a supernode."""
        return sorted(self.names - set(self.members))

    def meet(self, grid: Grid, wait: float) -> None:
        """Waits until every node has a supernode."""
        end = time.monotonic() + wait
        self.ask_newcomers(grid, wait)
        while self.missing():
            if time.monotonic() >= end:
                some = ", ".join(repr(name) for name in self.missing()[:5])
                raise UnknownNodeError(
                    f"no supernode says it is node {some} ({len(self.missing())} of {len(self.names)} are missing after {wait:g} s): "
                    "start them, or name nodes that have no rows and no supernode in without_rows",
                    node=self.missing()[0], nodes=self.missing(),
                )  # fmt: skip
            time.sleep(LONGEST_PAUSE)
            self.ask_newcomers(grid, max(end - time.monotonic(), 1.0))

    def ask_newcomers(self, grid: Grid, timeout: float, silent: frozenset[str] = frozenset()) -> None:
        """Asks supernodes that are not known yet which nodes they are. Who was `silent` may be replaced."""
        there = set(grid.get_node_ids())
        newcomers = sorted(there - set(self.node_of))
        messages = [request(DESCRIBE, id, pack(), 0, timeout) for id in newcomers]
        for reply in exchange(grid, messages, timeout) if messages else ():
            supernode = reply.metadata.src_node_id
            if reply.has_error():
                said = complaint(reply)
                if said is not None:
                    raise NodeError(f"supernode {supernode} cannot say which node it is: {said}", node=None, supernode=supernode)
                continue
            self._admit(supernode, record_of(reply, CONFIG), there, silent)

    def _admit(self, supernode: int, facts: dict[str, Any], there: set[int], silent: frozenset[str]) -> None:
        name = facts.get("node")
        if name not in self.names:
            some = ", ".join(repr(n) for n in sorted(self.names)[:3])
            message = f"supernode {supernode} says it is node {name!r}, which is not in the graph (it has {some}, ...)"
            raise UnknownNodeError(message, node=name, supernode=supernode)
        before = self.members.get(name)
        if before is not None and before.supernode in there and name not in silent:
            message = f"node {name!r}: the supernodes {before.supernode} and {supernode} both say they are this node"
            raise NodeError(message, node=name, supernode=supernode)
        if before is not None:
            del self.node_of[before.supernode]
        self.members[name] = Member(supernode, facts)
        self.node_of[supernode] = name

    def dim(self, given: int | None) -> int:
        """The number of parameters that all nodes agree on."""
        said = {name: member.facts["dim"] for name, member in sorted(self.members.items()) if "dim" in member.facts}
        if not said and given is None:
            raise ParameterError("no node says how many parameters a model has: give dim", name="dim", value=None)
        expected = given if given is not None else next(iter(said.values()))
        for name, found in said.items():
            if found != expected:
                message = f"node {name!r}: its models have {found} parameters, those of the others {expected}"
                raise SizeError(message, what="parameters", expected=expected, found=found, node=name)
        return int(expected)
