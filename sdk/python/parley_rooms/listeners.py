"""Callbacks that may come and go while they are called."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

log = logging.getLogger("parley_rooms")

Unsubscribe = Callable[[], None]


class Listeners:
    """Callbacks in the order they came; one that fails stops no other."""

    def __init__(self) -> None:
        self._fns: dict[object, Callable[..., Any]] = {}

    def add(self, fn: Callable[..., Any]) -> Unsubscribe:
        token = object()
        self._fns[token] = fn
        return lambda: void(self._fns.pop(token, None))

    def call(self, *values: Any) -> None:
        for token in list(self._fns):
            fn = self._fns.get(token)
            if fn is None:
                continue
            try:
                fn(*values)
            except Exception:
                log.exception("a callback failed")

    def __len__(self) -> int:
        return len(self._fns)


def void(_: object) -> None:
    """Forgets a value, where a callback must return nothing."""
