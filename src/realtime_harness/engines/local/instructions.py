"""How a change of the session's instructions is told to a mind, behind what it has read already. Pure.

Only what changed is said: a study sends its whole persona again with each part's guidance (HRP 0.2.0,
"session.update"), and a small model reads slowly.
"""

from __future__ import annotations

CHANGED = "Instructions (changed): "
_LEAST_SHARED = 0.5  # of the beginning, for a change to be told as a difference


def change(base: str, text: str) -> str:
    """The message that puts `text` in force where `base` stands at the beginning of the prompt."""
    base, text = base.strip(), text.strip()
    if text == base:
        return f"{CHANGED}only those at the beginning hold now; what was changed since no longer does."
    if not text:
        return f"{CHANGED}none of the earlier ones holds any longer. Be a friendly and helpful voice assistant."
    ours, theirs = _shared(base, text)
    if ours < len(base) * _LEAST_SHARED or not ours:
        return f"{CHANGED}these now hold in place of all earlier ones: {text}"
    gone, new = base[ours:].strip(), text[theirs:].strip()
    held = "those at the beginning hold" + (f', except from "{_head(gone)}" on' if gone else "")
    if not new:
        return f"{CHANGED}{held}, and what was changed since no longer does."
    return f"{CHANGED}{held}, and what was changed since no longer does. Now also: {new}"


def _shared(base: str, text: str) -> tuple[int, int]:
    """How many characters of each are the lines with which both begin, the spaces at their ends aside.

    Where `text` goes on from the end of `base`, in the same line too, all of `base`.
    """
    if text.startswith(base) and not text[len(base)].isalnum():
        return len(base), len(base)
    ours = theirs = 0
    for left, right in zip(base.splitlines(keepends=True), text.splitlines(keepends=True), strict=False):
        if left.rstrip() != right.rstrip():
            break
        ours += len(left)
        theirs += len(right)
    return ours, theirs


def _head(text: str) -> str:
    """How the part begins that no longer holds."""
    words = " ".join(text.split())
    return words if len(words) <= 60 else words[:60].rsplit(" ", 1)[0] + " ..."
