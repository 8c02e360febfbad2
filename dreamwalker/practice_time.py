"""Times and schedules in plain English, for the practice model.

One rule: a time is local wall time and always in the future; what cannot be read is None, never a guess at random.
"""

import re
from collections.abc import Callable
from datetime import date, datetime, timedelta

import attrs

from tools.moments import NUMBERS as SAID_NUMBERS

_UNITS = "minutes?|mins?|hours?|hrs?|days?|weeks?|months?"
_FROM_NOW = rf"seconds?|secs?|{_UNITS}"
NUMBERS = SAID_NUMBERS | {"half": 30, "couple": 2, "few": 3}
_N = rf"(\d+|{'|'.join(NUMBERS)})"
WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_WEEKDAY = r"(mon|tues|wednes|thurs|fri|satur|sun)day"
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTH = rf"({'|'.join(_MONTHS)})[a-z]*\.?"
_DAY = r"(\d{1,2})(?:st|nd|rd|th)?"
DAY_PARTS = {"morning": 8, "noon": 12, "midday": 12, "lunchtime": 12, "afternoon": 15, "evening": 19, "night": 21}
_PART = "|".join(DAY_PARTS)
DEFAULT_HOUR = 9


@attrs.frozen(kw_only=True)
class When:
    """A moment in local wall time, and the text without the words for it."""

    at: datetime
    rest: str
    dated: bool = False
    """Whether a day was said, or how long from now."""
    later: str = ""
    """How long from now, as the tools read it, if that was said: `at` knows no seconds."""

    @property
    def words(self) -> str:
        """The moment as the tools read it."""
        return self.later or f"{self.at:%Y-%m-%d %H:%M}"


@attrs.frozen(kw_only=True)
class Schedule:
    """A rule (five-field cron, or an RRULE where cron has none), the words for it, and the text without them."""

    rule: str
    words: str
    rest: str


@attrs.frozen(kw_only=True)
class Clock:
    """A time of day."""

    hour: int
    minute: int
    sure: bool
    """Whether morning or afternoon was said, or follows from the number."""
    spans: tuple[tuple[int, int], ...]


def find_when(text: str, now: datetime) -> When | None:
    """The time that a text speaks of, seen from `now` (naive, local); None if it speaks of none."""
    if match := _search(
        rf"\bin (?:about )?(?:an? |the next )?{_N} ?(?:of )?(an hour|{_FROM_NOW})(?: from now)?\b", text
    ):
        later, rest = _later(now, match[1], match[2]), _without(text, [match.span()])
        clock = read_clock(rest) if match[2].lower()[0] in "dw" or match[2].lower().startswith("mo") else None
        if clock is None:
            return When(at=later, rest=rest, dated=True, later=_said_later(match[1], match[2]))
        return When(at=_moment(later.date(), clock, now), rest=_without(rest, [*clock.spans]), dated=True)
    day, spans = None, []
    for pattern, read in _DATES:
        if match := _search(pattern, text):
            day = read(match, now.date())
            if day is not None:
                spans.append(match.span())
                break
    clock = read_clock(text)
    if clock is None and day is None:
        return None
    if clock is not None:
        spans.extend(clock.spans)
    return When(at=_moment(day, clock, now), rest=_without(text, spans), dated=day is not None)


def find_schedule(text: str) -> Schedule | None:
    """The repetition that a text speaks of; None if it speaks of none."""
    for pattern, rule in _REPEATS:
        if match := _search(pattern, text):
            rest = text[: match.start()] + " " * (match.end() - match.start()) + text[match.end() :]
            clock = read_clock(rest)
            part = _search(rf"\b({_PART})s?\b", match[0])
            hour = clock.hour if clock else DAY_PARTS[part[1].lower()] if part else DEFAULT_HOUR
            if clock and not clock.sure and part and DAY_PARTS[part[1].lower()] >= 12 and hour < 12:
                hour += 12
            spans = [match.span(), *(clock.spans if clock else ())]
            words = " ".join(text[start:end].strip() for start, end in sorted(spans))
            minute = clock.minute if clock else 0
            return Schedule(rule=rule(match, hour, minute), words=words, rest=_without(text, spans))
    return None


def _search(pattern: str, text: str) -> re.Match[str] | None:
    return re.search(pattern, text, re.IGNORECASE)


def _number(word: str) -> int:
    return int(word) if word.isdigit() else NUMBERS[word.lower()]


def _later(now: datetime, count: str, unit: str) -> datetime:
    unit = unit.lower()
    if count.lower() == "half":
        return now + timedelta(minutes=30)
    number = min(_number(count), 10_000)
    if unit.startswith("mo"):
        return _months_later(now, number)
    days = {"m": 1 / 1440, "h": 1 / 24, "a": 1 / 24, "d": 1, "w": 7, "s": 1 / 86_400}[unit[0]]
    return now + timedelta(days=number * days)


def _said_later(count: str, unit: str) -> str:
    if count.lower() == "half":
        return "in 30 minutes"
    return f"in {min(_number(count), 10_000)} {unit.lower().removeprefix('an ')}"


def _months_later(now: datetime, months: int) -> datetime:
    year, month = divmod(now.month - 1 + months, 12)
    for day in range(now.day, 27, -1):
        try:
            return now.replace(year=now.year + year, month=month + 1, day=day)
        except ValueError:
            continue
    return now.replace(year=now.year + year, month=month + 1, day=min(now.day, 28))


def read_clock(text: str) -> Clock | None:
    """The time of day that a text speaks of; None if it speaks of none."""
    for pattern, read in _CLOCKS:
        if match := _search(pattern, text):
            found = read(match)
            if found is not None and found[0] < 24 and found[1] < 60:
                clock = Clock(hour=found[0], minute=found[1], sure=found[2], spans=(match.span(),))
                return clock if clock.sure else _with_part(clock, text)
    return None


def _with_part(clock: Clock, text: str) -> Clock:
    """A doubtful hour made sure by a part of the day that stands elsewhere ("at 7 … in the evening")."""
    part = _search(r"\b(?:in the |this )?(morning|afternoon|evening|tonight|night)\b", text)
    if part is None:
        return clock
    hour = clock.hour if part[1].lower() == "morning" or clock.hour >= 12 else clock.hour + 12
    return Clock(hour=hour, minute=clock.minute, sure=True, spans=(*clock.spans, part.span()))


def _half_day(hour: int, minute: int, half: str | None) -> tuple[int, int, bool]:
    """Twelve-hour time made whole. A number above twelve, or zero, is sure without a word."""
    half = (half or "").lower().replace(".", "")
    if half in ("pm", "afternoon", "evening", "night") and hour < 12:
        return hour + 12, minute, True
    if half in ("am", "morning"):
        return hour % 12, minute, True
    return hour, minute, hour == 0 or hour > 12


_HALF = r"(?:\s*(am|pm|a\.m\.|p\.m\.)(?![a-z])|\s+(?:in the (morning|afternoon|evening)|at (night)))"
_CLOCKS: tuple[tuple[str, Callable[[re.Match[str]], tuple[int, int, bool] | None]], ...] = (
    (
        rf"(?:\b(?:at|by|around|from) )?\b(\d{{1,2}})[:.h](\d{{2}})(?![\d.])(?: ?o'clock)?{_HALF}?",
        lambda m: _half_day(int(m[1]), int(m[2]), m[3] or m[4] or m[5]),
    ),
    (
        rf"(?:\b(?:at|by|around) )?\b(\d{{1,2}}){_HALF}",
        lambda m: _half_day(int(m[1]), 0, m[2] or m[3] or m[4]),
    ),
    (
        rf"(?:\b(?:at|by|around) )?\bhalf past {_N}{_HALF}?",
        lambda m: _half_day(_number(m[1]), 30, m[2] or m[3] or m[4]),
    ),
    (
        rf"(?:\b(?:at|by|around) )?\bquarter past {_N}{_HALF}?",
        lambda m: _half_day(_number(m[1]), 15, m[2] or m[3] or m[4]),
    ),
    (
        rf"(?:\b(?:at|by|around) )?\bquarter to {_N}{_HALF}?",
        lambda m: _half_day((_number(m[1]) - 1) % 24, 45, m[2] or m[3] or m[4]),
    ),
    (r"(?:\b(?:at|by|around) )?\b(?:noon|midday|lunchtime)\b", lambda m: (12, 0, True)),
    (r"(?:\b(?:at|by|around) )?\bmidnight\b", lambda m: (0, 0, True)),
    (
        rf"\b(?:at|by|around) {_N}(?: ?o'?clock)?{_HALF}?(?![\w:/-]|\.\d)",
        lambda m: _half_day(_number(m[1]), 0, m[2] or m[3] or m[4]),
    ),
    (rf"\b{_N} ?o'?clock{_HALF}?", lambda m: _half_day(_number(m[1]), 0, m[2] or m[3] or m[4])),
    (
        rf"\b(?:in|at|during|this|tomorrow|tonight)?(?: the)? ?\b({_PART})\b",
        lambda m: (DAY_PARTS[m[1].lower()], 0, True),
    ),
    (r"\btonight\b", lambda m: (20, 0, True)),
)


def _weekday(word: str) -> int:
    return next(i for i, name in enumerate(WEEKDAYS) if name.startswith(word.lower()[:3]))


def _next_weekday(today: date, word: str, *, next: bool) -> date:
    """The coming one, never today; "next" is the one of the week after only if it is less than three days away."""
    ahead = (_weekday(word) - today.weekday() - 1) % 7 + 1
    return today + timedelta(days=ahead + 7 if next and ahead < 3 else ahead)


def _next_date(today: date, month: int, day: int, year: str | None) -> date | None:
    for candidate in [int(year)] if year else range(today.year, today.year + 9):
        try:
            found = date(candidate, month, day)
        except ValueError:
            continue
        if year or found >= today:
            return found
    return None


def _next_day_of_month(today: date, day: int) -> date | None:
    for months in range(13):
        year, month = divmod(today.month - 1 + months, 12)
        try:
            found = date(today.year + year, month + 1, day)
        except ValueError:
            continue
        if found > today:
            return found
    return None


def _month(word: str) -> int:
    return _MONTHS.index(word.lower()[:3]) + 1


def _iso(match: re.Match[str], today: date) -> date | None:
    try:
        return date.fromisoformat(match[1])
    except ValueError:
        return None


_DATES: tuple[tuple[str, Callable[[re.Match[str], date], date | None]], ...] = (
    (r"(?:\bon )?\b(\d{4}-\d{2}-\d{2})\b", _iso),
    (r"\b(?:the )?day after tomorrow\b", lambda m, today: today + timedelta(days=2)),
    (r"\btomorrow\b", lambda m, today: today + timedelta(days=1)),
    (r"\b(?:today|tonight|later today)\b", lambda m, today: today),
    (
        rf"(?:\bon )?(?:the )?\b{_DAY}(?: of)? {_MONTH}(?:,? (\d{{4}}))?\b",
        lambda m, today: _next_date(today, _month(m[2]), int(m[1]), m[3]),
    ),
    (
        rf"(?:\bon )?\b{_MONTH} (?:the )?{_DAY}\b(?:,? (\d{{4}}))?",
        lambda m, today: _next_date(today, _month(m[1]), int(m[2]), m[3]),
    ),
    (
        rf"\b(?:on |this |coming )*(next )?\b{_WEEKDAY}\b(?!'s)",
        lambda m, today: _next_weekday(today, m[2], next=bool(m[1])),
    ),
    (r"\bon the (\d{1,2})(?:st|nd|rd|th)\b", lambda m, today: _next_day_of_month(today, int(m[1]))),
    (r"\bnext week\b", lambda m, today: today + timedelta(days=7)),
    (r"\bnext month\b", lambda m, today: _months_later(datetime(today.year, today.month, today.day), 1).date()),
    (
        r"\b(?:at|on|over|this)? ?(?:the )?weekend\b",
        lambda m, today: today + timedelta(days=(5 - today.weekday() - 1) % 7 + 1),
    ),
)


def _moment(day: date | None, clock: Clock | None, now: datetime) -> datetime:
    if clock is None:
        moment = datetime(day.year, day.month, day.day, DEFAULT_HOUR) if day else now
        return moment if moment > now else now + timedelta(hours=1)
    on = day or now.date()
    moment = datetime(on.year, on.month, on.day, clock.hour, clock.minute)
    if not clock.sure and clock.hour < 12 and (moment <= now if day in (None, now.date()) else clock.hour < 7):
        moment += timedelta(hours=12)
    if moment <= now and day is not None and clock.sure and clock.hour >= 20:
        return now + timedelta(hours=1)  # "tonight", said late
    if moment <= now and day in (None, now.date()):
        moment = datetime(now.year, now.month, now.day, clock.hour, clock.minute) + timedelta(days=1)
    return moment


def _without(text: str, spans: list[tuple[int, int]]) -> str:
    """The text without these stretches of it, which may overlap, tidied."""
    for start, end in spans:
        text = text[:start] + "\0" * (end - start) + text[end:]
    return " ".join(text.replace("\0", " ").split()).strip(" ,;:.-")


def _every(match: re.Match[str], hour: int, minute: int) -> str:
    count, unit = _number(match[1]), match[2].lower()
    if unit.startswith("min"):
        return f"*/{min(count, 59)} * * * *"
    if unit.startswith("h"):
        return f"0 */{min(count, 23)} * * *"
    if unit.startswith("d"):
        return f"{minute} {hour} */{min(count, 31)} * *"
    kind = "WEEKLY" if unit.startswith("w") else "MONTHLY"
    return f"FREQ={kind};INTERVAL={count};BYHOUR={hour};BYMINUTE={minute}"


def _weekdays(match: re.Match[str], hour: int, minute: int) -> str:
    days = [(_weekday(word) + 1) % 7 for word in re.findall(_WEEKDAY, match[0], re.IGNORECASE)]
    return f"{minute} {hour} * * {','.join(str(day) for day in dict.fromkeys(days))}"


def _monthly(match: re.Match[str], hour: int, minute: int) -> str:
    day = _search(r"\d+", match[0])
    return f"{minute} {hour} {min(int(day[0]), 31) if day else 1} * *"


_LIST = rf"{_WEEKDAY}s?(?:(?:, | and |, and | & ){_WEEKDAY}s?)*"
_REPEATS: tuple[tuple[str, Callable[[re.Match[str], int, int], str]], ...] = (
    (r"\b(?:every|each) (?:half(?: an)? hour)\b", lambda m, hour, minute: "*/30 * * * *"),
    (rf"\b(?:every|each) {_N} ({_UNITS})\b", _every),
    (r"\b(?:every|each) minute\b", lambda m, hour, minute: "* * * * *"),
    (r"\b(?:(?:every|each) hour|hourly|once an hour)\b", lambda m, hour, minute: "0 * * * *"),
    (r"\b(?:every|each) (?:other|second) day\b", lambda m, hour, minute: f"{minute} {hour} */2 * *"),
    (
        r"\b(?:every|each) (?:other|second) week\b",
        lambda m, hour, minute: f"FREQ=WEEKLY;INTERVAL=2;BYHOUR={hour};BYMINUTE={minute}",
    ),
    (
        r"\b(?:(?:every|each) (?:weekday|work(?:ing )?day)|(?:on )?(?:weekdays|work(?:ing )?days))\b",
        lambda m, hour, minute: f"{minute} {hour} * * 1-5",
    ),
    (r"\b(?:(?:every|each) weekend|(?:on |at )?weekends)\b", lambda m, hour, minute: f"{minute} {hour} * * 6,0"),
    (rf"\b(?:every|each) (?:week )?(?:on )?{_LIST}\b(?: (?:{_PART})s?)?", _weekdays),
    (rf"\b(?:weekly|every week|each week|once a week) on {_LIST}\b", _weekdays),
    (r"\bon (?:{_DAYS}(?:, | and )?)+".replace("{_DAYS}", _WEEKDAY + "s"), _weekdays),
    (r"\b(?:every|each) week\b|\bweekly\b|\bonce a week\b", lambda m, hour, minute: f"{minute} {hour} * * 1"),
    (r"\bon the \d{1,2}(?:st|nd|rd|th)? of (?:every|each) month\b", _monthly),
    (r"\b(?:(?:every|each) month|monthly|once a month)(?: on the \d{1,2}(?:st|nd|rd|th)?)?", _monthly),
    (
        rf"\b(?:every|each) year on (?:the )?{_DAY}(?: of)? {_MONTH}",
        lambda m, hour, minute: f"{minute} {hour} {int(m[1])} {_month(m[2])} *",
    ),
    (r"\b(?:every|each) year\b|\byearly\b|\bannually\b", lambda m, hour, minute: f"{minute} {hour} 1 1 *"),
    (
        rf"\b(?:every|each) (?:single )?(?:day|{_PART})s?\b|\bdaily\b|\bonce a day\b|\bday after day\b",
        lambda m, hour, minute: f"{minute} {hour} * * *",
    ),
)
