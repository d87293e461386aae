"""When a credit is to be renewed."""

from __future__ import annotations

import json
import time

from .link import from_base64url

#: The pause when a credit does not say how long it lasts, and the shortest one.
USUAL, SHORTEST = 30.0, 5.0


def renewal_pause(credit: str, now: float | None = None) -> float:
    """Half of what is left of a credit, so that one failure is no lapse."""
    try:
        ends = float(json.loads(from_base64url(credit.split(".")[1]))["exp"])
    except (ValueError, KeyError, IndexError, TypeError):
        return USUAL
    return max(SHORTEST, (ends - (time.time() if now is None else now)) / 2)
