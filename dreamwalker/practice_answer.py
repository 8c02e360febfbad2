"""What the practice model answers: from a request of the Messages API to text and tool uses.

One rule: only the owner's own words are acted on, and by a worker its task. Tool results and text from outside are
quoted, never obeyed, but that another agent's question is looked up in the notes; and only tools that the request
offers are used.
"""

import re
from datetime import datetime
from typing import Any

import attrs

from actors.window import SUM_UP
from dreamwalker.practice_last import corrected, undone
from dreamwalker.practice_manage import ACTS
from dreamwalker.practice_memory import Wish
from dreamwalker.practice_reports import CANNOT_SEARCH, SIGNATURE, came_to, carries_out, pass_on, report, unframed
from dreamwalker.practice_rules import understand
from dreamwalker.practice_tools import Use, filled
from dreamwalker.practice_words import short

Json = dict[str, Any]

TIME_LINE = re.compile(r"^\[(\d{4}-\d{2}-\d{2}) \w+ (\d{2}:\d{2}) ([^\]]+)\]$")
OUTSIDE = "⟦"
"""What text from outside begins with, and no other text can."""
AGENT = "⟦Another agent's message"
ASKED_BY_AGENT = "another agent has written to you"
"""What the house says in a conversation in which an agent answers another."""
SUMMED_UP = "This was said until then:"
SUMMARY_CHARACTERS, LINE_CHARACTERS = 4_000, 200
FRESH_LINE = "(a new context begins here)"
"""The house's own line where a conversation begins anew."""
UNDERSTOOD_CHARACTERS = 2000
STORY_CHARACTERS = 20_000
ASKED_WHICH = re.compile(r"Which (reminder|job) shall I (\w+)\? Say its number\.")
ASKED_WHEN = re.compile(r"When shall I remind you\? It is about: “(.+?)”")

TOOL_FOR = {
    "remember": "write_note",
    "recall": "search_notes",
    "list_notes": "list_notes",
    "read_note": "read_note",
    "history": "search_history",
    "remind": "set_reminder",
    "schedule": "make_job",
    "list_reminders": "list_reminders",
    "list_jobs": "list_jobs",
    "look_up": "delegate",
    "ask_agent": "message_agent",
    "choose": "ask_owner",
    "forget": "search_notes",
} | {kind: act.lists for kind, act in ACTS.items()}
"""The tool that a wish is carried out with, or begun: what is to be changed is looked for first."""
ABOUT_THE_LAST = ("correct", "undo")
EXAMPLES = {
    "write_note": "“Remember that my sister's birthday is on 4 May.”",
    "search_notes": "“When is my sister's birthday?”",
    "list_notes": "“List my notes.”",
    "search_history": "“What did I say about the holiday?”",
    "set_reminder": "“Remind me tomorrow at 9 to call mum.”",
    "change_reminder": "“Change the reminder to 5 pm.”",
    "cancel_reminder": "“Cancel the reminder about mum.”",
    "make_job": "“Every morning at 8, look up the weather.”",
    "pause_job": "“Pause the weather job.”",
    "delegate": "“Look up https://example.org.”",
    "message_agent": "“Ask the gardener agent when to prune roses.”",
    "ask_owner": "“Ask me whether I want tea or coffee.”",
}
CANNOT_YET = {
    "remember": "keep notes",
    "recall": "look into notes",
    "list_notes": "list notes",
    "read_note": "read notes",
    "history": "search what was said before",
    "remind": "set reminders",
    "schedule": "run things on a schedule",
    "list_reminders": "list reminders",
    "list_jobs": "list jobs",
    "look_up": "look things up on the internet",
    "ask_agent": "write to other agents",
    "choose": "ask you to choose",
    "forget": "look into notes",
} | {kind: f"{act.verb} {act.thing}s" for kind, act in ACTS.items()}


@attrs.frozen(kw_only=True)
class Turn:
    """One answer: its text, which may be empty if there are tool uses."""

    text: str
    uses: tuple[Use, ...] = ()


@attrs.define(kw_only=True)
class _Heard:
    """What came in since the last answer."""

    now: datetime | None = None
    zone: str = ""
    owner: list[str] = attrs.field(factory=list)
    outside: list[str] = attrs.field(factory=list)
    results: list[Json] = attrs.field(factory=list)
    came_to: list[str] = attrs.field(factory=list)
    """What came of acts that the owner said yes to, told as it is: no tool use stands before it."""


def turn(request: Json) -> Turn:
    """The answer to a request whose messages are well-formed."""
    messages: list[Json] = request["messages"]
    if any(str(tool.get("type", "")).startswith("web_search_") for tool in request.get("tools") or []):
        return Turn(text=CANNOT_SEARCH)
    if _text_of(messages[-1]).startswith(SUM_UP):
        return Turn(text=_summary(messages))
    tools = {tool["name"]: tool for tool in request.get("tools") or [] if "input_schema" in tool}
    last = max((i for i, message in enumerate(messages) if message["role"] == "assistant"), default=-1)
    heard = _heard(messages[last + 1 :])
    texts: list[str] = []
    uses: list[Use] = []
    now, pending = _pending(messages) if heard.results else (None, [])
    for block in heard.results:
        reported = report(block, messages, pending, now)
        if isinstance(reported, Wish):
            reported = _carried_out(reported, tools)
        if isinstance(reported, str):
            texts.append(reported)
        elif reported.name in tools:
            uses.append(reported)
    answering = ASKED_BY_AGENT in str(request.get("system", ""))
    for text in heard.outside:
        if answering and not text.startswith(AGENT):
            continue  # what the two said to each other earlier
        asked = _asked_by_agent(text, tools, heard) if answering else None
        passed = pass_on(text, tools) if asked is None else asked
        if isinstance(passed, str):
            texts.append(passed)
        else:
            uses.append(passed)
    texts += [came_to(text) for text in heard.came_to]
    waiting_for, which = _waiting_for(messages[last]) if last >= 0 else ("", "")
    for text in heard.owner:
        wish = understand(text[:UNDERSTOOD_CHARACTERS], heard.now, waiting_for=waiting_for, which=which)
        done = _of_the_last(wish, messages, tools, heard) if wish.kind in ABOUT_THE_LAST else _do(wish, tools, heard)
        if isinstance(done, Use):
            uses.append(done)
        else:
            texts.append(done)
    if not texts and not uses:
        texts = [_hello(tools)]
    if not uses:
        texts.append(SIGNATURE)
    return Turn(text="\n\n".join(texts), uses=tuple(uses))


def _asked_by_agent(text: str, tools: dict[str, Json], heard: _Heard) -> Use | None:
    """What another agent asks for, if it is something that the notes may hold: looking changes nothing."""
    wish = understand(unframed(text)[:UNDERSTOOD_CHARACTERS], heard.now)
    if not text.startswith(AGENT) or wish.kind != "recall" or TOOL_FOR["recall"] not in tools:
        return None
    return Use(name=TOOL_FOR["recall"], arguments=filled(tools[TOOL_FOR["recall"]], wish.parts))


def blocks_of(message: Json) -> list[Json]:
    """A message's content as blocks."""
    content = message["content"]
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def _text_of(message: Json) -> str:
    return "\n".join(block.get("text", "") for block in blocks_of(message)).strip()


def _summary(messages: list[Json]) -> str:
    """What was said, a line each, the newest of it as far as there is room."""
    lines: list[str] = []
    for at, message in enumerate(messages[:-1]):
        text = _text_of(message)
        if SUMMED_UP in text:
            lines = [line for line in text.partition(SUMMED_UP)[2].splitlines() if line.startswith("- ")]
        elif message["role"] == "user":
            lines += [f"- You: {short(said, LINE_CHARACTERS)}" for said in _said_at(messages, at)]
        elif said := text.removesuffix(SIGNATURE).strip():
            lines.append(f"- I: {short(said, LINE_CHARACTERS)}")
    room = SUMMARY_CHARACTERS
    kept = [line for line in reversed(lines) if (room := room - len(line)) > 0]
    return "\n".join([SUMMED_UP, *reversed(kept)])


def _heard(messages: list[Json]) -> _Heard:
    heard = _Heard()
    for at, message in enumerate(messages):
        if at and _carries_out(messages[at - 1]):
            heard.came_to.append(_text_of(message))
            continue
        for block in blocks_of(message):
            text = block.get("text", "").strip()
            if SUMMED_UP in text and text.startswith(OUTSIDE):  # what stands above it was heard before
                heard = _Heard()
            elif block["type"] == "tool_result":
                heard.results.append(block)
            elif match := TIME_LINE.match(text):
                heard.now, heard.zone = _time(match), match[3]
            elif text.startswith(OUTSIDE):
                if unframed(text):  # else it only says what follows
                    heard.outside.append(text)
            elif text and text != FRESH_LINE:
                heard.owner.append(text)
    return heard


def _said_at(messages: list[Json], at: int) -> list[str]:
    """What the owner said in one of the messages."""
    return [] if at and _carries_out(messages[at - 1]) else _heard([messages[at]]).owner


def _carries_out(message: Json) -> bool:
    """Whether it says that a yes is carried out. What that came to is all of the next message."""
    texts = (block.get("text", "").strip() for block in blocks_of(message))
    return any(text.startswith(OUTSIDE) and carries_out(text) for text in texts)


def _time(match: re.Match[str]) -> datetime | None:
    try:
        return datetime.fromisoformat(f"{match[1]}T{match[2]}")
    except ValueError:
        return None


def _waiting_for(message: Json) -> tuple[str, str]:
    """What the last answer asked a time for, and the wish of which it asked what it is about; empty if it did not."""
    texts = " ".join(block.get("text", "") for block in blocks_of(message))
    when, which = ASKED_WHEN.search(texts), ASKED_WHICH.search(texts)
    wishes = (kind for kind, act in ACTS.items() if which and (act.thing, act.verb) == (which[1], which[2]))
    return when[1] if when else "", next(wishes, "")


def _pending(messages: list[Json]) -> tuple[datetime | None, list[Wish]]:
    """What the owner asked for last, and the time when he did: what comes back from tools is for that."""
    for at in range(len(messages) - 1, -1, -1):
        if messages[at]["role"] == "user" and (owner := _said_at(messages, at)):
            now, which = _heard([messages[at]]).now, _waiting_for(messages[at - 1])[1] if at else ""
            return now, [understand(said[:UNDERSTOOD_CHARACTERS], now, which=which) for said in owner]
    return None, []


def _of_the_last(wish: Wish, messages: list[Json], tools: dict[str, Json], heard: _Heard) -> str | Use:
    """What a wish comes to that is about what was done last."""
    meant = undone(messages) if wish.kind == "undo" else corrected(wish.parts["text"], messages, heard.now)
    if isinstance(meant, str):
        return meant
    return _carried_out(meant, tools) if meant.kind in ACTS else _use(meant, tools, heard)


def _carried_out(wish: Wish, tools: dict[str, Json]) -> str | Use:
    """A wish by the tool of its own name, now that it is known what it is about."""
    if wish.kind not in tools:
        return f"I see that you want me to {CANNOT_YET[wish.kind]}, but that isn't there yet."
    return Use(name=wish.kind, arguments=filled(tools[wish.kind], wish.parts))


def _do(wish: Wish, tools: dict[str, Json], heard: _Heard) -> str | Use:
    match wish.kind:
        case "hello":
            return _hello(tools)
        case "thanks":
            return "You're welcome."
        case "bye":
            return "See you."
        case "never_mind":
            return "All right."
        case "help":
            return _help(tools)
        case "count":
            return ", ".join(str(number) for number in range(1, int(wish.parts["count"]) + 1)) + "."
        case "story":
            return _story()
        case "remind_when":
            return f"When shall I remind you? It is about: “{wish.parts['text']}”"
        case "schedule_what":
            return f"And what shall I do {wish.parts['words']}? Say it in one sentence, please."
        case "unknown":
            return f"I don't understand that. {_help(tools)}"
    return _use(wish, tools, heard)


def _use(wish: Wish, tools: dict[str, Json], heard: _Heard) -> str | Use:
    name, parts = TOOL_FOR[wish.kind], dict(wish.parts)
    if wish.kind == "remind" and "rule" in parts and not _repeats(tools.get(name)) and "make_job" in tools:
        name, parts["task"] = "make_job", f"Remind me: {parts['text']}"
    if wish.kind == "ask_agent" and name not in tools:
        return (
            f"{parts['agent']} isn't there yet. “/agents add {parts['agent']} …” makes it, with its job for the dots."
        )
    if name not in tools:
        return f"I see that you want me to {CANNOT_YET[wish.kind]}, but that isn't there yet."
    return Use(name=name, arguments=filled(tools[name], parts | {"zone": heard.zone}))


def _repeats(tool: Json | None) -> bool:
    properties = (tool or {}).get("input_schema", {}).get("properties", {})
    said = (f"{name} {field.get('description', '')}" for name, field in properties.items())
    return any(re.search("repeat|rule|every|cron|schedule|recur", text) for text in said)


def _hello(tools: dict[str, Json]) -> str:
    return f"Hello. {_help(tools)}"


def _help(tools: dict[str, Json]) -> str:
    known = [example for name, example in EXAMPLES.items() if name in tools]
    tries = [*known, "“Count to 300.”"]
    return "I'm the practice model: rules, not an AI, so I know only a few things. Try:\n" + "\n".join(
        f"- {example}" for example in tries
    )


def _story() -> str:
    """A long text, so that streaming and stopping can be tried. The same each time."""
    who = ("a baker", "a clockmaker", "two sisters", "an old fox", "a lighthouse keeper", "a very small dragon")
    where = ("by the sea", "under the old bridge", "at the edge of the town", "in a house with nine doors")
    what = (
        "found a letter",
        "heard a bell",
        "lost a key",
        "counted the stars",
        "baked too much bread",
        "met a traveller",
    )
    then = ("Nobody had expected that.", "The wind turned.", "And so the day went on.", "Some say it rained.")
    told = []
    for n in range(1, 41):
        hero, place, deed, hearer = who[n % 6], where[n % 4], what[n * 5 % 6], who[(n + 2) % 6]
        told.append(f"In the {n}. year, {hero} {place} {deed} and told {hearer} of it. {then[n % 4]}")
    return short(
        "This is a long story, so that you can try to stop me. " + " ".join(told) + " The end.", STORY_CHARACTERS
    )
