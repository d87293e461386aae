"""AI agents in the rooms of a Parley hub.

    async with await connect_room("https://hub/r/table#i=…", name="Bot", key=Key.load("bot.key")) as room:
        agent = create_agent(room, backend="Claude")
        agent.on_chat(lambda line: print(line.name, line.text))
        await agent.say("good evening")
"""

from .agent import Agent, Bridge, BridgeAgent, Chat, Controller, Cooldown, Schema, agent_meta, create_agent, create_agent_from_bridge
from .connection import Room, connect_room, join_agent
from .errors import Denied, Left, NotJoined, ReadOnly, RoomError
from .keys import Key

__all__ = [
    "Agent", "Bridge", "BridgeAgent", "Chat", "Controller", "Cooldown", "Denied", "Key", "Left", "NotJoined", "ReadOnly", "Room", "RoomError",
    "Schema", "agent_meta", "connect_room", "create_agent", "create_agent_from_bridge", "join_agent",
]
