"""How the practice model reports what came back: results of tools, and text from outside.

One rule: what came back is quoted, cut to a fair length, and never looked at for something to do.
"""

import re
import shlex
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from dreamwalker.practice_manage import ACTS, aimed
from dreamwalker.practice_memory import Wish
from dreamwalker.practice_tools import Use
from dreamwalker.practice_words import content_words, short, tidy

Json = dict[str, Any]

QUOTED_CHARACTERS = 1500
LINES_SHOWN = 3
SEARCHES_MAX = 3
NOTHING = re.compile(r"^(?:no|nothing|none|not found|there (?:is|are) no|\(nothing\))\b", re.IGNORECASE)
WAITING = re.compile(r"still open|outcome will come|waits? for|waiting for|being asked|not decided", re.IGNORECASE)
DECLINED = re.compile(r"\bdeclined\b|said no\b|answered no\b|\brefused\b|\bexpired\b|not allowed", re.IGNORECASE)
FRAME = re.compile(r"⟦[^⟦⟧]*⟧")
NOTE_HEAD = re.compile(r"^“(.+)”, version \d+, [\d-]+:$")
SAID = re.compile(r"^(?P<at>\d{4}-\d{2}-\d{2} \d{2}:\d{2}), (?P<who>[^:]+): (?:\[\d{4}-[^\]\n]*\] )?(?P<text>.+)$")
SIGNATURE = "— practice model (rules, not an AI)"
CANNOT = "I can't do it myself, as I am only rules; a real model would set to work now."
CANNOT_FORGET = "I have no way to remove notes; you have: {}, or the note's page in the web app."
ADDRESS = re.compile(r"https?://\S+|\b(?:www\.)?(?:[a-z0-9-]+\.)+(?:com|org|net|io|at|de|dev|info)\b\S*", re.IGNORECASE)
QUERY_CHARACTERS = 300
CANNOT_SEARCH = (
    "I can't search the web: I am only rules, and have no search. With a key for a real model, this tool searches."
)
DUE = re.compile(r"^Due [^\n]*?\)(?:, so (?P<late>[^,\n]+) late[^\n]*)?:\n(?P<text>(?:.|\n)+)$")
"""A reminder as it comes up."""
OUTSIDE_KINDS = (
    (r"^The task of this", f"This is the task I was given: {{}}\n\n{CANNOT}"),
    (r"^The worker's answer", "The worker answers: {}"),
    (r"^Another agent's message", f"Another agent writes: {{}}\n\n{CANNOT}"),
    (r"^A job's report", "A job reports: {}"),
    (r"^A reminder that is due", "Your reminder is due: {}"),
)


def pass_on(text: str, tools: dict[str, Json]) -> str | Use:
    """What is said to text from outside that came as a message of its own. Only a worker's task is set to work on."""
    remark = text.lstrip("⟦")
    if remark.startswith("The task of this") and (use := _work(unframed(text), tools)) is not None:
        return use
    if (decided := outcome(unframed(text))) is not None:
        return decided
    if (due := DUE.match(unframed(text))) is not None:
        late = f" ({due['late']} late)" if due["late"] else ""
        return f"Your reminder is due: {quoted(due['text'])}{late}"
    words = next((words for pattern, words in OUTSIDE_KINDS if re.match(pattern, remark)), "From outside came this: {}")
    return words.replace("{}", quoted(unframed(text)))


def _work(task: str, tools: dict[str, Json]) -> Use | None:
    """How a worker sets about its task: it reads the page that it names, or else searches for all of it."""
    if (address := ADDRESS.search(task)) is not None and "fetch_url" in tools:
        url = address[0].rstrip('.,;:!?)"”')
        return Use(name="fetch_url", arguments={"url": url if "://" in url else f"https://{url}"})
    if "web_search" in tools:
        return Use(name="web_search", arguments={"query": short(task.strip(" .!?"), QUERY_CHARACTERS)})
    return None


def report(
    block: Json, messages: list[Json], pending: Sequence[Wish] = (), now: datetime | None = None
) -> str | Use | Wish:
    """What is said to a tool's result, or what is to be done next: another search, if this one found nothing, or what
    the owner asked for (`pending`) now that it is known of what.
    """
    name, arguments = _used(block.get("tool_use_id"), messages)
    texts = _texts(block)
    whole = "\n".join(unframed(text) for text in texts).strip()
    if block.get("is_error"):
        return f"That didn't work: {quoted(whole)}"
    if name == "delegate":
        return _answered(whole)
    if (decided := outcome(whole)) is not None:
        return decided
    if WAITING.search(whole):
        return f"That isn't decided yet: {quoted(whole)}"
    if DECLINED.search(whole) and len(whole) < 300:
        return f"That was not done: {quoted(whole)}"
    if DONE.match(whole):
        return DONE.sub(_done, short(whole, QUOTED_CHARACTERS))
    match name:
        case "write_note":
            return f"I've made a note: {quoted(str(arguments.get('text') or whole))}"
        case "search_notes" | "search_history":
            forget = name == "search_notes" and any(wish.kind == "forget" for wish in pending)
            return _found(name, arguments, texts, messages, forget=forget)
        case "list_notes" | "list_reminders" | "list_jobs":
            if wish := next((wish for wish in pending if wish.kind in ACTS and ACTS[wish.kind].lists == name), None):
                return aimed(wish, whole, messages, now)
            return whole if NOTHING.match(whole) else f"This is there:\n{short_lines(whole)}"
        case "read_note":
            return f"The note says: {quoted(_body(whole))}"
        case "set_reminder" | "make_job":
            return f"Done. {short(whole, QUOTED_CHARACTERS)}"
        case "message_agent":
            return short(whole, QUOTED_CHARACTERS) if arguments.get("mode") == "hand_off" else _answered_by(whole)
        case "fetch_url":
            return f"The page says: {quoted(whole)}"
        case "web_search":
            return f"The search found:\n{short_lines(whole)}"
        case "ask_owner":
            return f"You chose: {quoted(whole)}"
    return f"{name} says: {quoted(whole)}"


DONE = re.compile(r"^(Set|Made|Changed|Cancelled|Paused|Resumed|Removed): (reminder|job) (\d+)\.(?: It is \w+\.)?")
_DONE = {
    "Set": "I'll remind you. This is {thing} {id}:",
    "Made": "That is {thing} {id} now.",
    "Changed": "I've changed {thing} {id}.",
    "Resumed": "{Thing} {id} goes on.",
}


def _done(match: re.Match[str]) -> str:
    """What was done with a reminder or a job, before when it comes up."""
    said = _DONE.get(match[1], f"{{Thing}} {{id}} is {match[1].lower()}.")
    return said.format(thing=match[2], Thing=match[2].capitalize(), id=match[3])


OUTCOMES = (
    (r"The owner said yes to question (\d+)", "You said yes to question {}, so I do it."),
    (r"The owner said no to question (\d+)", "You said no to question {}, so nothing was done."),
    (r"The owner did not answer question (\d+)", "Question {} was not answered in time, so nothing was done."),
    (r"The owner answered question \d+: ((?:.|\n)*?)(?:\nIt was about: .*)?$", "You answered: “{}”"),
    (r"The owner gave no answer", "You gave no answer."),
    (
        r"Nothing was done: the owner said yes, but",
        "You said yes, but what it changes had changed: nothing was done.",
    ),
    (r"Nothing was done: a newer question", "A newer question has taken the place of that one, so nothing was done."),
)
"""What the house says of a question that is decided, and how it is passed on."""


def outcome(text: str) -> str | None:
    """What became of a question, to the owner who decided it; None if the text is about none."""
    for pattern, words in OUTCOMES:
        if match := re.match(pattern, text.strip()):
            return words.replace("{}", short(match[1], QUOTED_CHARACTERS) if match.groups() else "")
    return None


def carries_out(text: str) -> bool:
    """Whether a text from outside says that a yes is carried out, and that what it came to follows."""
    return re.match(r"The owner said yes to question \d+, and it is carried out", unframed(text).strip()) is not None


def came_to(text: str) -> str:
    """What an act came to that the owner had said yes to."""
    whole = unframed(text).strip()
    if DONE.match(whole):
        return DONE.sub(_done, short(whole, QUOTED_CHARACTERS))
    return f"It came to this: {quoted(whole)}"


def _answered(whole: str) -> str:
    if whole.startswith(("Still open", "Nothing was done")):
        return f"That isn't done yet: {quoted(whole)}"
    return f"The worker answers: {quoted(whole)}"


def _answered_by(whole: str) -> str:
    return f"That isn't done yet: {quoted(whole)}" if whole.startswith("Still open") else f"It answers: {quoted(whole)}"


def quoted(text: str) -> str:
    return f"“{short(text, QUOTED_CHARACTERS)}”"


def short_lines(text: str) -> str:
    return text if len(text) <= QUOTED_CHARACTERS else f"{text[:QUOTED_CHARACTERS]}\n…"


def unframed(text: str) -> str:
    """Text from outside without the house's remarks around it."""
    lines = (line for line in FRAME.sub("", text).splitlines() if line.strip() and line.strip() != SIGNATURE)
    return "\n".join(lines)


def _texts(block: Json) -> list[str]:
    content = block.get("content") or ""
    if isinstance(content, str):
        return [content]
    return [part["text"] for part in content if part.get("type") == "text"]


def _used(id: object, messages: list[Json]) -> tuple[str, Json]:
    for message in reversed(messages):
        if message["role"] == "assistant" and not isinstance(message["content"], str):
            for block in message["content"]:
                if block["type"] == "tool_use" and block["id"] == id:
                    return block["name"], block["input"]
    return "The tool", {}


def _found(name: str, arguments: Json, texts: list[str], messages: list[Json], *, forget: bool) -> str | Use:
    query = next((value for value in arguments.values() if isinstance(value, str)), "")
    lines = _lines(texts) if not NOTHING.match(texts[0].strip() if texts else "nothing") else []
    asked = _newest_question(messages)
    lines = [line for line in lines if tidy(line).strip(" ?!.").lower() not in asked]
    if lines:
        return _kept(texts) if forget else _answer(name, query, lines)
    first, tried = _searches(name, messages)
    if tried < SEARCHES_MAX and (wider := _wider(query)):
        return Use(name=name, arguments={key: wider if value == query else value for key, value in arguments.items()})
    if forget:
        return f"There is no note about “{first or query}”, so there is nothing to forget."
    if name == "search_notes":
        return f"I have no note about “{first or query}”, and apart from your notes I know nothing."
    return f"I find nothing that was said about “{first or query}”."


def _lines(texts: list[str]) -> list[str]:
    """What a search brought, line by line, each line of a note kept with it."""
    lines = []
    for text in texts:
        for line in unframed(text).splitlines():
            if not NOTE_HEAD.match(line.strip()):
                said = SAID.match(line.strip())
                lines.append(said["text"] if said else line.strip())
    return lines


def _answer(name: str, query: str, lines: list[str]) -> str:
    stems = [word[:5].lower() for word in query.split()]
    best = sorted(lines, key=lambda line: -sum(stem in line.lower() for stem in stems))[:LINES_SHOWN]
    shown = [line for line in best if any(stem in line.lower() for stem in stems)] or best[:1]
    lead = "In your notes it says" if name == "search_notes" else "Earlier it was said"
    return f"{lead}: " + ", ".join(quoted(line) for line in dict.fromkeys(shown))


def _kept(texts: list[str]) -> str:
    """Which notes hold what should be forgotten, and who can remove them."""
    heads = (NOTE_HEAD.match(line.strip()) for text in texts for line in unframed(text).splitlines())
    titles = list(dict.fromkeys(head[1] for head in heads if head))[:LINES_SHOWN]
    if not titles:
        return CANNOT_FORGET.format("it")
    named = ", ".join(f"“{title}”" for title in titles)
    command = f"dreamwalker notes rm {shlex.quote(titles[0])}"
    return f"That stands in {named}. {CANNOT_FORGET.format(command)}"


def _wider(query: str) -> str:
    """A search for fewer words: the two longest, then the longest, then its stem. Empty when there is none."""
    words = sorted(content_words(query) or query.split(), key=len, reverse=True)
    if len(words) > 2:
        return " ".join(words[:2])
    if len(words) == 2:
        return words[0]
    stem = re.sub(r"(?:ies|ing|ed|es|s)$", "", words[0]) if words else ""
    return stem if words and len(stem) > 2 and stem != words[0] else ""


def _searches(name: str, messages: list[Json]) -> tuple[str, int]:
    """The first query of this search, and how many there were since the owner spoke last."""
    queries: list[str] = []
    for message in reversed(messages):
        if message["role"] == "user" and isinstance(message["content"], str):
            break
        blocks = message["content"] if not isinstance(message["content"], str) else []
        if message["role"] == "user" and any(block["type"] == "text" for block in blocks):
            break
        queries += [
            str(next(iter(block["input"].values()), ""))
            for block in blocks
            if block["type"] == "tool_use" and block["name"] == name
        ]
    return (queries[-1] if queries else "", len(queries))


def _newest_question(messages: list[Json]) -> set[str]:
    """The owner's newest texts: a search of what was said finds the question itself too."""
    for message in reversed(messages):
        if message["role"] != "user":
            continue
        content = message["content"]
        texts = [content] if isinstance(content, str) else [b["text"] for b in content if b["type"] == "text"]
        if texts:
            return {tidy(text).strip(" ?!.").lower() for text in texts}
    return set()


def _body(text: str) -> str:
    head, _, rest = text.partition("\n")
    return rest if rest and NOTE_HEAD.match(head.strip()) else text
