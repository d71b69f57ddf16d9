"""Orders in, facts out: turns, items, reading ahead. realtime/orders.py, realtime/facts.py."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator

import pybase64
import pytest
from tests.engines.local.stage import (
    FRAME,
    USAGE,
    Listener,
    Loudness,
    Mind,
    Speaker,
    Stage,
    in_loop,
    planned,
    quiet,
    said,
    saying,
    texts,
    tone,
)

from realtime_harness.engines.local import backend as module
from realtime_harness.engines.local import framing
from realtime_harness.minds.mind import ChatChunk, ChatRequest, Finished, TextDelta
from realtime_harness.realtime import facts as f
from realtime_harness.realtime import orders as o
from realtime_harness.realtime.images import ImageData
from realtime_harness.realtime.items import ContentPart, FunctionCallItem, MessageItem
from realtime_harness.realtime.session import Session

TEN = 10 * FRAME
PNG = b"\x89PNG\r\n\x1a\n"


def maybe_ending(stage: Stage, to_sample: int = TEN, *, judge: bool = False) -> int:
    return stage.tell(o.TurnMaybeEnding, item_id="t", from_sample=0, to_sample=to_sample, judge=judge)


def end_turn(
    stage: Stage, to_sample: int = TEN, item_id: str = "t", from_sample: int = 0, after: str | None = None
) -> int:
    return stage.tell(o.EndTurn, item_id=item_id, from_sample=from_sample, to_sample=to_sample, after_id=after)


# --- turns ------------------------------------------------------------------------------------------------------------


@in_loop
async def test_probabilities_are_told_in_order_from_within_send() -> None:
    async with Stage() as stage:
        stage.hear(tone(2))
        stage.hear(quiet(1))
        await stage.until(f.SpeechProbability)
        assert [fact.p for fact in stage.facts if isinstance(fact, f.SpeechProbability)] == [0.9, 0.9, 0.0]


@in_loop
async def test_a_spoken_turn_becomes_words_and_is_answered() -> None:
    async with Stage() as stage:
        stage.hear(tone(10))
        ref = end_turn(stage)
        reply = stage.reply()

        await stage.until(f.ReplyEnded, reply)

        assert await stage.until(f.UserText, ref) == f.UserText(ref, "t", "Hello.", 0.32)
        assert texts(stage.mind.asked[0]) == ["user: Hello."]


@in_loop
async def test_recognition_begins_when_a_turn_may_be_ending_and_is_not_done_twice() -> None:
    async with Stage() as stage:
        stage.hear(tone(10))
        maybe_ending(stage)
        stage.hear(quiet(10))
        ref = end_turn(stage, 2 * TEN)

        assert (await stage.until(f.UserText, ref)).text == "Hello."
        assert stage.listener.heard_s == [0.32]


@in_loop
async def test_the_mind_reads_what_was_probably_said_before_the_turn_is_over() -> None:
    async with Stage() as stage:
        await stage.prepared(1)
        stage.hear(tone(10))
        maybe_ending(stage)

        assert texts(await stage.prepared(2)) == ["user: Hello."]

        stage.tell(o.TurnResumed, item_id="t")
        stage.add(said("c", '[context] {"event":"timer"}'), None)
        assert len(texts(await stage.prepared(3))) == 1


@in_loop
async def test_a_guess_is_stale_once_the_speaker_goes_on() -> None:
    async with Stage(listener=Listener([])) as stage:
        stage.hear(tone(10))
        maybe_ending(stage)
        await stage.listened(1)
        stage.tell(o.TurnResumed, item_id="t")
        ref = end_turn(stage)  # nothing came after it, and still it is not taken

        assert (await stage.until(f.UserText, ref)).text == "0.32 s"
        assert stage.listener.heard_s == [0.32, 0.32]


@pytest.mark.parametrize("detect", [True, False])
def test_a_guess_is_stale_where_something_was_said_that_nobody_told_of(detect: bool) -> None:
    @in_loop
    async def check() -> None:
        async with Stage(listener=Listener([])) as stage:
            stage.hear(tone(10))
            maybe_ending(stage)
            stage.hear(tone(10) if detect else quiet(10), detect=detect)
            assert (await stage.until(f.UserText, end_turn(stage, 2 * TEN))).text == "0.64 s"

    check()


@pytest.mark.parametrize(("item_id", "from_sample", "text"), [("u", 0, "0.32 s"), ("t", 5 * FRAME, "0.16 s")])
def test_a_guess_of_another_turn_or_another_beginning_is_not_taken(item_id: str, from_sample: int, text: str) -> None:
    @in_loop
    async def check() -> None:
        async with Stage(listener=Listener([])) as stage:
            stage.hear(tone(10))
            maybe_ending(stage)
            await stage.listened(1)
            ref = end_turn(stage, item_id=item_id, from_sample=from_sample)
            assert (await stage.until(f.UserText, ref)).text == text
            assert len(stage.listener.heard_s) == 2

    check()


@in_loop
async def test_a_guess_that_fails_is_tried_again_at_the_end() -> None:
    async with Stage(listener=Listener([RuntimeError("no"), "Hello."])) as stage:
        stage.hear(tone(10))
        maybe_ending(stage)

        assert (await stage.until(f.UserText, end_turn(stage))).text == "Hello."


@in_loop
async def test_a_judge_tells_whether_the_speaker_has_finished() -> None:
    async with Stage() as stage:
        stage.hear(tone(10))
        ref = maybe_ending(stage, judge=True)

        assert await stage.until(f.TurnComplete) == f.TurnComplete(ref, 0.75)


@in_loop
async def test_words_that_cannot_be_had_are_told_and_answered_as_not_understood() -> None:
    async with Stage(listener=Listener([RuntimeError("secret")])) as stage:
        stage.hear(tone(10))
        ref = end_turn(stage)
        await stage.until(f.ReplyEnded, stage.reply())

        failed = await stage.until(f.UserTextFailed, ref)
        assert (failed.item_id, failed.code) == ("t", "recognition_failed")
        assert "secret" not in failed.message
        assert texts(stage.mind.asked[0]) == [f"user: {framing.NO_WORDS}"]


@in_loop
async def test_a_sound_without_words_is_a_turn_without_words() -> None:
    async with Stage(listener=Listener([""])) as stage:
        stage.hear(tone(10))
        ref = end_turn(stage)
        await stage.until(f.ReplyEnded, stage.reply())

        assert (await stage.until(f.UserText, ref)).text == ""
        assert texts(stage.mind.asked[0]) == [f"user: {framing.NO_WORDS}"]


@in_loop
async def test_a_reply_waits_for_words_only_so_long() -> None:
    listener = Listener()
    async with Stage(listener=listener) as stage:
        listener.gate.clear()
        before, module.WORDS_S = module.WORDS_S, 0.05
        try:
            stage.hear(tone(10))
            ref = end_turn(stage)
            await stage.until(f.ReplyEnded, stage.reply())
            assert texts(stage.mind.asked[0]) == [f"user: {framing.NO_WORDS}"]
        finally:
            module.WORDS_S = before
            listener.gate.set()
        assert (await stage.until(f.UserText, ref)).text == "Hello."  # and stands in the history from then on
        await stage.until(f.ReplyEnded, stage.reply())
        assert texts(stage.mind.asked[1]) == ["user: Hello."]


@in_loop
async def test_a_long_turn_is_heard_window_by_window() -> None:
    async with Stage(listener=Listener(["one", "two", "three"])) as stage:
        stage.tell(o.TurnStarted, item_id="t", from_sample=0)
        for _ in range(70):
            stage.hear(tone(31) + quiet(1))
        ref = end_turn(stage, 70 * 32 * FRAME)

        assert (await stage.until(f.UserText, ref)).text == "one two three"
        assert len(stage.listener.heard_s) == 3
        assert max(stage.listener.heard_s) <= 30


@in_loop
async def test_a_manual_turn_is_recognised_from_audio_that_nobody_judged() -> None:
    async with Stage() as stage:
        stage.hear(tone(10), detect=False)

        await stage.until(f.UserText, end_turn(stage))

        assert stage.listener.heard_s == [0.32]
        assert not any(isinstance(fact, f.SpeechProbability) for fact in stage.facts)


@in_loop
async def test_numbers_are_expected_while_a_scale_is_open_unless_the_client_says_what_to_expect() -> None:
    event = '[context] {"event":"question","tool":"answer_scale","question":"From 0 to 100?"}'
    async with Stage() as stage:
        stage.hear(tone(10))
        stage.add(said("q", event), None)
        await stage.until(f.UserText, end_turn(stage, after="q"))
        asked = Session.model_validate({"audio": {"input": {"transcription": {"prompt": "Zorblat."}}}})
        stage.tell(o.Configure, session=asked)
        await stage.until(f.UserText, end_turn(stage, item_id="u", after="t"))

        assert stage.listener.hints == ["From 0 to 100? 42. 75. 13. 100. 80.", "Zorblat."]


# --- items ------------------------------------------------------------------------------------------------------------


@in_loop
async def test_items_turns_and_cuts_stand_in_their_order() -> None:
    async with Stage() as stage:
        stage.add(said("a", "Hi, I am Sam and I talk.", "assistant"), None)
        stage.hear(tone(10))
        await stage.until(f.UserText, end_turn(stage, after="a"))
        stage.add(said("b", "Between."), "a")
        stage.tell(o.Truncate, item_id="a", audio_end_ms=500, text="Hi, I am")
        await stage.until(f.ReplyEnded, stage.reply())
        assert texts(stage.mind.asked[0]) == ["assistant: Hi, I am", "user: Between.", "user: Hello."]

        stage.tell(o.DropItem, item_id="b")
        await stage.until(f.ReplyEnded, stage.reply())
        assert texts(stage.mind.asked[1]) == ["assistant: Hi, I am", "user: Hello."]


@in_loop
async def test_images_are_described_off_the_loop_and_a_reply_waits_for_it() -> None:
    async with Stage() as stage:
        images = tuple(ImageData("image/png", data) for data in (PNG, b"broken", b"bug"))
        stage.add(said("i", '[context] {"event":"screen"}'), None, images=images)
        await stage.until(f.ReplyEnded, stage.reply())

        _, first, second, third = texts(stage.mind.asked[0])
        assert first.endswith("The colour that fills the image is red (8 bytes).")
        assert second.endswith("It could not be looked at: The image is broken.")
        assert third.endswith("It could not be looked at.")


@in_loop
async def test_a_context_of_its_own_replaces_the_conversation_and_knows_its_items_and_images() -> None:
    async with Stage() as stage:
        stage.hear(tone(10))
        await stage.until(f.UserText, end_turn(stage))
        turn = MessageItem(id="t", role="user", content=(ContentPart(type="input_audio"),))
        url = "data:image/png;base64," + pybase64.b64encode_as_string(PNG)
        shown = MessageItem(role="user", content=(ContentPart(type="input_image", image_url=url),))
        gone = MessageItem(role="user", content=(ContentPart(type="input_image"),))
        await stage.until(f.ReplyEnded, stage.reply(planned(conversation="none"), context=(turn, shown, gone)))

        assert [text.split(":")[-1].strip()[:10] for text in texts(stage.mind.asked[0])] == ["Hello.", "The colour"]
        assert stage.mind.asked[0].affinity == ""


@in_loop
async def test_a_call_without_its_output_breaks_nothing() -> None:
    async with Stage() as stage:
        stage.add(FunctionCallItem(id="f", call_id="c", name="x", arguments="{}"), None)
        assert (await stage.until(f.ReplyEnded, stage.reply())).status == "completed"


# --- instructions and reading ahead ------------------------------------------------------------------------------------


@in_loop
async def test_what_arrives_is_read_once_when_it_has_arrived() -> None:
    async with Stage() as stage:
        stage.tell(o.Configure, session=Session(instructions="You are Sam."))
        for number in range(10):
            stage.add(said(f"c{number}", f'[context] {{"event":"timer","n":{number}}}'), f"c{number - 1}")
        await stage.prepared(1)
        await asyncio.sleep(0.1)

        assert [len(request.messages) for request in stage.mind.prepared] == [11]
        assert stage.mind.prepared[0].messages[0].text.startswith("You are Sam.")


@in_loop
async def test_a_change_of_instructions_leaves_what_was_read_alone() -> None:
    async with Stage() as stage:
        stage.tell(o.Configure, session=Session(instructions="You are Sam."))
        stage.add(said("a", "Hello."), None)
        before = await stage.prepared(1)
        stage.tell(o.Configure, session=Session(instructions="You are Sam.\nBe brief."))
        after = await stage.prepared(2)

        assert after.messages[: len(before.messages)] == before.messages
        assert after.messages[-1].role == "system" and after.messages[-1].text.endswith("Be brief.")


@in_loop
async def test_instructions_of_one_response_are_its_own() -> None:
    async with Stage() as stage:
        stage.tell(o.Configure, session=(session := Session(instructions="You are Sam.")))
        await stage.until(f.ReplyEnded, stage.reply(planned(session, instructions="Whisper.")))
        await stage.until(f.ReplyEnded, stage.reply(planned(session)))

        whispered, normal = stage.mind.asked
        assert whispered.messages[:-1] == normal.messages
        assert whispered.messages[-1].text.endswith("Whisper.")


@in_loop
async def test_nothing_is_read_ahead_while_a_reply_is_at_work_and_all_of_it_after() -> None:
    go_on = asyncio.Event()

    async def script(_: ChatRequest) -> AsyncGenerator[ChatChunk]:
        await go_on.wait()
        yield TextDelta("Done.")
        yield Finished("stop", USAGE)

    async with Stage(Mind(script)) as stage:
        await stage.prepared(1)
        ref = stage.reply()
        stage.add(said("a", '[context] {"event":"timer"}'), None)
        await asyncio.sleep(0.1)
        assert len(stage.mind.prepared) == 1
        go_on.set()
        await stage.until(f.ReplyEnded, ref)
        assert len((await stage.prepared(2)).messages) == 2


# --- the end ----------------------------------------------------------------------------------------------------------


@in_loop
async def test_closing_stops_everything_and_gives_the_minds_place_back() -> None:
    async def script(_: ChatRequest) -> AsyncGenerator[ChatChunk]:
        yield TextDelta("It is red. And ")
        await asyncio.Event().wait()

    stage = Stage(Mind(script), speaker=Speaker())
    async with stage:
        stage.hear(tone(10))
        maybe_ending(stage, judge=True)
        end_turn(stage)
        stage.reply()
        stage.tell(o.EndTurn, item_id="u", from_sample=0, to_sample=FRAME, after_id="t")
        await stage.until(f.AudioOut)
        stage.reply()
        stage.tell(o.Stop, reason="over")
    await stage.backend.close()

    assert stage.mind.released == ["one"]
    assert stage.mind.stopped == len(stage.mind.asked) == 1


@in_loop
async def test_an_order_after_the_end_is_nobodys() -> None:
    stage = Stage()
    async with stage:
        pass

    stage.hear(tone(10))
    stage.reply()


@in_loop
async def test_sessions_on_one_workshop_know_nothing_of_each_other() -> None:
    listener = Listener(["mine", "yours"])
    async with Stage(Mind(saying("Yes.")), listener) as one:
        other = Stage(one.mind, listener)
        other.workshop = one.workshop
        other.backend = module.LocalBackend(one.workshop, module.Ears(Loudness()), "two", "local/fake")
        other._pump = asyncio.create_task(other._listen())  # pyright: ignore[reportPrivateUsage]
        other.tell(o.Open, session=Session())
        for stage in (one, other):
            stage.hear(tone(10))
            await stage.until(f.UserText, end_turn(stage))
            await stage.until(f.ReplyEnded, stage.reply())
        await other.backend.close()
        await other._pump  # pyright: ignore[reportPrivateUsage]

        mine, yours = one.mind.asked
        assert (mine.affinity, texts(mine)) == ("one", ["user: mine"])
        assert (yours.affinity, texts(yours)) == ("two", ["user: yours"])
