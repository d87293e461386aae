"""Agents in a room of a real hub, whose address and token the environment names."""

import asyncio
import json
import os
import unittest
import urllib.request
from typing import Any

import parley_rooms.connection as connection
from parley_rooms import Denied, Key, Left, Room, connect_room, create_agent, join_agent
from parley_rooms.link import to_base64url

HUB, TOKEN = os.environ["PARLEY_HUB"], os.environ["PARLEY_TOKEN"]
PATIENCE = 180


def rest(method: str, path: str, body: Any = None) -> Any:
    request = urllib.request.Request(
        HUB + path, method=method, data=json.dumps(body).encode() if body is not None else None,
        headers={"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request) as answer:
        text = answer.read()
    return json.loads(text) if text else None


class RoomTest(unittest.IsolatedAsyncioTestCase):
    async def asyncSetUp(self) -> None:
        # One slow test is a hang; what it waits for comes by itself or never.
        self.limit = asyncio.timeout(PATIENCE)
        await self.limit.__aenter__()

    async def asyncTearDown(self) -> None:
        await self.limit.__aexit__(None, None, None)

    async def open(self, name: str, policy: dict[str, Any]) -> str:
        await asyncio.to_thread(rest, "POST", "/api/rooms", {"room": name, "policy": policy})
        return f"{HUB}/r/{name}"

    async def join(self, url: str, **options: Any) -> Room:
        room = await connect_room(url, **options)
        self.addAsyncCleanup(room.leave)
        return room

    async def host(self, url: str) -> Room:
        return await self.join(url, name="Ann", token=TOKEN, person=True)

    async def test_a_key_opens_the_door_and_consent_the_mouth(self) -> None:
        key = Key.new()
        url = await self.open("py-key", {"agents": {"keys": [{"key": key.public, "label": "bot"}]}})
        ann = await self.host(url)
        bot = await join_agent(url, name="Bot", key=key, backend="Claude")
        self.addAsyncCleanup(bot.leave)
        me = next(p for p in bot.get_roster() if p["kind"] == "agent")
        self.assertEqual((me["backend"], me["egress"], me["keyId"]), ("Claude", True, key.thumbprint))
        self.assertFalse(bot.can_act, "nobody has consented yet")
        with self.assertRaises(Denied) as refused:
            await bot.say("psst")
        self.assertEqual(refused.exception.code, "act.denied")

        granted, heard = asyncio.Event(), asyncio.Queue()
        bot.on_grant(lambda grant: granted.set() if "send-chat" in grant["act"] else None)
        ann.on_message(lambda data, who: heard.put_nowait((data, who)))
        await ann.set_grant(me["id"], {"perceive": ["read-chat", "read-roster", "receive-directed"], "act": ["send-chat", "act"]})
        await granted.wait()
        self.assertTrue(bot.can_act)
        await bot.say("good evening")
        await bot.act({"play": "7♠"}, to=ann.self["id"])
        self.assertEqual(await heard.get(), ({"__kib_agent": "chat", "text": "good evening"}, me["id"]))
        self.assertEqual(await heard.get(), ({"__kib_agent": "act", "action": {"play": "7♠"}}, me["id"]))

    async def test_views_schemas_and_data_reach_an_agent_that_came_later(self) -> None:
        url = await self.open("py-views", {"humans": {"mode": "open"}, "agents": {"mode": "open"}})
        ann = await self.host(url)
        await ann.register_schema("cards", "1", {"type": "object"})
        await ann.publish({"turn": 1})
        bot = create_agent(await self.join(url, name="Bot"), read_only=True)
        views: asyncio.Queue[Any] = asyncio.Queue()
        bot.on_view(lambda view, _: views.put_nowait((view, bot.get_view())))
        self.assertEqual(await views.get(), ({"turn": 1}, {"turn": 1}))
        self.assertEqual([(s.name, s.version, s.schema) for s in bot.get_schemas()], [("cards", "1", {"type": "object"})])
        await ann.publish({"big": 12345678901234567890})
        self.assertEqual((await views.get())[0], {"big": 12345678901234567890})

    async def test_an_invite_in_the_link_lets_an_agent_in_with_its_key(self) -> None:
        key = Key.new()
        url = await self.open("py-invite", {"agents": {"invites": True}})
        with self.assertRaises(Denied):
            await connect_room(url, key=key)
        invite = await asyncio.to_thread(rest, "POST", "/api/rooms/py-invite/invites", {"name": "Guest bot", "ttl": 600, "jkt": key.thumbprint})
        bot = await self.join(f"{url}#i={invite['token']}", key=key)
        self.assertEqual(bot.self["kind"], "agent")

    async def test_a_sealed_room_is_read_by_those_who_have_its_key_only(self) -> None:
        url = await self.open("py-sealed", {"sealed": True, "humans": {"mode": "open"}, "agents": {"mode": "open"}})
        secret = to_base64url(bytes(range(32)))
        ann = await self.join(f"{url}#k={secret}", name="Ann", token=TOKEN, person=True)
        bot, blind = await self.join(url, name="Bot", room_key=secret), await self.join(url, name="Blind")
        heard: asyncio.Queue[Any] = asyncio.Queue()
        bot.on_message(lambda data, _: heard.put_nowait(data))
        blind.on_content(lambda c: heard.put_nowait("the blind one read " + str(c)))
        await ann.broadcast({"hand": ["A♠"]})
        await ann.broadcast("second")
        self.assertEqual([await heard.get(), await heard.get()], [{"hand": ["A♠"]}, "second"])
        with self.assertRaisesRegex(Denied, "seal.required"):
            await blind.broadcast("plain")

    async def test_a_broken_connection_resumes_without_gap_or_duplicate(self) -> None:
        url = await self.open("py-resume", {"humans": {"mode": "open"}, "agents": {"mode": "open"}})
        ann, bot = await self.host(url), await self.join(url, name="Bot")
        heard: asyncio.Queue[Any] = asyncio.Queue()
        bot.on_message(lambda data, _: heard.put_nowait(data))
        await ann.broadcast(1)
        self.assertEqual(await heard.get(), 1)
        who, socket = bot.self["id"], bot._socket
        socket.transport.abort()
        await ann.broadcast(2)
        await ann.broadcast(3)
        self.assertEqual([await heard.get(), await heard.get()], [2, 3])
        self.assertEqual(bot.self["id"], who, "it is the same presence")
        self.assertIsNot(bot._socket, socket)

    async def test_whoever_waits_is_told_when_the_room_ends(self) -> None:
        url = await self.open("py-end", {"humans": {"mode": "open"}, "agents": {"mode": "open"}})
        bot = await self.join(url, name="Bot")
        bot._in = False  # as between two connections: what is sent waits
        waiting = asyncio.ensure_future(bot.broadcast("never sent"))
        await asyncio.to_thread(rest, "DELETE", "/api/rooms/py-end")
        with self.assertRaises(Denied):
            await waiting
        why = await bot.wait_closed()
        self.assertIsInstance(why, Denied)
        await bot.leave()
        with self.assertRaises(Denied):
            await bot.broadcast("too late")

    async def test_leaving_fails_what_waits_and_is_done_once(self) -> None:
        url = await self.open("py-leave", {"humans": {"mode": "open"}, "agents": {"mode": "open"}})
        bot = await self.join(url, name="Bot")
        await bot.leave()
        await bot.leave()
        with self.assertRaises(Left):
            await bot.broadcast("too late")

    async def test_a_hub_that_hangs_is_noticed_and_a_new_one_found(self) -> None:
        """A hub that takes the connection and then says nothing is left for the real one."""
        url = await self.open("py-hung", {"humans": {"mode": "open"}, "agents": {"mode": "open"}})
        before = connection.HEARTBEAT, connection.PATIENCE
        connection.HEARTBEAT, connection.PATIENCE = 0.05, 0.1  # the same rule, sooner
        self.addCleanup(lambda: (setattr(connection, "HEARTBEAT", before[0]), setattr(connection, "PATIENCE", before[1])))
        host, port = HUB.removeprefix("http://").split(":")
        hung = asyncio.Event()
        times = 0

        async def between(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            nonlocal times
            times += 1
            there, back = await asyncio.open_connection(host, int(port))
            mute = times == 1

            async def pump(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
                while data := await source.read(65536):
                    if not (mute and hung.is_set()):
                        target.write(data)
                target.close()

            await asyncio.gather(pump(reader, back), pump(there, writer), return_exceptions=True)

        server = await asyncio.start_server(between, "127.0.0.1", 0)
        self.addCleanup(server.close)
        bot = await self.join(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/r/py-hung", name="Bo", person=True)
        hung.set()
        self.assertGreater(await bot.broadcast("after the hang"), 0, "it is taken, once another connection stands")
        self.assertGreaterEqual(times, 2)


if __name__ == "__main__":
    unittest.main()
