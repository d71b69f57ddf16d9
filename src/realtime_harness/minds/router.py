"""Which tool, if any, a sentence asks for: a few examples made from the tools, and a grammar of their names.

A small model's own tool format is not to be relied on (a required call is not enforced for every template), so the
choice is a separate, tiny prompt. Its long beginning depends on the tools alone, and stays read in a slot of its own.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence

from realtime_harness.minds.chatml import Part, answer_head, render
from realtime_harness.minds.mind import ChatMessage, ChatTool

REPLY = "reply"
_STEM_CHARS = 5
_EVERYWHERE = frozenset(
    [
        "about",
        "after",
        "again",
        "also",
        "been",
        "could",
        "does",
        "from",
        "have",
        "here",
        "just",
        "know",
        "like",
        "look",
        "make",
        "more",
        "much",
        "need",
        "other",
        "please",
        "right",
        "should",
        "some",
        "tell",
        "than",
        "that",
        "their",
        "them",
        "then",
        "there",
        "they",
        "thing",
        "this",
        "time",
        "want",
        "were",
        "what",
        "when",
        "where",
        "which",
        "will",
        "with",
        "would",
        "your",
    ]
)

_SMALL_TALK = (
    "How are you?",
    "My name is Tom.",
    "What is two plus two?",
    "I like music.",
    "What is the capital of Italy?",
    "Yes.",
    "Tell me about yourself.",
    "I had a long day at work.",
)

# People ask for what such a tool brings ("What is the weather?"); they do not tell it to fetch.
_BRINGS = re.compile(
    r"^(?:gets?|finds?|fetch(?:es)?|looks? up|checks?|retrieves?|shows?|returns?|reads?|gives?)\s+(.+)", re.IGNORECASE
)

# A tool that answers a definite question ("Answer the on-screen question ...") is meant for the moment the question is
# put to the model, and then the client forces it. Speech about the question does not ask for it. A tool that answers
# any question ("Answer a question about our prices", "Answer the caller's question") is an ordinary one.
_ANSWERS_THE_QUESTION = re.compile(
    r"^\W*(?:answer|respond to|reply to|rate|rank)\s+(?:the|this|that)\s+(?!\w+['\u2019]s\b|user|caller|customer|person)",
    re.IGNORECASE,
)


def routable(tools: Sequence[ChatTool]) -> tuple[ChatTool, ...]:
    """The tools that speech may ask for."""
    return tuple(tool for tool in tools if not _ANSWERS_THE_QUESTION.match(tool.description))


def may_ask(sentence: str, tools: Sequence[ChatTool]) -> bool:
    """Whether the sentence shares a word with one of the tools: who wants the weather says so, mostly.

    Only a guess, for when there is no time to ask the model.
    """
    said = _stems(sentence)
    return any(said & _stems(f"{tool.name.replace('_', ' ')} {tool.description}") for tool in tools)


def just_said(messages: Sequence[ChatMessage]) -> str | None:
    """What the user has just said, images beside it aside. None where the last thing is another, as an event: nobody
    asked for anything with that, so it is answered in words.
    """
    last = next((message for message in reversed(messages) if message.kind != "image"), None)
    return last.text if last is not None and last.role == "user" and last.kind == "words" else None


def beginning(tools: Sequence[ChatTool], *, may_reply: bool) -> tuple[Part, ...]:
    """The part of the prompt that depends on the tools alone."""
    lines = ["Decide what the user's sentence asks for. Answer with one word."]
    if may_reply:
        lines.append(f"{REPLY} = conversation, general questions, stories, opinions")
    lines += [f"{tool.name} = {_purpose(tool)}" for tool in tools]
    shown: list[ChatMessage] = [ChatMessage("system", "\n".join(lines))]
    small_talk = iter(_SMALL_TALK)
    if may_reply:  # first, because a small model leans to what it saw last, and small talk is the commoner mistake
        for sentence in itertools.islice(small_talk, 3):
            shown += _example(sentence, REPLY)
    for tool in tools:
        examples = _requests(tool)
        shown += _example(examples[0], tool.name)
        if may_reply and (sentence := next(small_talk, None)):
            shown += _example(sentence, REPLY)
        for request in examples[1:]:
            shown += _example(request, tool.name)
    return render(shown)


def ending(sentence: str) -> tuple[Part, ...]:
    """The part that asks about `sentence`."""
    return (*render((ChatMessage("user", sentence),)), *answer_head())


def words(tools: Sequence[ChatTool], *, may_reply: bool) -> tuple[str, ...]:
    """What the model may answer."""
    return (*((REPLY,) if may_reply else ()), *(tool.name for tool in tools))


def settled(text: str, choices: Sequence[str]) -> str | None:
    """The only choice that begins with `text`, if there is only one: the model need not finish the word."""
    fitting = [choice for choice in choices if choice.startswith(text)]
    if text in fitting and len(fitting) > 1:
        return None
    return fitting[0] if len(fitting) == 1 and text else None


def _requests(tool: ChatTool) -> list[str]:
    """How people ask for a tool."""
    purpose = _purpose(tool)
    requests = [
        f"Please {purpose[0].lower()}{purpose[1:].rstrip('.')}.",
        f"Use the {tool.name.replace('_', ' ')} tool.",
    ]
    if brings := _BRINGS.match(purpose):
        requests.insert(1, f"What is {brings[1].rstrip('.')}?")
    return requests


def _purpose(tool: ChatTool) -> str:
    return (tool.description or tool.name.replace("_", " ")).split("\n")[0].strip() or tool.name


def _stems(text: str) -> frozenset[str]:
    """The beginnings of its longer words, but for those that every sentence has."""
    words = re.findall(r"[^\W\d_]{4,}", text.casefold())
    return frozenset(word[:_STEM_CHARS] for word in words if word not in _EVERYWHERE)


def _example(sentence: str, answer: str) -> list[ChatMessage]:
    return [ChatMessage("user", sentence), ChatMessage("assistant", answer)]
