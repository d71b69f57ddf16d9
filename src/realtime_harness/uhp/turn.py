"""One response and its events: the same object for whoever waits for it and whoever streams it. Sans-I/O.

Source: UHP 2026-10-04, "Streaming": `sequence_number` from 0 without a gap; `added` before everything of an item; exactly
one terminal event, last, with the whole response.
"""

from __future__ import annotations

from copy import deepcopy
from typing import Any, Literal

from realtime_harness.uhp.ids import new_id

Status = Literal["completed", "incomplete", "failed", "cancelled"]
Json = dict[str, Any]
_TERMINAL: dict[Status, str] = {
    "completed": "response.completed",
    "incomplete": "response.incomplete",
    "failed": "response.failed",
    "cancelled": "response.failed",  # there is no event of its own for it; the status says it
}
TERMINAL_STATUSES = frozenset(_TERMINAL)


class Turn:
    """Takes what happens and gives the events of it. `response` is the response as it is now."""

    def __init__(self, response: Json) -> None:
        """`response` is in progress, and has no output yet."""
        self.response = response
        self._number = 0
        self._text = ""

    @classmethod
    def resumed(cls, response: Json, happened: list[Json]) -> Turn:
        """A turn as its record left it, so that it can be brought to an end."""
        turn = cls(response)
        turn._number = max((event["sequence_number"] for event in happened), default=-1) + 1
        if response["output"]:
            turn._text = response["output"][0]["content"][0]["text"]
        return turn

    @property
    def ended(self) -> bool:
        """Whether the terminal event has been given."""
        return self.response["status"] != "in_progress"

    def begin(self) -> list[Json]:
        """The response is there."""
        return [self._event("response.created", self._whole()), self._event("response.in_progress", self._whole())]

    def text(self, delta: str) -> list[Json]:
        """More of the answer's text."""
        if self.ended or not delta:
            return []
        events: list[Json] = []
        if not self.response["output"]:
            item: Json = {
                "id": new_id("message"),
                "type": "message",
                "status": "in_progress",
                "role": "assistant",
                "content": [],
            }
            self.response["output"].append(item)
            part: Json = {"type": "output_text", "text": "", "annotations": []}
            events.append(self._event("response.output_item.added", {"output_index": 0, "item": deepcopy(item)}))
            events.append(self._event("response.content_part.added", {**self._place(), "part": dict(part)}))
            item["content"].append(part)
        self._text += delta
        self.response["output"][0]["content"][0]["text"] = self._text
        events.append(self._event("response.output_text.delta", {**self._place(), "delta": delta}))
        return events

    def end(
        self,
        status: Status,
        *,
        usage: Json | None = None,
        error: Json | None = None,
        incomplete: str | None = None,
    ) -> list[Json]:
        """The answer is over. What was made of it is kept."""
        if self.ended:
            return []
        events: list[Json] = []
        if self.response["output"]:
            item = self.response["output"][0]
            item["status"] = "completed" if status == "completed" else "incomplete"
            part = dict(item["content"][0])
            events.append(self._event("response.output_text.done", {**self._place(), "text": self._text}))
            events.append(self._event("response.content_part.done", {**self._place(), "part": part}))
            events.append(self._event("response.output_item.done", {"output_index": 0, "item": deepcopy(item)}))
        self.response["status"] = status
        self.response["usage"] = usage
        self.response["error"] = error if status == "failed" else None
        self.response["incomplete_details"] = {"reason": incomplete} if status == "incomplete" else None
        events.append(self._event(_TERMINAL[status], self._whole()))
        return events

    def _place(self) -> Json:
        return {"item_id": self.response["output"][0]["id"], "output_index": 0, "content_index": 0}

    def _whole(self) -> Json:
        return {"response": deepcopy(self.response)}

    def _event(self, kind: str, fields: Json) -> Json:
        event = {"type": kind, "sequence_number": self._number, **fields}
        self._number += 1
        return event


def new_response(
    *,
    created_at: int,
    model: str,
    session_id: str,
    harness_id: str,
    previous_response_id: str | None,
    store: bool,
    metadata: Json,
    ignored_fields: tuple[str, ...],
) -> Json:
    """A response that has just begun. `created_at` is in Unix seconds."""
    told: Json = {**metadata, "session_id": session_id, "harness_id": harness_id}
    if ignored_fields:
        told["ignored_fields"] = list(ignored_fields)
    return {
        "id": new_id("response"),
        "object": "response",
        "created_at": created_at,
        "status": "in_progress",
        "error": None,
        "incomplete_details": None,
        "previous_response_id": previous_response_id,
        "model": model,
        "output": [],
        "store": store,
        "usage": None,
        "metadata": told,
    }
