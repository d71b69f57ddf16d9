"""What is measured beside the results: figures that clients rely on, and no threshold of HRP's."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import Any

from realtime_harness.conformance.report import Result
from realtime_harness.conformance.speech import clip
from realtime_harness.conformance.voice.checks import begin_story
from realtime_harness.conformance.voice.probe import Probe
from realtime_harness.conformance.voice.steps import open_session
from realtime_harness.conformance.voice.study import STORYTELLER
from realtime_harness.hyperstudy.contract import TURN_DETECTIONS

AFTER_MS = 2_000  # how long an answer is watched after somebody said "mm-hm"
FIGURES = {
    "bargeInStopMs": "onset of interruption to last audio",
    "vadLagMs": "speech_started behind its audio",
    "endToFirstAudioMs": "end of speech to first audio",
    "silenceBeforeFirstWordMs": "silence before the first word",
    "cancelToDoneMs": "response.cancel to response.done",
}


def summary(results: Sequence[Result]) -> dict[str, Any]:
    """Each figure's median over the results that have it, with how many those are."""
    out: dict[str, Any] = {}
    for name, timing in FIGURES.items():
        values = [result.timings_ms[timing] for result in results if timing in result.timings_ms]
        if values:
            out[name] = {"median": round(statistics.median(values)), "of": len(values)}
    return out


async def backchannel(probe: Probe) -> dict[str, Any]:
    """Somebody says "mm-hm" while the engine talks: does it go on, or stop as for an interruption?"""
    await open_session(probe, dict(TURN_DETECTIONS[0]), instructions=STORYTELLER)
    probe.open_microphone()
    response_id, _ = await begin_story(probe, "backchannel")
    since = probe.mark()
    await probe.say(clip("mm_hm"))
    done = await probe.first_of(
        ("response.done",),
        "the answer to go on",
        since=since,
        within_ms=AFTER_MS,
        where=lambda frame: frame.get("response", "id") == response_id,
    )
    heard = bool(probe.frames("input_audio_buffer.speech_started", since))
    stopped = done is not None and done.get("response", "status") == "cancelled"
    return {"outcome": "stopped" if stopped else "went on", "heardAsSpeech": heard, "said": clip("mm_hm").words}
