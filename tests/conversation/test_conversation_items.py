"""Items: places, ids, deletion, truncation, outputs. Sources: HRP 0.2.0; reference wire sections 1.9 and 1.11."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from realtime_harness.conversation.ledger import Spoken
from realtime_harness.realtime import events as e
from realtime_harness.realtime import facts as f
from realtime_harness.realtime import orders as o
from realtime_harness.realtime.items import FunctionCallItem, FunctionCallOutputItem, MessageItem, read_item

from .driver import Talk

PNG = "data:image/png;base64," + base64.b64encode(b"\x89PNG\r\n\x1a\n" + bytes(16)).decode()
WORDS = "one two three four five six seven eight nine ten"


@pytest.fixture
def spoke(talk: Talk) -> Talk:
    """An answer of ten words in 2000 ms, all out."""
    talk.turn()
    talk.reply(WORDS, 2000)
    talk.wait(2.1)
    talk.see()
    return talk


# --- truncation -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("asked_ms", "cut_ms", "heard"),
    [
        (1000, 1000, "one two three four five"),
        (2000, 2000, WORDS),
        (99_999, 2000, WORDS),
        (2**60, 2000, WORDS),
        (1, 1, ""),
        (0, 0, ""),
    ],
)
def test_truncate_is_acknowledged_where_it_really_cuts(spoke: Talk, asked_ms: int, cut_ms: int, heard: str) -> None:
    item = spoke.spoken_item
    spoke.truncate(item, asked_ms)
    truncated = spoke.last(e.ItemTruncated)
    assert (truncated.item_id, truncated.content_index, truncated.audio_end_ms) == (item, 0, cut_ms)
    assert spoke.shown(item)["content"] == [{"type": "output_audio", "transcript": heard}]
    assert spoke.order(o.Truncate).text == heard == spoke.last(e.AssistantHeard).text


def test_a_second_truncation_may_cut_more_never_less(spoke: Talk) -> None:
    item = spoke.spoken_item
    for asked, cut in ((1500, 1500), (800, 800), (1500, 800), (800, 800)):
        spoke.truncate(item, asked)
        assert spoke.last(e.ItemTruncated).audio_end_ms == cut
    assert spoke.shown(item)["content"][0]["transcript"] in WORDS[:20]


def test_an_item_still_being_spoken_is_cut_to_what_is_out(talk: Talk) -> None:
    talk.turn()
    talk.say(WORDS, 8000)
    talk.truncate(talk.spoken_item, 99_999)
    assert talk.last(e.ItemTruncated).audio_end_ms == talk.audio_ms


def test_an_item_truncated_while_open_is_kept_as_it_was_heard(talk: Talk) -> None:
    talk.turn()
    talk.say(WORDS, 2000)
    item = talk.spoken_item
    talk.truncate(item, 600)
    talk.truncate(item, 900)
    assert talk.last(e.ItemTruncated).audio_end_ms == 600
    talk.end()
    talk.wait(3)
    assert talk.shown(item)["content"][0]["transcript"] == "one two three"
    assert not talk.all(o.Truncate)  # the backend is given it once, already cut
    assert talk.order(o.AddItem).item.text == "one two three"  # type: ignore[union-attr]


def test_after_a_barge_in_the_truncation_is_at_what_was_heard(talk: Talk) -> None:
    talk.turn()
    talk.say(WORDS, 8000)
    talk.wait(2)
    item = talk.spoken_item
    talk.speak_ms(64)
    talk.end("cancelled")
    talk.truncate(item, 1840)
    assert talk.last(e.ItemTruncated).audio_end_ms == 1840
    assert talk.shown(item)["content"][0]["transcript"] == "one two"


def test_what_cannot_be_truncated(spoke: Talk) -> None:
    typed = spoke.type("hello")
    spoken_by_user = spoke.last(e.AudioCommitted).item_id
    spoke.create()
    spoke.call("send_chat")
    spoke.end()
    call = spoke.last(e.ItemDone).item["id"]
    spoke.create(conversation="none")
    spoke.say("aside", 500)
    spoke.end()
    spoke.wait(2)
    aside = spoke.spoken_item
    spoke.create(output_modalities=["text"])
    spoke.write("written")
    spoke.end()
    written = spoke.last(e.ItemDone).item["id"]
    for item in (typed, spoken_by_user, call, aside, written, "item_unknown", ""):
        spoke.see()
        spoke.truncate(item, 100)
        assert spoke.see() == ["error"], item
    assert not spoke.all(o.Truncate)


@pytest.mark.parametrize(
    ("ms", "index", "param"), [(-1, 0, "audio_end_ms"), (100, 1, "content_index"), (100, -1, "content_index")]
)
def test_bad_places_to_truncate(spoke: Talk, ms: int, index: int, param: str) -> None:
    spoke.truncate(spoke.spoken_item, ms, index)
    assert spoke.error["param"] == param


@pytest.mark.parametrize(
    ("text", "at", "heard"),
    [
        ("Guten Tag, Welt", 50, "Guten"),
        ("Guten Tag, Welt", 100, "Guten Tag, Welt"),
        ("今日はとても良い天気です", 50, "今日はとても"),
        ("Ununterbrochen", 50, ""),
        ("a\nb\nc\nd", 60, "a\nb"),
        ("", 50, ""),
    ],
)
def test_heard_is_cut_between_words(text: str, at: int, heard: str) -> None:
    """A language without spaces lost all that was heard."""
    spoken = Spoken(text)
    spoken.add(100, len(text))
    assert spoken.heard(at) == heard


# --- places and ids -------------------------------------------------------------------------------------------------


def test_an_item_goes_to_the_end_after_another_or_first(talk: Talk) -> None:
    a = talk.type("a")
    b = talk.type("b")
    talk.type("c", after=a)
    talk.type("d", after="root")
    assert [added.previous_item_id for added in talk.all(e.ItemAdded)] == [None, a, a, None]
    assert [order.after_id for order in talk.all(o.AddItem)] == [None, a, a, None]
    assert b in talk.watch.mirror


def test_a_client_may_name_its_item_once(talk: Talk) -> None:
    assert talk.type("a", item_id="mine") == "mine"
    talk.see()
    talk.type("b", item_id="mine")
    assert talk.see() == ["error"]
    assert talk.error["code"] == "item_create_duplicate_item_id"


def test_a_deleted_or_announced_id_is_not_free_again(talk: Talk) -> None:
    talk.type("a", item_id="mine")
    talk.delete("mine")
    talk.speak_ms(320)
    for used in ("mine", talk.last(e.SpeechStarted).item_id):
        talk.type("b", item_id=used)
        assert talk.error["code"] == "item_create_duplicate_item_id"


@pytest.mark.parametrize(
    ("event", "code", "param"),
    [
        (e.ItemRetrieve(item_id="nope"), "item_retrieve_invalid_item_id", "item_id"),
        (e.ItemDelete(item_id="nope"), "item_delete_invalid_item_id", "item_id"),
        (e.ItemTruncate(item_id="nope", content_index=0, audio_end_ms=0), "item_truncate_invalid_item_id", "item_id"),
        (e.ItemCreate(item={"type": "message", "role": "user", "content": [{"type": "input_text", "text": "x"}]}, previous_item_id="nope"), "invalid_value", "previous_item_id"),
        (e.ItemCreate(item={"type": "function_call_output", "call_id": "nope", "output": ""}), "invalid_tool_call_id", "item.call_id"),
    ],
)  # fmt: skip
def test_unknown_ids(talk: Talk, event: e.ClientEvent, code: str, param: str) -> None:
    talk.send(event)
    assert (talk.error["code"], talk.error["param"]) == (code, param)
    assert not talk.all(o.AddItem)


def test_a_user_turn_after_an_open_answer_is_placed_where_the_backend_can_find_it(talk: Talk) -> None:
    """`after_id` named a silent answer's item that the backend had not been given yet."""
    first = talk.type("Question?")
    talk.create(output_modalities=["text"])
    talk.write("half an ans")
    second = talk.turn()
    assert talk.order(o.EndTurn).after_id == first
    third = talk.type("And this.")
    assert talk.order(o.AddItem).after_id == second
    talk.write("wer")
    talk.end()
    written = talk.order(o.AddItem)
    assert written.after_id == first
    assert talk.watch.mirror == [first, written.item.id, second, third]


def test_an_answer_of_which_nothing_was_heard_is_no_landmark_for_the_backend(talk: Talk) -> None:
    """Nor did the backend know the item of a response that was cut before its first sound."""
    first = talk.turn()
    talk.tell(f.TextOut(talk.ref, 0, "I was going to say"))
    talk.speak_ms(640)
    talk.end("cancelled")
    talk.quiet_ms(640)
    assert talk.order(o.EndTurn).after_id == first


# --- deletion -------------------------------------------------------------------------------------------------------


def test_a_deleted_item_is_gone_for_both_sides(talk: Talk) -> None:
    item = talk.type("secret")
    talk.delete(item)
    assert talk.last(e.ItemDeleted).item_id == item
    assert talk.order(o.DropItem).item_id == item
    talk.see()
    talk.send(e.ItemRetrieve(item_id=item))
    assert talk.see() == ["error"]


def test_deleting_an_item_that_is_still_open_lets_its_response_finish(talk: Talk) -> None:
    talk.turn()
    talk.say("Wait", 2000)
    item = talk.spoken_item
    talk.delete(item)
    assert not talk.all(o.DropItem)  # the backend was never given it
    talk.end()
    talk.wait(3)
    assert talk.done["status"] == "completed"
    assert item not in [order.item.id for order in talk.all(o.AddItem)]
    assert item not in [done.item["id"] for done in talk.all(e.ItemDone)]


# --- calls and outputs ----------------------------------------------------------------------------------------------


@pytest.fixture
def called(talk: Talk) -> tuple[Talk, str]:
    talk.create()
    talk.call("send_chat")
    talk.end()
    return talk, talk.last(e.FunctionArgumentsDone).call_id


def test_one_output_a_call(called: tuple[Talk, str]) -> None:
    talk, call_id = called
    talk.answer(call_id)
    talk.see()
    talk.answer(call_id)
    assert talk.see() == ["error"]
    assert talk.error["code"] == "invalid_tool_call_id"


def test_no_output_for_a_deleted_call_and_no_second_life_for_its_id(called: tuple[Talk, str]) -> None:
    """A call deleted and created again took a second output."""
    talk, call_id = called
    talk.answer(call_id)
    talk.delete(talk.all(e.FunctionArgumentsDone)[0].item_id)
    again = {"type": "function_call", "call_id": call_id, "name": "send_chat", "arguments": "{}"}
    for event in (again, {"type": "function_call_output", "call_id": call_id, "output": "{}"}):
        talk.send(e.ItemCreate(item=event))
        assert talk.error["param"] == "item.call_id"


def test_a_deleted_output_may_be_given_again(called: tuple[Talk, str]) -> None:
    talk, call_id = called
    talk.answer(call_id, "wrong")
    talk.delete(talk.last(e.ItemAdded).item["id"])
    talk.answer(call_id, "right")
    assert talk.last(e.ItemAdded).item["output"] == "right"


# --- images ---------------------------------------------------------------------------------------------------------


def image(url: str) -> dict[str, Any]:
    text = {"type": "input_text", "text": '[context] {"event":"screen","images":["attached: red"]}'}
    return {"type": "message", "role": "user", "content": [text, {"type": "input_image", "image_url": url}]}


def test_an_images_bytes_go_to_the_backend_and_are_not_echoed(talk: Talk) -> None:
    talk.send(e.ItemCreate(item=image(PNG)))
    order = talk.order(o.AddItem)
    assert [picture.media_type for picture in order.images] == ["image/png"]
    assert PNG not in str(order.item)
    assert talk.last(e.ItemAdded).item["content"][1] == {"type": "input_image"}


@pytest.mark.parametrize("url", ["data:image/png;base64,%%%", "data:image/png;base64,AAAA", "https://x/y.png", ""])
def test_a_broken_image_adds_nothing(talk: Talk, url: str) -> None:
    talk.send(e.ItemCreate(item=image(url)))
    assert talk.error["param"] == "item.content[1].image_url"
    assert not talk.all(o.AddItem)


# --- seeds ----------------------------------------------------------------------------------------------------------


def test_a_seed_is_placed_before_the_session_opens_and_makes_no_event() -> None:
    seed = [
        read_item({"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Earlier."}]}),
        read_item(image(PNG)),
        FunctionCallItem(id="item_c", call_id="call_1", name="send_chat", arguments="{}"),
        FunctionCallOutputItem(id="item_o", call_id="call_1", output="{}"),
    ]
    talk = Talk(seed=seed)
    assert [type(output) for _, output in talk.log][:5] == [o.Open, o.AddItem, o.AddItem, o.AddItem, o.AddItem]
    assert not talk.all(e.ItemAdded)
    assert len({order.item.id for order in talk.all(o.AddItem)}) == 4


def test_a_seeds_items_without_ids_get_some_and_keep_their_images() -> None:
    """They all stood under the id "", and their images were lost."""
    first, second = Talk(seed=[read_item(image(PNG)), MessageItem(role="assistant", content=())]).all(o.AddItem)
    assert first.item.id != second.item.id != ""
    assert len(first.images) == 1
    assert second.after_id == first.item.id
