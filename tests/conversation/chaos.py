"""A conversation driven by numbers: any list of (operation, number) is a script, so that hypothesis can shrink one."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from realtime_harness.realtime import events as e
from realtime_harness.realtime import facts as f
from realtime_harness.realtime import orders as o
from realtime_harness.realtime.pcm import silence

from .driver import FRAME, USAGE, Talk, tool

Script = Iterable[tuple[str, int]]

DETECTIONS: list[Any] = [
    None,
    {"type": "server_vad"},
    {"type": "server_vad", "silence_duration_ms": 32, "prefix_padding_ms": 0},
    {"type": "server_vad", "interrupt_response": False},
    {"type": "server_vad", "create_response": False},
    {"type": "server_vad", "silence_duration_ms": 0, "threshold": 0.05, "idle_timeout_ms": 5000},
    {"type": "semantic_vad", "eagerness": "high"},
    {"silence_duration_ms": 250},
    {"type": "sonar"},
    {"threshold": 2},
    "on",
]
PATCHES: list[Any] = [
    {"instructions": "Be brief."},
    {"instructions": None},
    {"output_modalities": ["text"]},
    {"output_modalities": ["audio"]},
    {"output_modalities": ["audio", "text"]},
    {"tools": [{"type": "mcp"}]},
    {"tool_choice": {"type": "function", "name": "nope"}},
    {"audio": {"input": {"transcription": {"model": "whisper-1"}}}},
    {"audio": {"input": {"transcription": None}}},
    {"audio": None},
    {"audio": 7},
    {"new_field": {"deep": [1, {"er": None}]}},
]
RESPONSES: list[Any] = [
    {},
    {},
    {"output_modalities": ["text"], "tool_choice": {"type": "function", "name": "answer"}},
    {"output_modalities": ["text"]},
    {"conversation": "none"},
    {"conversation": "none", "output_modalities": ["text"], "input": []},
    {"tool_choice": "none"},
    {"input": [{"type": "item_reference", "id": "nope"}]},
    {"output_modalities": ["smell"]},
    {"tool_choice": {"type": "function", "name": "nope"}},
]
STATUSES: list[Any] = ["completed", "completed", "incomplete", "failed", "cancelled"]


class Chaos:
    """Plays a script and lets the watch judge every step."""

    def __init__(self) -> None:
        self.talk = Talk(tools=[tool("answer"), tool("chat")])
        self.ops: dict[str, Callable[[int], object]] = {
            name.removeprefix("do_"): getattr(self, name) for name in dir(self) if name.startswith("do_")
        }

    def play(self, script: Script) -> Talk:
        for name, number in script:
            self.ops[name](number)
        return self.talk

    def rest(self) -> None:
        """Lets everything end: turns by hand, replies by their backend, and the clock goes on."""
        self.talk.detection(None)
        self.talk.commit()
        for _ in range(3):
            for ref in [*self.talk.watch.replies]:
                self.talk.end(ref=ref)
            self.talk.wait(100)
        self.talk.watch.at_rest()

    # --- picking --------------------------------------------------------------------------------------------------

    def _item(self, number: int) -> str:
        """Mostly an id that exists."""
        known = [*self.talk.watch.item_ids, "item_unknown", ""]
        return sorted(known)[number % len(known)]

    def _ref(self, number: int) -> int:
        """Mostly that of a reply under way; else of an old one, or of none."""
        live = [ref for ref, running in self.talk.watch.replies.items() if running]
        if live and number % 4:
            return live[number % len(live)]
        return number % (max(self.talk.watch.refs, default=0) + 3)

    # --- a client -------------------------------------------------------------------------------------------------

    def do_speak(self, number: int) -> None:
        self.talk.speak_ms(32 * (1 + number % 12))

    def do_quiet(self, number: int) -> None:
        self.talk.quiet_ms(32 * (1 + number % 40))

    def do_append(self, number: int) -> None:
        self.talk.append(bytes(number % 3001))

    def do_detection(self, number: int) -> None:
        self.talk.detection(DETECTIONS[number % len(DETECTIONS)])

    def do_patch(self, number: int) -> None:
        self.talk.update(**PATCHES[number % len(PATCHES)])

    def do_commit(self, number: int) -> None:
        self.talk.send(e.AudioCommit(event_id=f"c{number}"))

    def do_clear(self, number: int) -> None:
        self.talk.clear()

    def do_type(self, number: int) -> None:
        content = {"type": "input_text", "text": f"[context] {number}"}
        item: dict[str, Any] = {"type": "message", "role": "user", "content": [content]}
        if number % 5 == 0:
            item["id"] = self._item(number // 5) if number % 2 else f"mine_{number}"
        self.talk.send(e.ItemCreate(item=item, previous_item_id=[None, "root", self._item(number)][number % 3]))

    def do_answer(self, number: int) -> None:
        calls = [*self.talk.watch.calls, "call_unknown"]
        self.talk.answer(calls[number % len(calls)])

    def do_retrieve(self, number: int) -> None:
        self.talk.send(e.ItemRetrieve(item_id=self._item(number)))

    def do_delete(self, number: int) -> None:
        self.talk.delete(self._item(number))

    def do_truncate(self, number: int) -> None:
        spoken = [delta.item_id for delta in self.talk.all(e.OutputAudioDelta)]
        item_id = spoken[-1] if spoken and number % 2 else self._item(number)
        self.talk.truncate(item_id, [0, 1, 350, 10**7, -5][number % 5], -1 if number % 11 == 0 else 0)

    def do_create(self, number: int) -> None:
        self.talk.send(e.ResponseCreate(event_id=f"r{number}", response=RESPONSES[number % len(RESPONSES)]))

    def do_cancel(self, number: int) -> None:
        known = [None, *self.talk.watch.live, *self.talk.watch.response_ids]
        self.talk.cancel(known[number % len(known)])

    # --- a backend ------------------------------------------------------------------------------------------------

    def do_say(self, number: int) -> None:
        self.talk.say("Some words here.", [5, 100, 333, 4000][number % 4], part=number % 2, ref=self._ref(number))

    def do_audio(self, number: int) -> None:
        self.talk.tell(f.AudioOut(self._ref(number), number % 3, bytes(number % 20_001), number % 50 - 5))

    def do_part(self, number: int) -> None:
        self.talk.tell(f.PartStarted(self._ref(number), number % 3, ("audio", "text")[number % 2]))

    def do_write(self, number: int) -> None:
        self.talk.tell(f.TextOut(self._ref(number), number % 3, ["", "word ", "今日は"][number % 3]))

    def do_call(self, number: int) -> None:
        self.talk.call(["answer", "chat", "undeclared"][number % 3], ref=self._ref(number))

    def do_started(self, number: int) -> None:
        self.talk.tell(f.ReplyStarted(self._ref(number)))

    def do_end(self, number: int) -> None:
        usage = USAGE if number % 3 else None
        self.talk.end(STATUSES[number % len(STATUSES)], ref=self._ref(number), usage=usage)

    def do_words(self, number: int) -> None:
        turns = self.talk.all(o.EndTurn)
        ref, item_id = (turns[number % len(turns)].ref, turns[number % len(turns)].item_id) if turns else (number, "x")
        if number % 3:
            self.talk.tell(f.UserText(ref, item_id, "words", 1.0))
        else:
            self.talk.tell(f.UserTextFailed(ref, item_id, "code", "Why."))

    def do_judge(self, number: int) -> None:
        asked = self.talk.all(o.TurnMaybeEnding)
        ref = asked[-1 - number % min(len(asked), 3)].ref if asked else number
        self.talk.tell(f.TurnComplete(ref, number % 11 / 10))

    def do_frame(self, number: int) -> None:
        """A frame that is stale, repeated, of the future, or of another epoch."""
        end = self.talk._samples + (number % 7 - 3) * FRAME
        self.talk.tell(f.SpeechProbability(self.talk._epoch + (number % 5 == 0), end, number % 2))

    def do_foreign(self, number: int) -> None:
        facts: list[f.Fact] = [
            f.Opened(number, "again"),
            f.OrderRefused(number, "refused", "No."),
            f.CallsCancelled(("upstream-1",)),
            f.Expiring(10),
            f.Foreign("thing"),
        ]
        self.talk.tell(facts[number % len(facts)])

    # --- time -----------------------------------------------------------------------------------------------------

    def do_wait(self, number: int) -> None:
        self.talk.wait([0.0, 0.05, 0.3, 1.0, 7.0, 65.0][number % 6])

    def do_wake(self, number: int) -> None:
        """Early, as a loop may."""
        self.talk.wake()

    def do_burst(self, number: int) -> None:
        self.talk.tell(f.AudioOut(self._ref(number), 0, silence(50 * (number % 100)), 3))


OPS = sorted(name.removeprefix("do_") for name in dir(Chaos) if name.startswith("do_"))
