"""A room over its WebSocket: announces, proves its key, resumes after a break without
gap or duplicate, and sends again what was not acknowledged."""

from __future__ import annotations

import asyncio
import json
import random
import uuid
from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import Any

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidStatus

from .agent import Agent, Schema, agent_meta, create_agent
from .credit import SHORTEST, renewal_pause
from .errors import Denied, Left, NotJoined, RoomError
from .keys import Key, Seal
from .link import channel_fingerprint, parse_link
from .listeners import Listeners, Unsubscribe, log

#: A silent hub is asked every so many seconds, and is lost when this much more passes
#: without an answer.
HEARTBEAT, PATIENCE = 10.0, 15.0

#: Closes after which coming back is pointless.
FINAL = {4401, 4403, 4404, 4409, 4410}

_REFUSALS = {"denied", "locked", "unverified"}


class Room:
    """A connection with a room; a controller for agents. Made by :func:`connect_room`."""

    def __init__(
        self, url: str, *, name: str = "Agent", key: Key | None = None, token: str = "", invite: str = "", room_key: str = "",
        credit: str = "", renew_credit: Callable[[], Awaitable[str]] | None = None, meta: dict[str, Any] | None = None,
        want: dict[str, Any] | None = None, person: bool = False, ssl: Any = None,
    ) -> None:
        self._link = parse_link(url)
        self._name, self._key, self._token, self._want = name, key, token, want
        self._invite = invite or self._link.invite
        self._secret = room_key or self._link.secret
        self._credit, self._renew = credit, renew_credit
        # An agent says so in its first frame: who says it later was a person until then.
        self._role = {} if person else {"role": "agent"}
        self._meta = {**self._role, **(meta or {})}
        self._ssl = ssl
        #: What the room said first, and who we are in it.
        self.hello: dict[str, Any] = {}
        self.self: dict[str, Any] = {}
        self._socket: ClientConnection | None = None
        self._in = False
        self._since = 0
        self._nonce = ""
        self._seal: Seal | None = None
        self._members: list[dict[str, Any]] = []
        self._caps: dict[str, dict[str, Any]] = {}
        self._known: dict[tuple[str, str], Schema] = {}
        self._lanes: dict[str, bool] | None = None
        self._next = 0
        self._pending: dict[int, tuple[dict[str, Any], bool, asyncio.Future[dict[str, Any]]]] = {}
        self._messages, self._contents, self._rosters = Listeners(), Listeners(), Listeners()
        self._schemas, self._grants, self._denials = Listeners(), Listeners(), Listeners()
        # What a room keeps for newcomers waits until somebody listens.
        self._held: list[tuple[Listeners, tuple[Any, ...]]] | None = []
        self._joined: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._ended: asyncio.Future[RoomError] = asyncio.get_running_loop().create_future()
        self._tasks: set[asyncio.Task[Any]] = set()

    # --- Being in the room

    async def __aenter__(self) -> Room:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self.leave()

    async def _enter(self) -> Room:
        self._spawn(self._run(await self._connect()))
        try:
            doors: list[asyncio.Future[Any]] = [self._joined, self._ended]
            await asyncio.wait(doors, return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            await self.leave()
            raise
        if self._ended.done():
            raise self._ended.result()
        return self

    async def wait_closed(self) -> RoomError:
        """Waits until it is all over and tells why; :class:`Left` after :meth:`leave`."""
        return await asyncio.shield(self._ended)

    async def leave(self) -> None:
        """Leaves the room for good; again it does nothing."""
        if not self._ended.done():
            try:
                await self._put({"t": "leave"})
            except (RoomError, ConnectionClosed):
                pass  # who is not in need not say that it goes
            self._end(Left())
        for task in list(self._tasks):
            if task is not asyncio.current_task():
                task.cancel()
        if self._socket:
            await self._socket.close()

    def _spawn(self, work: Any) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    # --- The controller an agent is built on

    async def broadcast(self, data: Any) -> int:
        """Sends app data to everybody and returns its place in the room's order."""
        return await self.content({"k": "app", "data": data})

    async def send_to(self, id: str, data: Any) -> int:
        """Sends app data to one participant."""
        return await self.content({"k": "app", "data": data}, id)

    def on_message(self, fn: Callable[[Any, str], None]) -> Unsubscribe:
        """Is told app data and whose it is."""
        self._release()
        return self._messages.add(fn)

    def on_content(self, fn: Callable[[dict[str, Any]], None]) -> Unsubscribe:
        """Is told everything, in order: seq, ts, from, to, c, retained."""
        self._release()
        return self._contents.add(fn)

    def participants(self) -> list[dict[str, Any]]:
        """Who is there, with everything the room tells."""
        return list(self._members)

    def on_participants(self, fn: Callable[[list[dict[str, Any]]], None]) -> Unsubscribe:
        """Is told who is there, when it changes."""
        return self._rosters.add(fn)

    def schemas(self) -> list[Schema]:
        """The schemas published so far."""
        return list(self._known.values())

    def on_schema(self, fn: Callable[[Schema], None]) -> Unsubscribe:
        """Is told schemas as they are published."""
        return self._schemas.add(fn)

    def grant(self) -> dict[str, Any]:
        """What this participant may do."""
        return self._caps.get(self.self.get("id", ""), self.self.get("grant") or {})

    def grant_of(self, id: str) -> dict[str, Any]:
        """What somebody may do, as far as this participant may know."""
        return self._caps.get(id, {})

    def on_grant(self, fn: Callable[[dict[str, Any]], None]) -> Unsubscribe:
        """Is told when rights change."""
        return self._grants.add(fn)

    def on_denied(self, fn: Callable[[Denied], None]) -> Unsubscribe:
        """Is told refusals of what nobody waits for, such as a renewed credit."""
        return self._denials.add(fn)

    def set_meta(self, meta: dict[str, Any]) -> None:
        """Replaces what the agent says about itself."""
        meta = {**self._role, **meta}
        if meta == self._meta:
            return  # said already: nobody has to consent again
        self._meta = meta
        if self._in:
            self._spawn(self._quietly({"t": "voice", "on": True, "meta": meta}))

    async def _quietly(self, frame: dict[str, Any]) -> None:
        try:
            await self._ask(frame)
        except Denied as refusal:
            self._denials.call(refusal)
        except RoomError:
            pass  # announced with the rest when the connection is back

    # --- What a participant can do

    async def content(self, c: dict[str, Any], to: str = "") -> int:
        """Sends content, sealed where the room is."""
        if self.hello.get("sealed"):
            if not self._seal:
                raise Denied("seal.required", "this room is sealed and its key is missing")
            c = self._seal.seal(c, to)
        ack = await self._ask({"t": "send", "id": str(uuid.uuid4()), "c": c, **({"to": to} if to else {})}, again=True)
        return int(ack.get("seq", 0))

    async def chat(self, text: str, to: str = "") -> int:
        """Says a line in the room's own chat."""
        return await self.content({"k": "chat", "text": text, **({"dm": True} if to else {})}, to)

    async def publish(self, view: Any, to: str = "") -> int:
        """Shows a view of the app to everybody, or to one."""
        return await self.content({"k": "app", "data": {"__kib_agent": "view", "view": view}}, to)

    async def register_schema(self, name: str, version: str, schema: Any) -> int:
        """Publishes how to read the app's views."""
        return await self.content({"k": "schema", "name": name, "version": version, "schema": schema})

    async def set_grant(self, id: str, grant: dict[str, Any] | None) -> None:
        """Consents: changes what a participant may do; only a host may. None clears."""
        await self._ask({"t": "grant", "id": id, "grant": grant})

    async def command(self, op: str, target: str = "", reason: str = "") -> None:
        """Gives a host's order, such as ``admit`` or ``kick``."""
        await self._ask({"t": "mod", "op": op, **({"target": target} if target else {}), **({"reason": reason} if reason else {})})

    async def media(self, *, audio: bool = False, camera: bool = False, screen: bool = False) -> None:
        """Says which lanes this participant publishes; said again after a break."""
        lanes = {"audio": audio, "camera": camera, "screen": screen}
        await self._ask({"t": "media", **lanes})
        self._lanes = lanes

    async def provide_credit(self, token: str) -> None:
        """Pays for the next minutes."""
        self._credit = token
        await self._ask({"t": "voice", "on": True, "agentCredit": token})

    # --- Asking

    async def _ask(self, frame: dict[str, Any], again: bool = False) -> dict[str, Any]:
        """Sends a frame and waits for its answer. ``again`` frames carry an id and are
        repeated after a break: the room takes each once."""
        if self._ended.done():
            raise self._ended.result()
        self._next += 1
        n, frame = self._next, {**frame, "n": self._next}
        answer: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        self._pending[n] = (frame, again, answer)
        try:
            if self._in or not again:
                try:
                    await self._put(frame)
                except (NotJoined, ConnectionClosed):
                    if not again:
                        raise NotJoined from None
            return await answer
        finally:
            self._pending.pop(n, None)

    async def _put(self, frame: dict[str, Any]) -> None:
        if not self._socket:
            raise NotJoined
        await self._socket.send(json.dumps(frame, ensure_ascii=False, separators=(",", ":"), allow_nan=False))

    def _answered(self, f: dict[str, Any]) -> None:
        _, _, answer = self._pending.get(f.get("n") or 0, (None, None, None))
        if answer and not answer.done():
            if f["t"] == "ack":
                answer.set_result(f)
            else:
                answer.set_exception(Denied(f.get("code", ""), f.get("reason", ""), f.get("retryMs", 0)))

    # --- The connection

    async def _connect(self) -> ClientConnection:
        headers = {"Authorization": f"Bearer {self._token}"} if self._token else {}
        more = {"ssl": self._ssl} if self._ssl is not None else {}
        try:
            return await connect(
                self._link.socket, additional_headers=headers, compression=None, max_size=16 << 20,
                open_timeout=HEARTBEAT + PATIENCE, ping_interval=HEARTBEAT, ping_timeout=PATIENCE, close_timeout=2, **more,
            )
        except InvalidStatus as error:
            status = error.response.status_code
            if 400 <= status < 500:
                raise _at_the_door(status, error.response.body) from None
            raise

    async def _run(self, socket: ClientConnection) -> None:
        if self._renew:
            self._spawn(self._renewing(self._renew))
        attempt = 0
        while True:
            try:
                await self._serve(socket)
            except Denied as refusal:
                return self._end(refusal)
            except ConnectionClosed as closed:
                code = closed.rcvd.code if closed.rcvd else 1006
                if code in FINAL:
                    return self._end(Denied(f"close.{code}", "the room ended the connection"))
            except Exception as error:  # noqa: BLE001 - a broken frame or shop is a broken connection
                log.warning("the connection is given up: %s", error)
            self._broken()
            while True:
                await asyncio.sleep(min(15, 0.5 * 2 ** min(attempt, 6)) * random.uniform(0.75, 1.25))
                attempt += 1
                try:
                    socket = await self._connect()
                    break
                except Denied as refusal:
                    return self._end(refusal)
                except Exception as error:  # noqa: BLE001 - a hub that is away is asked again, whatever it is
                    log.debug("the hub is not there: %s", error)
            attempt = 0

    def _broken(self) -> None:
        """Frames that cannot be repeated fail; the others wait for the next connection."""
        self._socket, self._in = None, False
        for _, again, answer in self._pending.values():
            if not again and not answer.done():
                answer.set_exception(NotJoined())

    def _end(self, why: RoomError) -> None:
        """Fails whoever still waits."""
        if self._ended.done():
            return
        self._ended.set_result(why)
        self._in = False
        for _, _, answer in self._pending.values():
            if not answer.done():
                answer.set_exception(why)

    async def _serve(self, socket: ClientConnection) -> None:
        self._socket = socket
        try:
            async for text in socket:
                frame = json.loads(text)
                if isinstance(frame, dict):
                    await self._frame(frame)
        finally:
            await socket.close()
        raise ConnectionClosed(socket.protocol.close_rcvd, socket.protocol.close_sent)

    async def _frame(self, f: dict[str, Any]) -> None:
        match f.get("t"):
            case "hello":
                await self._greeted(f)
            case "lobby":
                await self._door(f)
            case "self":
                self._admitted(f)
            case "roster":
                self._members = f.get("members") or []
                self._deliver(self._rosters, self.participants())
            case "caps":
                self._caps = f.get("grants") or {}
                if not self._joined.done():
                    self._joined.set_result(None)
                self._deliver(self._grants, self.grant())
            case "from":
                self._content(f)
            case "live":
                await self._live()
            case "ack" | "nak":
                self._answered(f)
            case "challenge":
                self._nonce = f["nonce"]
                await self._put({"t": "voice", "on": True, **self._proof()})
            case "kick":
                raise Denied(f.get("code", ""), f.get("reason", ""))
            case "ping":
                await self._put({"t": "pong", **({"n": f["n"]} if "n" in f else {})})

    async def _greeted(self, f: dict[str, Any]) -> None:
        self.hello, self._nonce = f, f["nonce"]
        if self._secret and not self._seal:
            self._seal = Seal(self._secret, f["room"])
        if not self.self:
            return await self._announce()
        proof, credit = self._proof().get("agentAssertion"), await self._paid()
        await self._put({
            "t": "resume", "resume": self.self["resume"], "since": self._since,
            **({"agentAssertion": proof} if proof else {}), **({"agentCredit": credit} if credit else {}),
        })

    async def _announce(self) -> None:
        more = {"want": self._want, "jwt": self._invite, "agentCredit": await self._paid()}
        await self._put({
            "t": "voice", "on": True, "name": self._name, "meta": self._meta, **{k: v for k, v in more.items() if v}, **self._proof(),
        })

    async def _paid(self) -> str:
        """A credit that lasts: a new one if there is none, or if it is about to end."""
        if self._renew and (not self._credit or renewal_pause(self._credit) <= SHORTEST):
            try:
                self._credit = await self._renew()
            except Exception as error:
                if not self._joined.done():
                    raise Denied("credit.unavailable", str(error)) from error
                raise
        return self._credit

    def _proof(self) -> dict[str, Any]:
        if not self._key:
            return {}
        room = self.hello["room"]
        fingerprint = channel_fingerprint(self._link.origin, room, self._nonce)
        return {"agentKey": self._key.public, "agentAssertion": self._key.assertion(room, fingerprint)}

    async def _door(self, f: dict[str, Any]) -> None:
        if f.get("code") == "resume.unknown":
            # Too long away: come in anew.
            self.self, self._known = {}, {}
            await self._announce()
        elif f.get("status") in _REFUSALS:
            raise Denied(f.get("code", ""), f.get("reason", ""))

    def _admitted(self, f: dict[str, Any]) -> None:
        if self.self.get("id") != f["id"]:
            self._since, self._known = f.get("seq", 0), {}
        self.self, self._in = f, True

    async def _live(self) -> None:
        """Everything that was missed is here: what was never acknowledged goes out again
        under its own id, and the lanes that others should show."""
        if self._lanes and any(self._lanes.values()):
            await self._put({"t": "media", **self._lanes})
        for frame, again, _ in list(self._pending.values()):
            if again:
                await self._put(frame)

    async def _renewing(self, renew: Callable[[], Awaitable[str]]) -> None:
        """Pays anew before what was paid for ends; what fails is tried again soon."""
        await self._joined
        while True:
            await asyncio.sleep(renewal_pause(self._credit))
            try:
                await self.provide_credit(await renew())
            except Denied as refusal:
                self._denials.call(refusal)
            except Exception as error:  # noqa: BLE001 - the shop may be closed for a moment
                log.warning("a credit could not be renewed: %s", error)

    # --- What comes

    def _content(self, f: dict[str, Any]) -> None:
        self._since = max(self._since, f.get("seq", 0))
        c: dict[str, Any] | None = f.get("c")
        if self.hello.get("sealed"):
            # Who cannot open a box drops it.
            c = self._seal.open(f["c"], f.get("to", "")) if self._seal else None
        if not isinstance(c, dict):
            return
        whole, from_ = {**f, "c": c}, f.get("from", "")
        self._deliver(self._contents, whole)
        if c.get("k") == "app":
            self._deliver(self._messages, c.get("data"), from_)
        elif c.get("k") == "schema":
            schema = Schema(c.get("name", ""), c.get("version", ""), c.get("schema"), from_)
            self._known.pop((from_, schema.name), None)
            self._known[(from_, schema.name)] = schema
            self._deliver(self._schemas, schema)

    def _deliver(self, to: Listeners, *what: Any) -> None:
        if self._held is None:
            to.call(*what)
        else:
            self._held.append((to, what))

    def _release(self) -> None:
        # In a moment, so that whoever adds one callback can add the others.
        if self._held is not None:
            asyncio.get_running_loop().call_soon(self._drain)

    def _drain(self) -> None:
        held, self._held = self._held or [], None
        for to, what in held:
            to.call(*what)


def _at_the_door(status: int, body: bytes | bytearray | None) -> Denied:
    try:
        problem = json.loads(body or b"")
        return Denied(problem["code"], problem.get("detail", ""))
    except (ValueError, KeyError, TypeError):
        return Denied(f"http.{status}", "the hub does not let us near this room")


async def connect_room(
    url: str, *, name: str = "Agent", key: Key | None = None, token: str = "", invite: str = "", room_key: str = "",
    credit: str = "", renew_credit: Callable[[], Awaitable[str]] | None = None, meta: dict[str, Any] | None = None,
    want: dict[str, Any] | None = None, person: bool = False, ssl: Any = None,
) -> Room:
    """Joins a room by its link and returns once it has let us in, or raises :class:`Denied`.

    One comes by ``key`` (the agent's own; no hub token is needed), by ``invite`` (or the
    link's ``#i=``), by a hub ``token``, or as a guest. ``room_key`` is a sealed room's
    secret, if the link's ``#k=`` does not carry it. ``renew_credit`` is asked for a new
    credit whenever half of the last one's time is over. Afterwards the connection mends
    itself until :meth:`Room.leave`.
    """
    return await Room(
        url, name=name, key=key, token=token, invite=invite, room_key=room_key, credit=credit, renew_credit=renew_credit,
        meta=meta, want=want, person=person, ssl=ssl,
    )._enter()


async def join_agent(url: str, *, read_only: bool = False, backend: str = "", egress: bool = False, **options: Any) -> Agent:
    """Joins a room as an agent that says from its first frame what it is and where what it
    perceives goes; ``options`` are those of :func:`connect_room`."""
    meta = {**options.pop("meta", {}), **agent_meta(read_only=read_only, backend=backend, egress=egress)}
    room = await connect_room(url, meta=meta, **options)
    return create_agent(room, read_only=read_only, backend=backend, egress=egress)
