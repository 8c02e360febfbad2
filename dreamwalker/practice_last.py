"""What the practice model did last that a correction can be about.

One rule: it is read off the tool uses of the conversation and their results, for there is no other memory.
"""

import re
from collections.abc import Iterator
from datetime import datetime
from typing import Any

from dreamwalker.practice_correct import amended
from dreamwalker.practice_manage import moved
from dreamwalker.practice_memory import Wish
from dreamwalker.practice_reports import NOTE_HEAD, unframed
from dreamwalker.practice_words import sentence

Json = dict[str, Any]

NOTHING_TO_CORRECT = "I don't know what that corrects. Say it whole, please, such as “Remember that …”."

_THING = re.compile(r"^(?:Set|Changed): reminder (?P<id>\d+)\.")


def corrected(text: str, messages: list[Json], now: datetime | None) -> Wish | str:
    """What a correction comes to: the newest note or reminder as it should have been; or what is to be said."""
    for name, arguments, result in _done(messages):
        match name:
            case "write_note" if "text" in arguments:
                parts = {"title": str(arguments.get("title", "")), "text": amended(str(arguments["text"]), text)}
                return Wish(kind="remember", parts=parts)
            case "set_reminder" | "change_reminder" if (thing := _THING.match(result)) is not None:
                return _reminder(thing["id"], text, result, now)
            case "search_notes" | "read_note":
                head, _, body = result.partition("\n")
                if (note := NOTE_HEAD.match(head.strip())) is not None and body:
                    return Wish(kind="remember", parts={"title": note[1], "text": amended(body, text)})
    return NOTHING_TO_CORRECT


def undone(messages: list[Json]) -> Wish | str:
    """What takes back the newest note or reminder; or what is to be said."""
    for name, arguments, result in _done(messages):
        if name == "write_note":
            return Wish(kind="forget", parts={"query": str(arguments.get("title") or arguments.get("text"))})
        if name == "set_reminder" and (thing := _THING.match(result)) is not None:
            return Wish(kind="cancel_reminder", parts={"id": thing["id"]})
    return "I don't know what to take back. Say what, please, such as “Cancel the reminder about mum.”"


def _reminder(id: str, text: str, result: str, now: datetime | None) -> Wish:
    """A reminder at another time, or else with another text."""
    when = moved(f"at {text}" if text[0].isdigit() else text, result, now)
    if when is not None:
        return Wish(kind="change_reminder", parts={"id": id, "when": when})
    return Wish(kind="change_reminder", parts={"id": id, "text": sentence(re.sub(r"^to ", "", text))})


def _done(messages: list[Json]) -> Iterator[tuple[str, Json, str]]:
    """What was done so far, the newest first: tool, arguments, and what the result says. What failed is left out."""
    results: dict[str, str] = {}
    for message in reversed(messages):
        for block in reversed(message["content"] if not isinstance(message["content"], str) else []):
            if block["type"] == "tool_result" and not block.get("is_error"):
                parts = block.get("content") or ""
                said = parts if isinstance(parts, str) else "\n".join(part.get("text", "") for part in parts[:1])
                results[block["tool_use_id"]] = unframed(said)
            elif block["type"] == "tool_use" and block["id"] in results:
                yield block["name"], block["input"], results[block["id"]]
