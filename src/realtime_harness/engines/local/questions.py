"""The questions that a study has put to the agent, and which of them is open. Pure.

Source: HRP 0.2.0, "Answering questions": a question event names the tool that answers it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import orjson

from realtime_harness.engines.local.framing import context_event
from realtime_harness.engines.local.history import Entry, GivenItem
from realtime_harness.engines.local.words_heard import number_hint
from realtime_harness.minds.narrowing import options
from realtime_harness.realtime.items import FunctionCallItem, FunctionCallOutputItem, MessageItem

MAX_HINT_CHARS = 300


@dataclass(frozen=True, slots=True)
class Question:
    """A question event: where it stands among the entries, the tool that answers it, its text, whether it is answered."""

    index: int
    tool: str
    text: str
    answered: bool = False


def questions(entries: Sequence[Entry]) -> list[Question]:
    """All of them, oldest first. A call that was refused (its output has an error) is no answer."""
    found: list[Question] = []
    calls: dict[str, str] = {}
    for index, entry in enumerate(entries):
        if not isinstance(entry, GivenItem):
            continue
        match entry.item:
            case MessageItem(role="user"):
                event = context_event(entry.context)
                if event is not None and event.get("event") == "question":
                    text = "\n".join(str(event[key]) for key in ("question", "text") if event.get(key))
                    found.append(Question(index, str(event.get("tool") or ""), text))
            case FunctionCallItem():
                calls[entry.item.call_id] = entry.item.name
            case FunctionCallOutputItem() if not _refused(entry.item.output):
                _answer(found, calls.get(entry.item.call_id))
            case _:
                pass
    return found


def asked(entries: Sequence[Entry], tool: str) -> Question | None:
    """What `tool`, if it is forced now, answers: the last open question that names it, else the last that does, else the last."""
    every = questions(entries)
    named = [question for question in every if question.tool == tool]
    still_open = [question for question in named if not question.answered]
    return next((kind[-1] for kind in (still_open, named, every) if kind), None)


def hint(entries: Sequence[Entry]) -> str | None:
    """What the recogniser may expect to hear while a question is open: its numbers, or its options."""
    every = questions(entries)
    if not every or every[-1].answered:
        return None
    last = every[-1]
    listed = options(last.text)
    if listed and last.tool != "answer_scale":
        return ", ".join(listed)[:MAX_HINT_CHARS] + "."
    return number_hint(last.text) if last.tool in ("answer_scale", "answer_dimensions") else None


def _answer(found: list[Question], tool: str | None) -> None:
    for place in range(len(found) - 1, -1, -1):
        question = found[place]
        if question.tool == tool and not question.answered:
            found[place] = Question(question.index, question.tool, question.text, answered=True)
            return


def _refused(output: str) -> bool:
    try:
        value: object = orjson.loads(output)
    except orjson.JSONDecodeError:
        return False
    return isinstance(value, dict) and "error" in value
