"""One reply, whatever happens to it: its facts in order, and exactly one end. realtime/orders.py, Reply."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from itertools import pairwise
from typing import Any

import pytest
from tests.engines.local.stage import USAGE, Mind, Speaker, Stage, in_loop, planned, said, saying, texts, tool

from realtime_harness.engines.local import reply as module
from realtime_harness.errors import MindError
from realtime_harness.minds.mind import CallMade, ChatChunk, ChatRequest, Finished, TextDelta, ToolCall
from realtime_harness.realtime import facts as f
from realtime_harness.realtime import orders as o
from realtime_harness.realtime.session import Session

SENTENCES = ("It is ", "red. And it ", "is round.")


async def ended(stage: Stage, ref: int) -> f.ReplyEnded:
    end = await stage.until(f.ReplyEnded, ref)
    await asyncio.sleep(0.05)  # whatever might still come
    assert [type(fact) for fact in stage.of(ref)].count(f.ReplyEnded) == 1
    assert stage.of(ref)[-1] is end
    return end


@in_loop
async def test_words_come_before_the_audio_that_speaks_them_and_the_audio_counts_their_characters() -> None:
    async with Stage(Mind(saying(*SENTENCES))) as stage:
        ref = stage.reply()

        end = await ended(stage, ref)

        kinds = [type(fact).__name__ for fact in stage.of(ref)]
        assert kinds[:4] == ["ReplyStarted", "PartStarted", "TextOut", "AudioOut"]
        assert stage.of(ref)[1] == f.PartStarted(ref, 0, "audio")
        assert "".join(fact.text for fact in stage.of(ref) if isinstance(fact, f.TextOut)) == "".join(SENTENCES)
        said = 0
        for fact in stage.of(ref):
            if isinstance(fact, f.TextOut):
                said += len(fact.text)
            if isinstance(fact, f.AudioOut):
                assert fact.text_end <= said
        ends = [fact.text_end for fact in stage.of(ref) if isinstance(fact, f.AudioOut)]
        assert all(left <= right for left, right in pairwise(ends))
        assert ends[-1] == len("".join(SENTENCES))
        assert end.status == "completed" and end.error is None
        assert end.usage is not None
        assert (end.usage.input_tokens, end.usage.output_tokens, end.usage.cached_tokens) == (10, 3, 4)
        assert end.usage.input_audio_tokens is None


@in_loop
async def test_the_first_clause_is_spoken_while_the_rest_is_still_being_thought() -> None:
    go_on = asyncio.Event()

    async def script(_: ChatRequest) -> AsyncGenerator[ChatChunk]:
        yield TextDelta("It is red. And ")
        await go_on.wait()
        yield TextDelta("round.")
        yield Finished("stop", USAGE)

    async with Stage(Mind(script)) as stage:
        ref = stage.reply()
        await stage.until(f.AudioOut)
        go_on.set()
        await ended(stage, ref)
        assert [text for text, _ in stage.speaker.spoken] == ["It is red.", " And round."]


@in_loop
async def test_speed_and_voice_are_those_of_the_response() -> None:
    asked = Session.model_validate({"audio": {"output": {"speed": 1.25, "voice": "alloy"}}})
    async with Stage() as stage:
        await ended(stage, stage.reply(planned(asked)))
        assert {speed for _, speed in stage.speaker.spoken} == {1.25}
        await ended(stage, stage.reply(planned(asked, audio={"output": {"voice": {"id": "cedar"}}})))
        assert list(dict.fromkeys(stage.speaker.voices)) == ["alloy", "cedar"]


@in_loop
async def test_a_written_answer_has_no_audio() -> None:
    async with Stage(Mind(saying(*SENTENCES))) as stage:
        ref = stage.reply(planned(output_modalities=["text"]))

        await ended(stage, ref)

        assert stage.of(ref)[1] == f.PartStarted(ref, 0, "text")
        assert [fact.text for fact in stage.of(ref) if isinstance(fact, f.TextOut)] == list(SENTENCES)
        assert not any(isinstance(fact, f.AudioOut) for fact in stage.of(ref))
        assert stage.speaker.spoken == []


def calling(*before: str) -> Mind:
    async def script(_: ChatRequest) -> AsyncGenerator[ChatChunk]:
        for text in before:
            yield TextDelta(text)
        yield CallMade(ToolCall("c1", "answer_scale", '{"value":70}'))
        yield Finished("tool_calls", USAGE)

    return Mind(script)


@in_loop
async def test_a_silent_answer_is_exactly_one_call() -> None:
    session = Session(tools=(tool("answer_scale"),))
    silent = planned(session, output_modalities=["text"], tool_choice={"type": "function", "name": "answer_scale"})
    async with Stage(calling()) as stage:
        ref = stage.reply(silent)

        end = await ended(stage, ref)

        assert stage.of(ref)[1:-1] == [f.CallOut(ref, "c1", "answer_scale", '{"value":70}')]
        assert end.status == "completed"


@in_loop
async def test_a_call_comes_after_all_that_was_said_before_it() -> None:
    async with Stage(calling("Let me ", "see")) as stage:
        ref = stage.reply()

        await ended(stage, ref)

        kinds = [type(fact).__name__ for fact in stage.of(ref)]
        assert kinds[-2:] == ["CallOut", "ReplyEnded"]
        assert "AudioOut" in kinds


@in_loop
async def test_an_answer_cut_by_its_limit_is_incomplete() -> None:
    async with Stage(Mind(saying("It is", reason="length"))) as stage:
        end = await ended(stage, stage.reply(planned(max_output_tokens=2)))

        assert (end.status, end.reason) == ("incomplete", "max_output_tokens")
        assert stage.mind.asked[0].max_tokens == 2


def failing(problem: Exception, *before: str) -> Mind:
    async def script(_: ChatRequest) -> AsyncGenerator[ChatChunk]:
        for text in before:
            yield TextDelta(text)
        raise problem

    return Mind(script)


@pytest.mark.parametrize(
    ("problem", "code"),
    [(MindError("It broke.", code="deadline"), "deadline"), (RuntimeError("secret"), "reply_failed")],
)
@pytest.mark.parametrize("before", [(), ("It is red. And ",)])
def test_a_mind_that_fails_ends_the_reply_and_nothing_else(problem: Exception, code: str, before: Any) -> None:
    @in_loop
    async def check() -> None:
        mind = failing(problem, *before)
        async with Stage(mind) as stage:
            end = await ended(stage, stage.reply())
            assert end.status == "failed"
            assert end.error is not None and end.error["code"] == code
            assert "secret" not in end.error["message"]

            mind.script = saying("Fine.")
            assert (await ended(stage, stage.reply())).status == "completed"

    check()


@in_loop
async def test_a_mind_that_writes_without_end_is_stopped() -> None:
    async def script(_: ChatRequest) -> AsyncGenerator[ChatChunk]:
        while True:
            yield TextDelta("word " * 1_000)
            await asyncio.sleep(0)

    mind = Mind(script)
    async with Stage(mind) as stage:
        end = await ended(stage, stage.reply(planned(output_modalities=["text"])))
        assert end.error is not None and end.error["code"] == "bad_answer"
        assert mind.stopped == 1


@in_loop
async def test_a_voice_that_fails_ends_the_reply_and_stops_the_mind() -> None:
    mind = Mind(saying("It is red. ", "And ", "round. ", "Yes."))
    async with Stage(mind, speaker=Speaker(breaks_on="round")) as stage:
        end = await ended(stage, stage.reply())

        assert end.status == "failed"
        assert mind.stopped == 1


@in_loop
async def test_a_cancelled_reply_stops_mind_and_voice_at_once() -> None:
    async def script(_: ChatRequest) -> AsyncGenerator[ChatChunk]:
        yield TextDelta("It is red. And ")
        await asyncio.Event().wait()

    mind = Mind(script)
    async with Stage(mind) as stage:
        ref = stage.reply()
        await stage.until(f.AudioOut)

        stage.tell(o.CancelReply, reply_ref=ref)
        end = await ended(stage, ref)

        assert end.status == "cancelled"
        assert mind.stopped == 1


@in_loop
async def test_a_reply_cancelled_before_it_began_ends_too() -> None:
    async with Stage() as stage:
        ref = stage.reply()
        stage.tell(o.CancelReply, reply_ref=ref)

        assert (await ended(stage, ref)).status == "cancelled"
        assert stage.mind.asked == []


@in_loop
async def test_cancelling_what_is_over_or_never_was_does_nothing() -> None:
    async with Stage() as stage:
        ref = stage.reply()
        await ended(stage, ref)

        stage.tell(o.CancelReply, reply_ref=ref)
        stage.tell(o.CancelReply, reply_ref=999)

        await ended(stage, ref)


@in_loop
async def test_speech_is_made_no_further_ahead_than_the_bound() -> None:
    async with Stage(Mind(saying("x" * 100 + ". " + "y" * 300 + ". z"))) as stage:
        ref = stage.reply()
        while len(stage.of(ref)) < 10 * module.AHEAD_S:
            await asyncio.sleep(0.01)
        await asyncio.sleep(0.3)

        made_s = sum(len(fact.pcm) for fact in stage.of(ref) if isinstance(fact, f.AudioOut)) / 48_000
        assert module.AHEAD_S <= made_s <= module.AHEAD_S + 3

        stage.tell(o.CancelReply, reply_ref=ref)
        assert (await ended(stage, ref)).status == "cancelled"


@in_loop
async def test_a_window_that_is_too_small_is_tried_once_more_with_what_is_needed_only() -> None:
    async def script(request: ChatRequest) -> AsyncGenerator[ChatChunk]:
        if sum(not message.droppable for message in request.messages) > 2:
            raise MindError("too long", code="context_length_exceeded")
        yield TextDelta("Fine.")
        yield Finished("stop", USAGE)

    mind = Mind(script)
    async with Stage(mind) as stage:
        stage.add(said("a", '[context] {"event":"screen","text":"one"}'), None)
        stage.add(said("b", '[context] {"event":"screen","text":"two"}'), "a")
        assert (await ended(stage, stage.reply())).status == "completed"
        assert (await ended(stage, stage.reply())).status == "completed"
        assert len(mind.asked) == 3  # it is remembered

    async def never(_: ChatRequest) -> AsyncGenerator[ChatChunk]:
        raise MindError("too long", code="context_length_exceeded")
        yield

    async with Stage(Mind(never)) as stage:
        end = await ended(stage, stage.reply())
        assert end.error is not None and end.error["code"] == "context_length_exceeded"


@in_loop
async def test_two_replies_run_side_by_side() -> None:
    going = asyncio.Event()

    async def script(request: ChatRequest) -> AsyncGenerator[ChatChunk]:
        if request.affinity:
            await going.wait()
        yield TextDelta("Done.")
        yield Finished("stop", USAGE)

    async with Stage(Mind(script)) as stage:
        main = stage.reply()
        beside = stage.reply(planned(conversation="none"), context=())
        await ended(stage, beside)
        going.set()
        await ended(stage, main)
        assert texts(stage.mind.asked[1]) == []
