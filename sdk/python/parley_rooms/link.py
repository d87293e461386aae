"""A room as it is dialled, and what binds a key to one connection."""

from __future__ import annotations

import base64
import hashlib
import re
from dataclasses import dataclass
from urllib.parse import parse_qs, quote, unquote, urlsplit


@dataclass(frozen=True)
class Link:
    """A room's link, https://hub/r/NAME#k=…&i=…, taken apart."""

    socket: str
    origin: str
    secret: str
    invite: str


def parse_link(url: str) -> Link:
    """Reads a room's link or the address of its socket."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https", "ws", "wss") or not parts.hostname:
        raise ValueError(f"{url!r} is not a room's link")
    name = re.sub(r"^/(rooms|r)/", "", parts.path)
    name = unquote(name.removesuffix("/ws").strip("/"))
    if not re.search(r"[a-z0-9]", name.lower()):
        raise ValueError("room.bad-id: a room id needs a letter or a digit")
    origin = dialled_origin(url)
    fragment = parse_qs(parts.fragment)
    socket = "ws" + origin.removeprefix("http") + f"/rooms/{quote(name, safe='')}/ws"
    return Link(socket, origin, fragment.get("k", [""])[0], fragment.get("i", [""])[0])


def dialled_origin(url: str) -> str:
    """The origin that was dialled, in the form both sides sign."""
    parts = urlsplit(url)
    secure = parts.scheme in ("https", "wss")
    host = (parts.hostname or "").lower()
    if ":" in host:
        host = f"[{host}]"
    if parts.port and parts.port != (443 if secure else 80):
        host += f":{parts.port}"
    return ("https://" if secure else "http://") + host


def channel_fingerprint(origin: str, room: str, nonce: str) -> str:
    """What a connection is recognised by. The origin is what this side dialled, never
    what the other says it is: a relay in between cannot pass the proof on."""
    digest = hashlib.sha256(f"kbz-ws.v1|{origin}|{room}|{nonce}".encode()).digest()
    return ":".join(f"{b:02x}" for b in digest)


def to_base64url(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def from_base64url(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
