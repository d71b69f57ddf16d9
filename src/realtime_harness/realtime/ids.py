"""Ids in the shapes that clients know: `event_`, `sess_`, `conv_`, `item_`, `resp_` and 21 letters, `call_` and 16.

Source: recorded sessions of the OpenAI Realtime API.
"""

from __future__ import annotations

import random
import string

_ALPHABET = string.ascii_letters + string.digits
_LENGTHS = {"event": 21, "sess": 21, "conv": 21, "item": 21, "resp": 21, "call": 16}
_COUNTER_CHARS = 7


class IdMint:
    """Mints ids that never repeat within one mint. Give a seeded `source` to make a replay deterministic."""

    def __init__(self, source: random.Random | None = None) -> None:
        self._source = source or random.SystemRandom()
        self._minted = 0

    def mint(self, kind: str) -> str:
        """A new id `kind_…`; `kind` is one of event, sess, conv, item, resp, call."""
        self._minted += 1
        # The counter, always as long, makes a repeat impossible; the random letters make a guess useless.
        counter = _base62(self._minted).rjust(_COUNTER_CHARS, _ALPHABET[0])
        letters = "".join(self._source.choices(_ALPHABET, k=_LENGTHS[kind] - len(counter)))
        return f"{kind}_{letters}{counter}"


def _base62(number: int) -> str:
    digits = ""
    while number:
        number, rest = divmod(number, 62)
        digits = _ALPHABET[rest] + digits
    return digits
