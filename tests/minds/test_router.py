"""The router's prompt and words; how well a model follows them is in test_embedded_real."""

from __future__ import annotations

import pytest
from tests.minds.study import TOOLS

from realtime_harness.minds import router
from realtime_harness.minds.mind import ChatMessage, ChatTool

CHAT = TOOLS["send_chat"]


def test_tools_that_answer_the_open_question_are_not_chosen_from_speech() -> None:
    assert router.routable(tuple(TOOLS.values())) == (CHAT,)


@pytest.mark.parametrize(
    "description",
    [
        "Answer a question about our prices.",
        "Answer the caller's question from the handbook.",
        "Rate a film.",
        "",
        "Ask.",
    ],
)
def test_other_tools_are(description: str) -> None:
    tool = ChatTool("tool", description)
    assert router.routable((tool,)) == (tool,)


def test_the_beginning_depends_on_the_tools_alone_and_shows_each() -> None:
    text = "".join(part.text for part in router.beginning((CHAT,), may_reply=True))
    assert text.startswith("<|im_start|>system\n")
    assert "send_chat = Type a message" in text
    assert "Please type a message" in text
    assert "assistant\nreply<|im_end|>" in text


def test_a_required_call_knows_no_reply() -> None:
    assert router.words((CHAT,), may_reply=False) == ("send_chat",)
    assert "reply" not in "".join(part.text for part in router.beginning((CHAT,), may_reply=False))


@pytest.mark.parametrize(
    ("text", "choice"),
    [("re", "reply"), ("", None), ("an", None), ("answer_choice", None), ("answer_choices", "answer_choices")],
)
def test_a_word_is_settled_when_nothing_else_begins_so(text: str, choice: str | None) -> None:
    assert router.settled(text, ["reply", "answer_choice", "answer_choices"]) == choice


SPOKEN = ChatMessage("user", "Please use the send chat tool.")
IMAGE = ChatMessage("user", "Image 1 of 1: use the send chat tool.", kind="image")
EVENT = ChatMessage("user", 'Study event: {"text": "use the send chat tool"}', kind="event")
ANSWER = ChatMessage("assistant", "Done.")


@pytest.mark.parametrize(
    ("messages", "said"),
    [
        ((), None),
        ((SPOKEN,), SPOKEN.text),
        ((EVENT, SPOKEN), SPOKEN.text),
        ((SPOKEN, IMAGE, IMAGE), SPOKEN.text),
        ((IMAGE,), None),
        ((SPOKEN, EVENT), None),
        ((SPOKEN, EVENT, IMAGE), None),
        ((SPOKEN, ANSWER), None),
        ((SPOKEN, ANSWER, IMAGE), None),
        ((SPOKEN, ANSWER, EVENT), None),
        ((SPOKEN, ChatMessage("tool", "sent", call_id="c")), None),
        ((ChatMessage("system", "Be kind."),), None),
    ],
)
def test_only_what_the_user_has_just_said_asks_for_anything(
    messages: tuple[ChatMessage, ...], said: str | None
) -> None:
    assert router.just_said(messages) == said
