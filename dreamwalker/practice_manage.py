"""The practice model's rules for reminders and jobs that are there: cancelled, changed, paused, resumed.

One rule: what a sentence speaks of is found before anything is done with it; where two could be meant, it asks.
"""

import re
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

import attrs

from dreamwalker.practice_memory import Wish
from dreamwalker.practice_time import NUMBERS, find_schedule, find_when, read_clock
from dreamwalker.practice_words import content_words, find, phrases, without

Json = dict[str, Any]


@attrs.frozen(kw_only=True)
class Act:
    """Something that can be done with a thing that is there: how it is called, and which tool lists such things."""

    thing: str
    verb: str

    @property
    def lists(self) -> str:
        """The tool that lists what it can be done with."""
        return f"list_{self.thing}s"


ACTS = {
    "cancel_reminder": Act(thing="reminder", verb="cancel"),
    "change_reminder": Act(thing="reminder", verb="change"),
    "remove_job": Act(thing="job", verb="remove"),
    "change_job": Act(thing="job", verb="change"),
    "pause_job": Act(thing="job", verb="pause"),
    "resume_job": Act(thing="job", verb="resume"),
}
"""By wish; each is also the name of its tool."""

_CANCEL = (
    phrases(
        "(cancel|cancelling|delete|deleting|remove|removing|drop|scrap|erase|clear|abort|discard|undo|forget|dismiss|kill)",
        "(end|skip|gone|deleted|cancelled|removed|finished|get rid of|no more|throw away|throw out|take away|call off)",
        "(not|don't|doesn't|isn't|no) (need|want|needed|wanted|longer|necessary)",
        "(any more|anymore|obsolete|unnecessary|can go)$",
    )
    + r"|\b(?:take|throw|call)\b.*\b(?:off|away|out)\b"
)
_CHANGE = phrases(
    "(change|changing|move|moving|postpone|reschedule|shift|delay|update|adjust|edit|alter|push|set|put|make|bring)",
    "(snooze|switch|run|should be|instead|later|earlier|rather)",
)
_PAUSE = (
    phrases("(pause|pausing|suspend|halt|hold|stop|stopping|freeze|interrupt|rest|disable|mute|sleep|silence)")
    + "|"
    + phrases("(take a|a) break", "(not|don't) (run|do)", "for now")
    + r"|\b(?:turn|switch|put)\b.*\boff\b"
)
_RESUME = (
    phrases("(resume|resuming|continue|restart|unpause|reactivate|reenable|re-enable|enable|go on|carry on|wake up)")
    + "|"
    + phrases("(again|back on|once more)")
    + r"|\b(?:turn|switch|put)\b.*\bon\b(?! hold)"
)
_THINGS = {
    "reminder": r"reminders?|alarms?|alerts?",
    "job": r"jobs?(?! (?:interview|offer|market|application|search|cent|title|hunt|opening))|schedules?",
}
_A_NEW_ONE = r"\b(?:an?|another|new)\s+(?:\w+\s+){0,2}(?:reminder|alarm|alert|job|schedule)\b"
_THAT_ONE = r"\b(?:the|my|that|this|those|these|our|all|your)\s+(?:[\w'-]+\s+){0,3}?(?:%s)\b"
_ELSE = (
    r"^(?:do|does|did|is|are|was|were|have|has|what|which|when|where|who|how|why|list|show|tell|ask|remind|remember|note|"
    r"look|search|find|read|every|each|add|create|schedule|set up|send|get|give)\b(?! rid\b)"
)
"""How a sentence begins that asks for something else, whatever it speaks of."""
_NO_REMINDING = phrases(
    "(stop|quit|no need to|don't|do not|never|needn't) (reminding|remind|ping|pinging|nag|nagging|bother|bothering) me",
)
_WISHING = r"^(?:(?:i|we)(?:'d| would)? (?:like|want|need|have|wish)(?: you)? to|(?:no|sorry|actually)[,:])\s+"
_NUMBER = r"(?:#|number |no\.? ?)?(?P<id>\d{1,18})"
_THE_NUMBER = {thing: rf"\b(?:{nouns}) {_NUMBER}\b(?!\s*(?::\d|am\b|pm\b|o'clock))" for thing, nouns in _THINGS.items()}
_TO_A_TIME = (
    r"(?:\bfrom \S+ )?\b(?:to|until|till|for) (?=\d|noon|midnight|midday|half|quarter|"
    r"(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve)\b)"
)
_COUNTS = "|".join(sorted(NUMBERS, key=len, reverse=True))
_SHIFT = (
    rf"\b(?:by )?(?P<n>half an|\d+|{_COUNTS}) ?(?P<unit>minutes?|mins?|hours?|hrs?|days?|weeks?)\b"
    r" ?(?P<way>later|earlier|back|forward)?"
)
_FROM_NOW = r"\bin (?:about )?\S+ ?(?:an? )?(?:hours?|hrs?|minutes?|mins?|seconds?|secs?)\b"
_UNMEANT = frozenset(
    {"reminder", "reminders", "alarm", "alert", "job", "jobs", "schedule", "to", "one", "that", "later", "earlier"}
    | {"back", "forward", "again", "anymore", "more", "need", "longer", "hour", "minutes", "day", "week", "off", "hold"}
)


def manages(text: str, now: datetime | None) -> Wish | None:
    """Something to be done with a reminder or a job that is there."""
    text = re.sub(_WISHING, "", text, flags=re.IGNORECASE)
    if find(rf"^{_NO_REMINDING}", text) and not find(r"\bforget\b", text):
        return _wish("cancel_reminder", without(_NO_REMINDING, text))
    if find(_ELSE, text) or (find(_A_NEW_ONE, text) and not find(rf"^(?:{_CANCEL}|{_PAUSE})", text)):
        return None
    for thing in _THINGS:
        if _speaks_of(thing, text) and (kind := _kind(thing, text, now)) is not None:
            return _wish(kind, text)
    return None


def _speaks_of(thing: str, text: str) -> bool:
    """Whether a text speaks of one that is there, rather than of one that should be."""
    nouns = _THINGS[thing]
    begins = rf"^(?:{_CANCEL}|{_CHANGE}|{_PAUSE}|{_RESUME}).*\b(?:{nouns})\b"
    return any(find(pattern, text) for pattern in (_THE_NUMBER[thing], _THAT_ONE % nouns, begins))


def _kind(thing: str, text: str, now: datetime | None) -> str | None:
    """What is to become of a thing; None if that can't be told."""
    if thing == "reminder":
        timed = now is not None and find_when(re.sub(_TO_A_TIME, "at ", text, flags=re.IGNORECASE), now) is not None
        if find(rf"^(?:{_CHANGE})", text) or not find(rf"{_CANCEL}|{_PAUSE}", text):
            return "change_reminder" if timed or find(_CHANGE, text) or find_schedule(text) else None
        return "cancel_reminder"
    if find(_RESUME, text) and not find(rf"^(?:pause|stop|suspend|halt|{_CANCEL})", text):
        return "resume_job"
    if find(rf"^(?:{_PAUSE})", text) or (find(_PAUSE, text) and not find(_CANCEL, text)):
        return "pause_job"
    if find(_CANCEL, text):
        return "remove_job"
    return "change_job" if find(_CHANGE, text) else None


def _wish(kind: str, text: str) -> Wish:
    number = find(_THE_NUMBER[ACTS[kind].thing], text)
    return Wish(kind=kind, parts={"said": text} | ({"id": number["id"]} if number else {}))


def the_one(text: str, act: str) -> Wish:
    """What is said when it was asked which one is meant."""
    number = re.search(r"\d{1,18}", text)
    return Wish(kind=act, parts={"said": text} | ({"id": number[0]} if number else {}))


# -- the one that is meant

_LISTED = re.compile(r"^- (?P<thing>reminder|job) (?P<id>\d+)(?P<rest>.*(?:\n(?!- ).*)*)", re.MULTILINE)
_AT = re.compile(r"\b(\d{4}-\d{2}-\d{2} \d{2}:\d{2})")
_RULE = re.compile(r"By the rule (?P<rule>\S+ \S+ \S+ \S+ \S+) \(")
_MENTIONED = re.compile(r"\b(reminder|job) (\d+)\b")


def aimed(wish: Wish, listed: str, messages: Sequence[Json], now: datetime | None) -> Wish | str:
    """The wish with the number of what it is about, found in a list of what there is; or what is to be said."""
    act = ACTS[wish.kind]
    there = {found["id"]: found["rest"] for found in _LISTED.finditer(listed) if found["thing"] == act.thing}
    if not there:
        return f"There is no {act.thing} that I could {act.verb}."
    chosen = wish.parts.get("id") or _chosen(wish.parts["said"], there, act.thing, messages)
    if chosen is None:
        several = "\n".join(f"- {id}{_name(rest)}{_at(rest)}" for id, rest in there.items())
        return f"Which {act.thing} shall I {act.verb}? Say its number.\n{several}"
    if chosen not in there:
        return f"There is no {act.thing} {chosen}."
    if act.verb != "change":
        return Wish(kind=wish.kind, parts={"id": chosen})
    when = moved(wish.parts["said"], there[chosen], now)
    if when is None:
        return f"To when? Say for instance: “Change the {act.thing} {chosen} to 5 pm.”"
    return Wish(kind=wish.kind, parts={"id": chosen, "when": when})


def _chosen(said: str, there: dict[str, str], thing: str, messages: Sequence[Json]) -> str | None:
    """The one that was meant, None if that can't be told."""
    said = re.sub(r"^\w+ ", "", said)  # what is to be done
    stems = [word[:5].lower() for word in content_words(said) if word.lower() not in _UNMEANT and not word.isdigit()]
    hits = {id: sum(stem in _own_words(rest) for stem in stems) for id, rest in there.items()}
    best = [id for id, count in hits.items() if count == max(hits.values())]
    if len(best) == 1:
        return best[0]
    mentioned = [id for kind, id in _MENTIONED.findall(_newest_result(messages)) if kind == thing and id in best]
    alike = [id for id in best if mentioned and _own_words(there[id]) == _own_words(there[mentioned[-1]])]
    return mentioned[-1] if len(alike) == 1 else None


def _newest_result(messages: Sequence[Json]) -> str:
    """What the newest tool that made or changed something said, before the list that is looked at now."""
    for message in reversed(messages):
        for block in reversed(message["content"] if not isinstance(message["content"], str) else []):
            text = str(block.get("content", "")) if block["type"] == "tool_result" else ""
            if re.search(r"\b(?:Set|Made|Changed|Paused|Resumed): ", text):
                return text
    return ""


def _own_words(rest: str) -> str:
    """A listed thing's title and text, without when it comes up."""
    return f"{rest.partition('”')[0] if '“' in rest else ''} {_name(rest)}".lower()


def _name(rest: str) -> str:
    """A listed thing in few words: its own text stands in the last line."""
    return f": {rest.strip().splitlines()[-1].strip()}"


def _at(rest: str) -> str:
    """When a listed thing comes up, which tells it from another of the same text."""
    return f" ({found[1]})" if (found := _AT.search(rest)) else ""


def moved(said: str, listed: str, now: datetime | None) -> str | None:
    """The new time of a change, in the words of the tools: on the day it was, where only the hour is another."""
    if now is None:
        return None
    said, at = re.sub(_TO_A_TIME, "at ", said, flags=re.IGNORECASE), _AT.search(listed)
    if (schedule := find_schedule(said)) is not None:
        return schedule.rule
    was = datetime.fromisoformat(at[1]) if at else None
    if was is not None and (shift := find(_SHIFT, said)) is not None and (shift["way"] or find(r"\bby\b", said)):
        later = _span(shift["n"], shift["unit"])
        return f"{was - later if shift['way'] in ('earlier', 'forward') else was + later:%Y-%m-%d %H:%M}"
    clock, when = read_clock(said), find_when(said, now)
    if when is None:
        return None
    if clock is None and was is not None and not find(_FROM_NOW, said):
        return f"{when.at:%Y-%m-%d} {was:%H:%M}"
    if clock is None or was is None or when.dated:
        return when.words
    hour = clock.hour + 12 if not clock.sure and clock.hour < 12 <= was.hour else clock.hour
    if (rule := _RULE.search(listed)) is not None:
        return f"{clock.minute} {hour} {' '.join(rule['rule'].split()[2:])}"
    then = was.replace(hour=hour, minute=clock.minute)
    return f"{then if then > now else when.at:%Y-%m-%d %H:%M}"


def _span(number: str, unit: str) -> timedelta:
    count = 0.5 if number.lower() == "half an" else float(NUMBERS.get(number.lower(), number))
    return timedelta(minutes=count * {"m": 1, "h": 60, "d": 1440, "w": 10_080}[unit[0].lower()])
