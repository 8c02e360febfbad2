"""When something is to come up, as people and models say it: a moment, or a rule by which it repeats.

One rule: this is the only way from words to a schedule, and `described` the only way back, so that the tools, the API
and the command understand and say the same.
"""

import re
from datetime import datetime
from zoneinfo import ZoneInfo

import attrs

from .moments import EXAMPLES, WEEKDAYS, read_clock, read_moment
from .rules import Cron, Once, Rule, read_rule
from .schedule import SHOWN, Schedule, Slot
from .zones import BadTime, said, span

HELP = (
    f"once: {EXAMPLES}; repeating: “every day 9:00”, “weekdays 8:30”, “every monday and friday 18:00”, "
    "“every 2 hours”, a five-field cron rule (“0 9 * * 1-5”), or an RRULE "
    "(“FREQ=MONTHLY;BYDAY=-1FR;BYHOUR=18;BYMINUTE=0”)"
)
"""What can be said of when, for those who write it."""

_CHARACTERS = 500


@attrs.frozen(kw_only=True)
class Timing:
    """When something comes up, as it was understood: its schedule, its first slot, and what is worth saying of it."""

    schedule: Schedule
    first: Slot
    note: str = ""


def read_timing(text: str, zone: ZoneInfo, now: datetime) -> Timing:
    """What a text says of when, in local time of the zone. Raises BadTime."""
    if len(text) > _CHARACTERS:
        raise BadTime(f"That is too long for a time. What can be said: {HELP}.")
    plain, note = text.strip(' \t\n“”".,'), ""
    rule: Rule | None = read_rule(plain)
    if rule is None or isinstance(rule, Once):
        rule = _repeating(" ".join(plain.lower().split()))
    if rule is None:
        moment = read_moment(plain, zone, now)
        rule, note = Once(moment.at.astimezone(zone)), moment.note
    schedule = Schedule(rule=str(rule), zone=zone, since=now)
    first = schedule.next_after(now)
    if first is None:
        raise BadTime(f"By the rule {rule} nothing comes up any more.")
    return Timing(schedule=schedule, first=first, note=note)


_NAMED = "|".join(f"{name}s?|{name[:3]}" for name in WEEKDAYS)
_REPEATING = re.compile(
    r"(?P<every>every |each )?(?:on )?"
    rf"(?P<days>(?:days?|daily|weekdays?|weekends?|{_NAMED})(?:(?:, ?(?:and )?| and )(?:{_NAMED}))*)"
    r" (?:at )?(?P<clock>.+)"
)
_PLURALS = {"daily", "weekdays", "weekends", *(f"{name}s" for name in WEEKDAYS)}
_CRON_DAYS = {"day": "*", "daily": "*", "weekday": "1-5", "weekend": "6,0"}


def _repeating(text: str) -> Cron | None:
    """What repeats, like "every day 9:00" or "mondays 9:00", as a cron rule; None for the rest. Raises BadTime."""
    match = _REPEATING.fullmatch(text)
    if match is None:
        if text.startswith(("every ", "each ", "daily")):
            raise BadTime(f"“{text[:100]}” can't be read as a rule. What can: {HELP}.")
        return None
    days = re.split(r", ?and | and |, ?", match["days"])
    if not match["every"] and not _PLURALS.issuperset(days):
        return None
    clock = read_clock(match["clock"])
    on = _CRON_DAYS.get(days[0].removesuffix("s")) or ",".join(dict.fromkeys(_cron_day(day) for day in days))
    return Cron(f"{clock.minute} {clock.hour} * * {on}")


def _cron_day(name: str) -> str:
    return str(next(i + 1 for i, weekday in enumerate(WEEKDAYS) if weekday.startswith(name[:3])) % 7)


def described(schedule: Schedule, after: datetime, note: str = "", *, shown: int = SHOWN) -> str:
    """When it comes up after an instant, fit to be read out: the next slot, or of what repeats the next `shown`."""
    zone, slots = schedule.zone, schedule.upcoming(after, shown + 1)
    if not slots:
        return "It does not come up any more."
    text = f"{said(slots[0].at, zone)}, in {span((slots[0].at - after).total_seconds())}."
    if not isinstance(schedule.parsed, Once):
        text = f"By the rule {schedule.rule} ({zone.key}), next {text}"
        later = [f"{slot.at.astimezone(zone):%a %Y-%m-%d %H:%M}" for slot in slots[1:shown]]
        if later:
            text += f" Then {', '.join(later)}{' and so on' if len(slots) > shown else ', and no more'}."
    return f"{text} {note}".rstrip()
