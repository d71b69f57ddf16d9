"""Both sides' words on a terminal, as they come."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from realtime_harness.client import Received
from realtime_harness.realtime import events as e

_STYLES = {"you": "bold cyan", "agent": "bold green", "tool": "bold magenta", "note": "dim", "error": "bold red"}
_WIDTH = 7


class Transcript:
    """Shows events of a call. A line belongs to one speaker; words that come while the other's line is open begin a new
    one."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._open: str | None = None  # the item whose line is not ended

    def show(self, received: Received) -> None:
        """What a person wants to see of one event."""
        match received.event:
            case e.SpeechStarted():
                self.line("note", "[you speak]")
            case e.TranscriptionCompleted(transcript=words):
                self.line("you", words.strip() or "(no words)")
            case e.TranscriptionFailed():
                self.line("you", "(the words could not be had)")
            case (
                e.OutputTranscriptDelta(item_id=item_id, delta=words) | e.OutputTextDelta(item_id=item_id, delta=words)
            ):
                self._words(item_id, words)
            case e.FunctionArgumentsDone(name=name, arguments=arguments):
                self.line("tool", f"{name}({arguments})")
            case e.ItemTruncated(audio_end_ms=ms):
                self.line("note", f"[the answer was cut; {ms} ms of it were heard]")
            case e.ResponseDone(response=response) if response.get("status") not in ("completed", "cancelled"):
                self.line("error", f"the answer {response.get('status')}: {response.get('status_details')}")
            case e.ErrorEvent(error=error):
                self.line("error", str(error.get("message")))
            case None:
                self.line("error", f"not an HRP event: {received.fault}")
            case _:
                pass

    def line(self, who: str, what: str) -> None:
        """A whole line."""
        self.end_line()
        self._console.print(_named(who), Text(what), sep=" ")

    def end_line(self) -> None:
        """Ends the line that is open."""
        if self._open is not None:
            self._console.print()
            self._open = None

    def _words(self, item_id: str, words: str) -> None:
        if self._open != item_id:
            self.end_line()
            self._console.print(_named("agent"), end=" ")
            self._open = item_id
            words = words.lstrip()
        self._console.print(Text(words), end="", soft_wrap=True)


def _named(who: str) -> Text:
    return Text("" if who == "note" else who.ljust(_WIDTH), style=_STYLES[who])
