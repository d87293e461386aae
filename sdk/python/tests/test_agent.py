"""What an agent does on any controller: the table of cases that all SDKs run."""

import asyncio
import json
import os
import unittest
from typing import Any

from parley_rooms import Chat, Cooldown, ReadOnly, create_agent, create_agent_from_bridge
from parley_rooms.credit import renewal_pause
from parley_rooms.link import parse_link, to_base64url
from parley_rooms.listeners import Listeners

with open(os.environ["PARLEY_CASES"], encoding="utf-8") as file:
    CASES = json.load(file)["cases"]


class Recorder:
    """A controller that keeps what it is told."""

    def __init__(self, roster: list[dict[str, Any]]) -> None:
        self.roster, self.meta, self.sent, self.left = roster, None, [], 0
        self.messages, self.rosters = Listeners(), Listeners()

    async def broadcast(self, data: Any) -> None:
        self.sent.append({"data": data})

    async def send_to(self, id: str, data: Any) -> None:
        self.sent.append({"data": data, "to": id})

    def on_message(self, fn: Any) -> Any:
        return self.messages.add(fn)

    def participants(self) -> list[dict[str, Any]]:
        return self.roster

    def on_participants(self, fn: Any) -> Any:
        return self.rosters.add(fn)

    def set_meta(self, meta: dict[str, Any]) -> None:
        self.meta = meta

    async def leave(self) -> None:
        self.left += 1


class Granting(Recorder):
    """One that knows grants, too."""

    def __init__(self, roster: list[dict[str, Any]], grant: dict[str, Any]) -> None:
        super().__init__(roster)
        self.grant = lambda: grant


async def step(agent: Any, room: Recorder, s: dict[str, Any]) -> None:
    if "hear" in s:
        room.messages.call(s["hear"], s["from"])
    elif "roster" in s:
        room.roster = s["roster"]
        room.rosters.call(s["roster"])
    elif "say" in s:
        await agent.say(s["say"])
    elif "act" in s:
        await agent.act(s["act"], s.get("to", ""))
    elif "send" in s:
        await agent.send(s["send"], s.get("to", ""))
    elif "leave" in s:
        await agent.leave()


class AgentTest(unittest.TestCase):
    def test_every_case_that_all_sdks_share(self) -> None:
        for case in CASES:
            with self.subTest(case["name"]):
                asyncio.run(self.run_case(case))

    async def run_case(self, case: dict[str, Any]) -> None:
        roster = case.get("roster", [])
        room = Granting(roster, case["grant"]) if "grant" in case else Recorder(roster)
        options = case.get("options", {})
        agent = create_agent(room, read_only=options.get("readOnly", False), backend=options.get("backend", ""), egress=options.get("egress", False))
        got: dict[str, list[Any]] = {"views": [], "chats": [], "data": [], "rosters": []}
        agent.on_view(lambda view, _: got["views"].append(view))
        agent.on_chat(lambda c: got["chats"].append({"from": c.from_, "name": c.name, "text": c.text}))
        agent.on_data(lambda data, _: got["data"].append(data))
        agent.on_roster(lambda people: got["rosters"].append([p["id"] for p in people]))
        for s in case.get("steps", []):
            if "fails" in s:
                with self.assertRaisesRegex(Exception, s["fails"]):
                    await step(agent, room, s)
            else:
                await step(agent, room, s)
        have = {**got, "meta": room.meta, "sent": room.sent, "view": agent.get_view(), "canAct": agent.can_act, "left": room.left}
        for word, value in have.items():
            if word in case:
                self.assertEqual(value, case[word], f"{word} is not what the case says")

    def test_a_callback_may_end_itself_and_a_failing_one_stops_no_other(self) -> None:
        calls: list[str] = []
        listeners = Listeners()

        def once(_: Any) -> None:
            calls.append("once")
            end()
            raise RuntimeError("on purpose")

        end = listeners.add(once)
        listeners.add(lambda _: calls.append("other"))
        with self.assertLogs("parley_rooms"):
            listeners.call(1)
        listeners.call(2)
        self.assertEqual(calls, ["once", "other", "other"])

    def test_a_bridge_keeps_its_own_self_and_guards_only_saying(self) -> None:
        class App:
            said: list[str] = []

            def on_view(self, fn: Any) -> Any:
                fn({"seat": 1})
                return lambda: None

            def get_view(self) -> Any:
                return {"seat": 1}

            def on_chat(self, fn: Any) -> Any:
                fn(Chat("p1", "Ann", "hi"))
                return lambda: None

            async def say(self, text: str) -> None:
                self.said.append(text)

        app, seen = App(), []
        agent = create_agent_from_bridge(app)
        agent.on_view(seen.append)
        asyncio.run(agent.say("well played"))
        self.assertEqual((seen, app.said, agent.get_view()), ([{"seat": 1}], ["well played"], {"seat": 1}))
        with self.assertRaises(ReadOnly):
            asyncio.run(create_agent_from_bridge(app, read_only=True).say("psst"))

    def test_a_cooldown_is_ready_once_then_after_its_time(self) -> None:
        gate = Cooldown(6)
        self.assertTrue(gate.ready(0))
        gate.stamp(0)
        self.assertEqual([gate.ready(5.9), gate.ready(6)], [False, True])

    def test_a_link_carries_key_and_invite_and_a_stranger_s_port(self) -> None:
        link = parse_link("https://Hub.example:8443/r/My%20Room#k=abc&i=x.y")
        self.assertEqual(link.socket, "wss://hub.example:8443/rooms/My%20Room/ws")
        self.assertEqual((link.origin, link.secret, link.invite), ("https://hub.example:8443", "abc", "x.y"))
        self.assertEqual(parse_link("http://[::1]:80/rooms/a/ws").origin, "http://[::1]")
        for wrong in ("nowhere", "https://hub/r/…", "ftp://hub/r/a"):
            with self.assertRaises(ValueError, msg=wrong):
                parse_link(wrong)

    def test_a_credit_is_renewed_at_half_its_time(self) -> None:
        credit = "h." + to_base64url(json.dumps({"exp": 1060}).encode()) + ".s"
        self.assertEqual([renewal_pause(credit, 1000), renewal_pause(credit, 1059), renewal_pause("no token", 0)], [30, 5, 30])
