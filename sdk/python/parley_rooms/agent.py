"""An agent: what it perceives, and what it may do, on any controller."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Protocol

from .errors import Left, ReadOnly
from .listeners import Listeners, Unsubscribe

#: The reserved key of an agent's envelope in app data.
ENVELOPE = "__kib_agent"


@dataclass(frozen=True)
class Chat:
    """A line somebody said. The name is the roster's when the line comes; empty if unknown."""

    from_: str
    name: str
    text: str


@dataclass(frozen=True)
class Schema:
    """How to read an app's views."""

    name: str
    version: str
    schema: Any
    from_: str = ""


class Controller(Protocol):
    """Carries an agent. ``schemas``, ``on_schema``, ``grant`` and ``on_grant`` are optional."""

    async def broadcast(self, data: Any) -> Any: ...
    async def send_to(self, id: str, data: Any) -> Any: ...
    def on_message(self, fn: Callable[[Any, str], None]) -> Unsubscribe: ...
    def participants(self) -> list[dict[str, Any]]: ...
    def on_participants(self, fn: Callable[[list[dict[str, Any]]], None]) -> Unsubscribe: ...
    def set_meta(self, meta: dict[str, Any]) -> None: ...
    async def leave(self) -> None: ...


def agent_meta(*, read_only: bool = False, backend: str = "", egress: bool = False) -> dict[str, Any]:
    """What an agent says about itself, exactly."""
    meta: dict[str, Any] = {"role": "agent", "readOnly": read_only}
    if backend:
        meta["backend"] = backend
    if backend or egress:
        meta["egress"] = True
    return meta


class Agent:
    """An agent in a room; made by :func:`create_agent`."""

    def __init__(self, controller: Controller, *, read_only: bool = False, backend: str = "", egress: bool = False) -> None:
        self._ctrl = controller
        self._read_only = read_only
        self._left = False
        self._view: Any = None
        self._roster = controller.participants()
        self._views, self._chats, self._data, self._rosters = Listeners(), Listeners(), Listeners(), Listeners()
        controller.set_meta(agent_meta(read_only=read_only, backend=backend, egress=egress))
        self._ends = [controller.on_message(self._heard), controller.on_participants(self._saw)]

    def _heard(self, data: Any, from_: str) -> None:
        kind = data.get(ENVELOPE) if isinstance(data, dict) else None
        if not isinstance(kind, str):
            self._data.call(data, from_)
        elif kind == "view":
            # Kept before anybody is told, so that every callback finds the newest.
            self._view = data.get("view")
            self._views.call(self._view, from_)
        elif kind == "chat":
            name = next((p.get("name", "") for p in self._ctrl.participants() if p.get("id") == from_), "")
            text = data.get("text")
            self._chats.call(Chat(from_, name, text if isinstance(text, str) else ""))

    def _saw(self, people: list[dict[str, Any]]) -> None:
        if people != self._roster:
            self._roster = people
            self._rosters.call(people)

    # What it perceives. Each on_… returns a function that ends it.

    def on_view(self, fn: Callable[[Any, str], None]) -> Unsubscribe:
        """Is told every view of the app, and who published it."""
        return self._views.add(fn)

    def get_view(self) -> Any:
        """The newest view; None before the first."""
        return self._view

    def on_chat(self, fn: Callable[[Chat], None]) -> Unsubscribe:
        """Is told every line agents and apps say to agents."""
        return self._chats.add(fn)

    def on_data(self, fn: Callable[[Any, str], None]) -> Unsubscribe:
        """Is told app data that is no envelope."""
        return self._data.add(fn)

    def on_roster(self, fn: Callable[[list[dict[str, Any]]], None]) -> Unsubscribe:
        """Is told when who is there changes."""
        return self._rosters.add(fn)

    def get_roster(self) -> list[dict[str, Any]]:
        """Who is there."""
        return self._ctrl.participants()

    def on_schema(self, fn: Callable[[Schema], None]) -> Unsubscribe:
        """Is told schemas; where the controller has none it is never called."""
        return self._ctrl.on_schema(fn) if hasattr(self._ctrl, "on_schema") else lambda: None

    def get_schemas(self) -> list[Schema]:
        """The schemas published so far."""
        return self._ctrl.schemas() if hasattr(self._ctrl, "schemas") else []

    def on_grant(self, fn: Callable[[dict[str, Any]], None]) -> Unsubscribe:
        """Is told when what the agent may do changes."""
        return self._ctrl.on_grant(fn) if hasattr(self._ctrl, "on_grant") else lambda: None

    def get_grant(self) -> dict[str, Any] | None:
        """What the agent may do now, where the controller knows."""
        return self._ctrl.grant() if hasattr(self._ctrl, "grant") else None

    @property
    def can_act(self) -> bool:
        """Whether saying or acting has a chance."""
        grant = self.get_grant()
        return not self._read_only and (grant is None or not {"send-chat", "act"}.isdisjoint(grant.get("act") or ()))

    # What it does. Each returns once the room has taken it, or raises what the room said.

    async def say(self, text: str) -> None:
        """Says something to everybody."""
        await self.send({ENVELOPE: "chat", "text": text})

    async def act(self, action: Any, to: str = "") -> None:
        """Asks the app to do something; with ``to`` only that participant is asked."""
        await self.send({ENVELOPE: "act", "action": action}, to)

    async def send(self, data: Any, to: str = "") -> None:
        """Sends raw data, to everybody unless ``to`` names somebody."""
        if self._read_only:
            raise ReadOnly
        if self._left:
            raise Left
        await (self._ctrl.send_to(to, data) if to else self._ctrl.broadcast(data))

    async def leave(self) -> None:
        """Leaves the room; again it does nothing."""
        if self._left:
            return
        self._left = True
        for end in self._ends:
            end()
        await self._ctrl.leave()


def create_agent(controller: Controller, *, read_only: bool = False, backend: str = "", egress: bool = False) -> Agent:
    """Makes an agent on a controller and says there what it is."""
    return Agent(controller, read_only=read_only, backend=backend, egress=egress)


class Bridge(Protocol):
    """An app that shows an agent its own view of things, such as one seat of a card game."""

    def on_view(self, fn: Callable[[Any], None]) -> Unsubscribe: ...
    def get_view(self) -> Any: ...
    def on_chat(self, fn: Callable[[Chat], None]) -> Unsubscribe: ...
    def say(self, text: str) -> Awaitable[None]: ...


class BridgeAgent:
    """An agent on a bridge: it sees and talks, nothing else."""

    def __init__(self, bridge: Bridge, read_only: bool) -> None:
        self._bridge = bridge
        self.can_act = not read_only

    def on_view(self, fn: Callable[[Any], None]) -> Unsubscribe:
        """Is told every view of the app."""
        return self._bridge.on_view(fn)

    def get_view(self) -> Any:
        """The newest view."""
        return self._bridge.get_view()

    def on_chat(self, fn: Callable[[Chat], None]) -> Unsubscribe:
        """Is told every line."""
        return self._bridge.on_chat(fn)

    async def say(self, text: str) -> None:
        """Says something."""
        if not self.can_act:
            raise ReadOnly
        await self._bridge.say(text)


def create_agent_from_bridge(bridge: Bridge, *, read_only: bool = False) -> BridgeAgent:
    """Makes an agent on an app's bridge."""
    return BridgeAgent(bridge, read_only)


class Cooldown:
    """Keeps an agent from flooding. A reply may ignore it and stamp it."""

    def __init__(self, seconds: float) -> None:
        self._every = seconds
        self._last: float | None = None

    def ready(self, now: float | None = None) -> bool:
        """Whether enough time has passed; it changes nothing."""
        return self._last is None or (time.monotonic() if now is None else now) - self._last >= self._every

    def stamp(self, now: float | None = None) -> None:
        """Starts the wait."""
        self._last = time.monotonic() if now is None else now
