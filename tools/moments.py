"""Times as people say them: "in 20m", "9:30", "tomorrow 9:00", "friday 18:00", "5 jan 2027 8:00", "2027-01-05 08:00".

One rule: a time is resolved or refused, never guessed. What is not plain in it (a "9:30" said in the evening, an hour
that clocks skip) is said back as a note, and a past time is refused with its nearest future reading.
"""

import calendar
import re
from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

import attrs

from .zones import BadTime, comes_twice, exists, instant_of, said, span, wall_of

WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
EXAMPLES = "“in 20m”, “9:30”, “tomorrow 9:00”, “friday 18:00”, “2027-01-05 08:00”"
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_YEARS_AHEAD = 100


@attrs.frozen(kw_only=True)
class Moment:
    """An instant that somebody meant, in UTC and whole seconds, and what is worth saying of how it was understood."""

    at: datetime
    note: str = ""


_INSTANT = re.compile(r"(\d{4}-\d\d-\d\d)[t ](\d\d:\d\d(?::\d\d)?) ?(z|[+-]\d\d:?\d\d)")
_FILLERS = re.compile(r"(?:^|(?<= ))(?:at|on|the|of|o'?clock|this|coming)(?= |$)|,")
_CLOCK = r"(?:\d{1,2}:\d\d(?::\d\d)?(?: ?[ap]\.?m\.?)?|\d{1,2} ?[ap]\.?m\.?|noon)"
_DAY_AND_CLOCK = re.compile(rf"(?:(?P<day>.+?) )?(?P<clock>{_CLOCK})(?: (?P<day_after>.+))?")


def read_moment(text: str, zone: ZoneInfo, now: datetime) -> Moment:
    """The instant that a text means, said at `now` in the zone. Raises BadTime."""
    plain = " ".join(text.lower().split())
    if match := _INSTANT.fullmatch(plain):
        at = _iso(text, f"{match[1]}T{match[2]}{match[3].upper()}")
        return _judged(text, wall_of(at, zone), zone, now, at=at)
    if plain.startswith("in "):
        return _later(text, plain[3:], zone, now)
    words = " ".join(_FILLERS.sub(" ", re.sub(r"(?<=\d)t(?=\d)", " ", plain)).split())
    match = _DAY_AND_CLOCK.fullmatch(words)
    if match is None or (match["day"] and match["day_after"]):
        raise _no_clock(text, words, wall_of(now, zone))
    clock = read_clock(match["clock"])
    return _on_day(text, match["day"] or match["day_after"], clock, zone, now)


def read_clock(text: str) -> time:
    """The time of day that "9:30", "9pm" or "noon" means. Raises BadTime."""
    text = text.strip().lower()
    if text == "noon":
        return time(12)
    match = re.fullmatch(r"(\d{1,2})(?::(\d\d))?(?::(\d\d))?(?: ?([ap])\.?m\.?)?", text)
    if match is None or not (match[2] or match[4]):
        raise BadTime(f"“{text}” is not a time of day; say for instance 9:30, 21:30 or 9pm.")
    hour, minute, second = int(match[1]), int(match[2] or 0), int(match[3] or 0)
    if match[4] and 1 <= hour <= 12:
        hour = hour % 12 + (12 if match[4] == "p" else 0)
    elif match[4]:
        hour = 99
    if hour > 23 or minute > 59 or second > 59:
        raise BadTime(f"There is no {text}: a day goes from 0:00 to 23:59.")
    return time(hour, minute, second)


def _no_clock(text: str, words: str, wall: datetime) -> BadTime:
    if _day(words, wall) is not None:
        return BadTime(f"“{text[:100]}” names no time of day; say for instance “{words} 9:00”.")
    if match := re.search(r"(?:^| )(\d{1,2})(?: |$)", words):
        return BadTime(f"“{text[:100]}”: is {match[1]} morning or evening? Say for instance 9:00, 21:00 or 9pm.")
    return BadTime(f"“{text[:100]}” can't be read as a time. What can: {EXAMPLES}.")


# -- a day and a time of day


def _on_day(text: str, day_words: str | None, clock: time, zone: ZoneInfo, now: datetime) -> Moment:
    wall = wall_of(now, zone)
    if day_words is None:
        today = datetime.combine(wall.date(), clock)
        if instant_of(today, zone) > now:
            return _judged(text, today, zone, now)
        note = f"{clock:%H:%M} has passed today, so this is tomorrow."
        return _judged(text, today + timedelta(days=1), zone, now, note=note)
    day = _day(day_words, datetime.combine(wall.date(), clock), now=wall)
    if day is None:
        raise BadTime(f"“{day_words[:60]}” can't be read as a day. What can: {EXAMPLES}.")
    return _judged(text, datetime.combine(day, clock), zone, now)


def _day(words: str, moment: datetime, now: datetime | None = None) -> date | None:
    """The day that words mean; `moment` is today at the time of day that goes with them. Raises BadTime."""
    today, passed = moment.date(), now is not None and moment <= now
    if words in ("today", "tonight", "tomorrow", "day after tomorrow", "yesterday"):
        return today + timedelta(days=(words == "tomorrow") + 2 * words.startswith("day") - (words == "yesterday"))
    if match := re.fullmatch(r"(next )?((?:mon|tue|wed|thu|fri|sat|sun)[a-z]*)", words):
        number = next((i for i, name in enumerate(WEEKDAYS) if match[2] in (name, name[:3], name[:4])), None)
        if number is None:
            return None
        ahead = (number - today.weekday()) % 7
        if match[1]:
            near, far = (today + timedelta(days=(ahead or 7) + more) for more in (0, 7))
            raise BadTime(f"“{words}” may mean {near} or {far}: say the date, or “{match[2]}” for the next one.")
        return today + timedelta(days=7 if ahead == 0 and passed else ahead)
    if re.fullmatch(r"\d{4}-\d\d-\d\d", words):
        return _iso(words, words).date()
    return _named_date(words, today, passed=passed)


def _named_date(words: str, today: date, *, passed: bool) -> date | None:
    """ "5 jan", "jan 5th 2027": without a year, the next such day."""
    match = re.fullmatch(r"(\d{1,2})(?:st|nd|rd|th|\.)? ([a-z]{3,9})\.?(?: (\d{4}))?", words)
    day, month, year = (match[1], match[2], match[3]) if match else (None, None, None)
    if match is None and (match := re.fullmatch(r"([a-z]{3,9})\.? (\d{1,2})(?:st|nd|rd|th)?(?: (\d{4}))?", words)):
        month, day, year = match[1], match[2], match[3]
    if day is None or month is None or month[:3] not in _MONTHS:
        return None
    number = _MONTHS.index(month[:3]) + 1
    for candidate in [int(year)] if year else range(today.year, today.year + 9):
        if int(day) <= calendar.monthrange(candidate, number)[1] and int(day) > 0:
            found = date(candidate, number, int(day))
            if year or found > today or (found == today and not passed):
                return found
    raise BadTime(f"There is no {words}.")


def _iso(text: str, iso: str) -> datetime:
    try:
        return datetime.fromisoformat(iso)
    except ValueError as error:
        raise BadTime(f"There is no {text[:60]}: {error}.") from None


# -- so long from now

_UNITS = {
    "s": "seconds", "sec": "seconds", "second": "seconds", "m": "minutes", "min": "minutes", "minute": "minutes",
    "h": "hours", "hr": "hours", "hour": "hours", "d": "days", "day": "days", "w": "weeks", "week": "weeks",
    "mo": "months", "month": "months", "y": "years", "yr": "years", "year": "years",
}  # fmt: skip
_ONE_TO_TWENTY = (
    "one two three four five six seven eight nine ten "
    "eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen twenty"
)
NUMBERS = {word: number for number, word in enumerate(_ONE_TO_TWENTY.split(), 1)} | {
    "a": 1, "an": 1, "thirty": 30, "forty": 40, "forty-five": 45, "fifty": 50, "sixty": 60, "ninety": 90,
}  # fmt: skip
"""Numbers that are said as words of how long from now."""
_AMOUNT = re.compile(rf"(\d{{1,6}}|(?:{'|'.join(NUMBERS)})(?= )) ?([a-z]+?)s?(?: and|,)?(?= |$|\d)")


def _later(text: str, words: str, zone: ZoneInfo, now: datetime) -> Moment:
    """Days and longer are counted on the calendar, so that the time of day stays; hours and shorter are exact."""
    words, clock = words.removeprefix("about "), None
    if match := re.fullmatch(rf"(.+?)(?: at)? ({_CLOCK})", words):
        words, clock = match[1], read_clock(match[2])
    amounts: dict[str, int] = {}
    left = "30 min" if words == "half an hour" else words
    while match := _AMOUNT.match(left):
        unit = _UNITS.get(match[2])
        if unit is None or unit in amounts:
            break
        amounts[unit] = NUMBERS.get(match[1]) or int(match[1])
        left = left[match.end() :].strip()
    if left or not amounts or (clock and amounts.keys() & {"seconds", "minutes", "hours"}):
        raise BadTime(f"“{text[:100]}” can't be read as a time from now. What can: “in 20m”, “in 1h 30m”, “in 3 days”.")
    exact = timedelta(**{unit: amounts.pop(unit, 0) for unit in ("hours", "minutes", "seconds")})
    note, wall = "", wall_of(now, zone)
    if amounts:
        wall, note = _on_the_calendar(wall, amounts)
        wall = wall if clock is None else datetime.combine(wall.date(), clock)
        return _judged(text, wall_of(instant_of(wall, zone) + exact, zone), zone, now, note=note)
    at = now + exact
    return _judged(text, wall_of(at, zone), zone, now, at=at)


def _on_the_calendar(wall: datetime, amounts: dict[str, int]) -> tuple[datetime, str]:
    years, month = divmod(wall.year * 12 + wall.month - 1 + amounts.get("years", 0) * 12 + amounts.get("months", 0), 12)
    if years > wall.year + _YEARS_AHEAD or amounts.get("days", 0) + 7 * amounts.get("weeks", 0) > 366 * _YEARS_AHEAD:
        raise BadTime(f"That is more than {_YEARS_AHEAD} years away.")
    last = calendar.monthrange(years, month + 1)[1]
    moved = wall.replace(year=years, month=month + 1, day=min(wall.day, last))
    note = f"That month has {last} days, so this is its last." if wall.day > last else ""
    return moved + timedelta(days=amounts.get("days", 0), weeks=amounts.get("weeks", 0)), note


# -- the verdict


def _judged(
    text: str, wall: datetime, zone: ZoneInfo, now: datetime, *, at: datetime | None = None, note: str = ""
) -> Moment:
    """The moment of a wall time (or of the instant that it stands for), if it lies ahead. Raises BadTime."""
    instant = (at or instant_of(wall, zone)).astimezone(UTC)
    if instant <= now:
        raise BadTime(_past(text, wall, instant, zone, now))
    if wall.year > wall_of(now, zone).year + _YEARS_AHEAD:
        raise BadTime(f"“{text[:100]}” is more than {_YEARS_AHEAD} years away.")
    notes = [note] if note else []
    if at is None and not exists(wall, zone):
        notes.append(f"Clocks skip {wall:%H:%M} on that day; it comes up right after.")
    if at is None and comes_twice(wall, zone):
        notes.append(f"Clocks show {wall:%H:%M} twice on that day; this is the first time.")
    return Moment(at=instant.replace(microsecond=0), note=" ".join(notes))


def _past(text: str, wall: datetime, at: datetime, zone: ZoneInfo, now: datetime) -> str:
    """Why a past time is refused, and what it may have been meant for."""
    today = wall_of(now, zone).date()
    if wall.date() >= today - timedelta(days=1):
        days = (datetime.combine(today + timedelta(days=n), wall.time()) for n in range(3))
    else:
        years = range(today.year, today.year + 9)
        days = (wall.replace(year=y) for y in years if wall.day <= calendar.monthrange(y, wall.month)[1])
    near = next(day for day in days if instant_of(day, zone) > now)
    return (
        f"“{text[:100]}” is past: that was {said(at, zone)}, {span((now - at).total_seconds())} ago. "
        f"The nearest future reading is {said(instant_of(near, zone), zone)}: for that, say “{near:%Y-%m-%d %H:%M}”."
    )
