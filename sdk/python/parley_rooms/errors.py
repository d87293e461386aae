"""What an agent can be told besides failures of the connection."""

from __future__ import annotations


class RoomError(Exception):
    """Everything this package raises."""


class ReadOnly(RoomError):
    """The agent was made to watch only."""

    def __init__(self) -> None:
        super().__init__("this agent is read-only")


class NotJoined(RoomError):
    """The agent is not in the room, or the connection broke before an answer came."""

    def __init__(self) -> None:
        super().__init__("not in the room")


class Left(RoomError):
    """The agent has left."""

    def __init__(self) -> None:
        super().__init__("this agent has left")


class Denied(RoomError):
    """The room refused, with a code such as ``act.denied``."""

    def __init__(self, code: str, reason: str = "", retry_ms: int = 0) -> None:
        super().__init__(f"{code}: {reason}")
        self.code = code
        self.reason = reason
        #: After how many milliseconds another attempt may pass (``limit.rate``).
        self.retry_ms = retry_ms
