"""Context items: built, read back, and told apart from what people say."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from realtime_harness.engines.local.framing import context_event
from realtime_harness.errors import InvalidEvent
from realtime_harness.hyperstudy.context import (
    EVENTS,
    EXAMPLES,
    PREFIX,
    Asked,
    ContextItem,
    ExperimenterMessage,
    ImageNote,
    Other,
    Participants,
    Paused,
    Resumed,
    Revealed,
    Screen,
    Timer,
    Typed,
    to_item,
    to_text,
)
from realtime_harness.hyperstudy.context_reader import read_item, read_text
from realtime_harness.realtime.images import ImageData
from realtime_harness.realtime.items import images_of
from realtime_harness.realtime.items import read_item as read_wire_item

WORDS = st.text(max_size=20) | st.sampled_from(['he said "no"', "a\nb", "[context] {}", '"}', "\\", "\u2028", "🙂"])
ANSWERS: st.SearchStrategy[Any] = st.one_of(
    st.integers(-(10**6), 10**6),
    st.floats(allow_nan=False, allow_infinity=False),
    WORDS,
    st.lists(WORDS, max_size=3),
    st.dictionaries(WORDS, st.integers(0, 100), max_size=3),
)
NOTES = st.lists(
    st.builds(ImageNote, st.sampled_from(["attached", "attached earlier", "could not be loaded"]), WORDS), max_size=4
).map(tuple)
TOOLS = st.sampled_from(["answer_choice", "answer_choices", "answer_scale", "answer_ranking", "answer_text"])
ITEMS: st.SearchStrategy[ContextItem] = st.one_of(
    st.builds(Participants, st.lists(st.builds(Other, WORDS, WORDS), max_size=3).map(tuple)),
    st.builds(Screen, WORDS, WORDS, NOTES),
    st.builds(Typed, WORDS, WORDS),
    st.builds(Asked, TOOLS, WORDS, st.booleans(), NOTES),
    st.builds(Timer, st.integers(0, 10_000) | st.floats(0, 1e4)),
    st.builds(ExperimenterMessage, WORDS),
    st.builds(Revealed, WORDS, WORDS, ANSWERS),
    st.builds(Paused, st.lists(WORDS, max_size=3).map(tuple)),
    st.just(Resumed()),
)
PNG = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=="


def attached(context: ContextItem) -> int:
    return sum(note.state == "attached" for note in getattr(context, "images", ()))


@given(ITEMS)
def test_what_is_built_reads_back_the_same_and_is_one_line(context: ContextItem) -> None:
    text = to_text(context)
    assert read_text(text) == context
    assert text.startswith(PREFIX) and "\n" not in text
    assert next(iter(json.loads(text[len(PREFIX) :]))) == "event"


@given(ITEMS)
def test_the_local_engine_reads_the_same_object(context: ContextItem) -> None:
    text = to_text(context)
    assert context_event(text) == json.loads(text[len(PREFIX) :])


@given(ITEMS)
def test_an_item_carries_an_image_for_each_that_it_notes_as_attached(context: ContextItem) -> None:
    item = to_item(context, [PNG] * attached(context))
    images = images_of(read_wire_item(item), "item")
    assert len(images) == attached(context) and all(isinstance(image, ImageData) for image in images)
    assert read_item(item) == context


@given(ITEMS, st.integers(-2, 2).filter(bool))
def test_an_item_with_more_or_fewer_images_is_refused(context: ContextItem, more: int) -> None:
    count = max(attached(context) + more, 0)
    if count == attached(context):
        return
    with pytest.raises(InvalidEvent, match=f"expected {attached(context)} images.*got {count}"):
        to_item(context, [PNG] * count)


def test_the_three_states_of_an_image_are_listed_in_order() -> None:
    notes = (
        ImageNote("attached", "the image (Face: 3)"),
        ImageNote("attached earlier", "choice Red"),
        ImageNote("could not be loaded", "choice Blue"),
    )
    text = to_text(Screen("showimage", "Look.", notes))
    assert json.loads(text[len(PREFIX) :])["images"] == [
        "attached: the image (Face: 3)",
        "attached earlier: choice Red",
        "could not be loaded: choice Blue",
    ]
    assert read_text(text) == Screen("showimage", "Look.", notes)


def test_the_examples_are_the_ten_forms_and_name_every_event() -> None:
    assert len(EXAMPLES) == 10
    assert {context.event for context in EXAMPLES} == set(EVENTS)
    assert [read_text(to_text(context)) for context in EXAMPLES] == list(EXAMPLES)


@pytest.mark.parametrize(
    "said", ["hello", "", "[context]", "[context]{}", ' [context] {"event":"resumed"}', "[Context] {}"]
)
def test_other_words_are_no_context_item(said: str) -> None:
    assert read_text(said) is None


@pytest.mark.parametrize(
    ("after_prefix", "named"),
    [
        ("", "JSON"),
        ("resumed", "JSON"),
        ('["event"]', "object"),
        ('{"event":"resumed"} {"event":"resumed"}', "JSON"),
        ('{"event":"resumed"} and stop', "JSON"),
        ("{}", "'event' is missing"),
        ('{"event":1}', "'event'"),
        ('{"event":"resume"}', "got 'resume'"),
        ('{"event":"screen","type":"showtext"}', "'text' is missing"),
        ('{"event":"screen","type":"showtext","text":"","images":"attached: a"}', "'images'"),
        ('{"event":"screen","type":"showtext","text":"","images":["lost: a"]}', "'lost: a'"),
        ('{"event":"participants","others":["Alex"]}', "'others'"),
        ('{"event":"participants","others":[{"name":"Alex"}]}', "'role' is missing"),
        ('{"event":"typed","speaker":"Alex","said":null}', "'said'"),
        ('{"event":"question","tool":"send_chat","question":"","duringVideo":false}', "'send_chat'"),
        ('{"event":"question","tool":"answer_scale","question":"","duringVideo":0}', "'duringVideo'"),
        ('{"event":"timer","secondsLeft":"30"}', "'secondsLeft'"),
        ('{"event":"timer","secondsLeft":true}', "'secondsLeft'"),
        ('{"event":"timer","secondsLeft":NaN}', "JSON"),
        ('{"event":"revealed","name":"Alex","role":"A"}', "'answer' is missing"),
        ('{"event":"paused","waitingFor":"Alex"}', "'waitingFor'"),
    ],
)
def test_what_is_no_item_of_a_known_form_is_refused_by_name(after_prefix: str, named: str) -> None:
    with pytest.raises(InvalidEvent) as refused:
        read_text(PREFIX + after_prefix)
    assert named in refused.value.message


@given(st.text(max_size=60))
def test_nothing_after_the_prefix_breaks_the_reader(text: str) -> None:
    with suppress(InvalidEvent):
        assert read_text(PREFIX + text) is not None


def test_fields_of_later_versions_are_passed_over() -> None:
    assert read_text('[context] {"event":"timer","secondsLeft":30,"unit":"s"}') == Timer(30)


@pytest.mark.parametrize("answer", [float("nan"), float("inf"), "\ud800", {1, 2}, object()])
def test_what_json_cannot_carry_is_not_built(answer: object) -> None:
    with pytest.raises(InvalidEvent, match="JSON cannot carry"):
        to_text(replace(Revealed("Alex", "A", 70), answer=answer))


@pytest.mark.parametrize(
    "item",
    [
        {"type": "function_call_output", "call_id": "c", "output": '[context] {"event":"resumed"}'},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": to_text(Resumed())}]},
        {"type": "message", "role": "user", "content": []},
        {"type": "message", "role": "user", "content": [{"type": "input_audio", "transcript": to_text(Resumed())}]},
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "hello"}]},
    ],
)
def test_only_a_users_text_is_a_context_item(item: dict[str, Any]) -> None:
    assert read_item(item) is None
