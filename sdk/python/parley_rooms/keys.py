"""An agent's own key, and the box of a sealed room.

Both need ``pip install parley-rooms[keys]``: Python has no P-256 of its own, and
writing one by hand is no way to keep a key.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from typing import Any

from .link import from_base64url, to_base64url


def _missing(error: ImportError) -> ImportError:
    return ImportError("keys and sealed rooms need the package cryptography: pip install 'parley-rooms[keys]'")


class Key:
    """A P-256 key as a JWK: made by :meth:`new`, or read from the file that
    ``parley room keygen`` writes."""

    def __init__(self, jwk: dict[str, Any]) -> None:
        try:
            from cryptography.hazmat.primitives.asymmetric import ec
        except ImportError as error:
            raise _missing(error) from error
        if jwk.get("kty") != "EC" or jwk.get("crv") != "P-256" or "d" not in jwk:
            raise ValueError("not a private P-256 key")
        self._private = ec.derive_private_key(int.from_bytes(from_base64url(jwk["d"]), "big"), ec.SECP256R1())
        numbers = self._private.public_key().public_numbers()
        #: The public half, a JWK.
        self.public = {
            "kty": "EC", "crv": "P-256",
            "x": to_base64url(numbers.x.to_bytes(32, "big")), "y": to_base64url(numbers.y.to_bytes(32, "big")),
        }
        self._d = jwk["d"]

    @classmethod
    def new(cls) -> Key:
        """Makes a key. Its private half stays where it is made."""
        try:
            from cryptography.hazmat.primitives.asymmetric import ec
        except ImportError as error:
            raise _missing(error) from error
        number = ec.generate_private_key(ec.SECP256R1()).private_numbers().private_value
        return cls({"kty": "EC", "crv": "P-256", "d": to_base64url(number.to_bytes(32, "big"))})

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Key:
        """Reads a key file."""
        with open(path, encoding="utf-8") as file:
            return cls(json.load(file))

    def jwk(self) -> dict[str, str]:
        """The whole key, to be kept where only the agent can read it."""
        return {**self.public, "d": self._d}

    @property
    def thumbprint(self) -> str:
        """What the room's allow-list and its audit call this key (RFC 7638)."""
        text = json.dumps(self.public, separators=(",", ":"), sort_keys=True)
        return to_base64url(hashlib.sha256(text.encode()).digest())

    def sign(self, claims: dict[str, Any]) -> str:
        """body.signature, over the bytes of the coded body."""
        from cryptography.hazmat.primitives import hashes
        from cryptography.hazmat.primitives.asymmetric import ec
        from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature

        body = to_base64url(json.dumps(claims, separators=(",", ":")).encode())
        r, s = decode_dss_signature(self._private.sign(body.encode(), ec.ECDSA(hashes.SHA256())))
        return f"{body}.{to_base64url(r.to_bytes(32, 'big') + s.to_bytes(32, 'big'))}"

    def assertion(self, room: str, fingerprint: str) -> str:
        """Proves this key on one connection."""
        return self.sign({"k": "kbz-agent-key.v1", "room": room, "fp": fingerprint, "iat": int(time.time())})


_HIDDEN = {"chat": "text", "app": "data", "schema": "schema"}


def _label(kind: str, content: dict[str, Any]) -> str:
    if kind != "app":
        return ""
    data = content.get("data")
    envelope = data.get("__kib_agent") if isinstance(data, dict) else None
    return envelope if envelope in ("chat", "view", "act") else "data"


class Seal:
    """Seals and opens the content of one room. The hub never has the key."""

    def __init__(self, secret: str, room: str) -> None:
        try:
            from cryptography.hazmat.primitives import hashes
            from cryptography.hazmat.primitives.ciphers.aead import AESGCM
            from cryptography.hazmat.primitives.kdf.hkdf import HKDF
        except ImportError as error:
            raise _missing(error) from error
        key = from_base64url(secret)
        if len(key) != 32:
            raise ValueError("a room's secret is base64url of 32 bytes")
        hkdf = HKDF(algorithm=hashes.SHA256(), length=32, salt=room.encode(), info=b"parley-room-seal.v1")
        self._box = AESGCM(hkdf.derive(key))

    def seal(self, content: dict[str, Any], to: str) -> dict[str, Any]:
        """Hides what the hub need not read to judge."""
        kind, label = content["k"], _label(content["k"], content)
        inside = {_HIDDEN[kind]: content[_HIDDEN[kind]]}
        if "dm" in content:
            inside["dm"] = content["dm"]
        nonce = os.urandom(12)
        plain = json.dumps(inside, ensure_ascii=False).encode()
        out = {"k": kind, "box": to_base64url(nonce + self._box.encrypt(nonce, plain, f"{kind}|{label}|{to}".encode()))}
        if label:
            out["e"] = label
        return {**out, **{m: content[m] for m in ("name", "version") if kind == "schema"}}

    def open(self, content: dict[str, Any], to: str) -> dict[str, Any] | None:
        """The plain content; None for a box that is not for us or lies about what it is:
        the hub has judged the label."""
        kind, label = content.get("k", ""), content.get("e", "")
        try:
            box = from_base64url(content["box"])
            inside = json.loads(self._box.decrypt(box[:12], box[12:], f"{kind}|{label}|{to}".encode()))
            out = {"k": kind, **{m: content[m] for m in ("name", "version") if kind == "schema"}, **inside}
            return out if _HIDDEN[kind] in inside and _label(kind, out) == label else None
        except Exception:  # noqa: BLE001 - whatever is wrong with a box, it stays closed
            return None
