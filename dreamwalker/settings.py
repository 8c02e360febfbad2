"""The owner's settings: what they are, what they may hold, and what holds until he chooses.

One rule: a setting is a row, judged here when it is set and read from memory afterwards.
"""

from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import attrs

from tools.taint import Mode

NANO = 1_000_000_000
"""Nano-dollars in a dollar."""


class BadSetting(Exception):
    """A setting of that name does not exist, or can't hold that value. The message says what it may be."""


@attrs.frozen(kw_only=True)
class Chosen:
    """The owner's choices. Limits are in nano-dollars."""

    zone: ZoneInfo
    day_limit: int = 5 * NANO
    month_limit: int = 50 * NANO
    ask: Mode = Mode.SINCE_MESSAGE
    pushes: bool = True
    """Whether anything is pushed to the phone, if there is one."""
    snooze_minutes: int = 10
    """How long after its button is pressed a reminder comes up again."""

    keep_days: int = 0
    """For how many days is kept what `storage.retention` may let go of; 0: for ever."""

    def shown(self) -> dict[str, Any]:
        """As the API shows and takes them: limits in dollars."""
        return {
            "zone": self.zone.key,
            "day_limit_dollars": self.day_limit / NANO,
            "month_limit_dollars": self.month_limit / NANO,
            "ask": self.ask.value,
            "pushes": self.pushes,
            "snooze_minutes": self.snooze_minutes,
            "keep_days": self.keep_days,
        }


def judge(name: str, value: Any) -> Any:
    """The value as it is stored. Raises BadSetting."""
    match name:
        case "zone":
            try:
                if not isinstance(value, str):
                    raise ValueError
                ZoneInfo(value)
            except (ZoneInfoNotFoundError, ValueError, OSError):
                raise BadSetting(f"zone is a name of the IANA list, such as Europe/Vienna; not {value!r}") from None
            return value
        case "day_limit_dollars" | "month_limit_dollars":
            if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1_000_000:
                raise BadSetting(f"{name} is a number of dollars from 0 to 1,000,000; not {value!r}")
            return value
        case "ask":
            if value not in [mode.value for mode in Mode]:
                raise BadSetting(f'ask is "since-message" or "strict"; not {value!r}')
            return value
        case "pushes":
            if not isinstance(value, bool):
                raise BadSetting(f"pushes is true or false; not {value!r}")
            return value
        case "snooze_minutes":
            if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= 1440:
                raise BadSetting(f"snooze_minutes is a whole number of minutes from 1 to 1,440; not {value!r}")
            return value
        case "keep_days":
            if isinstance(value, bool) or not isinstance(value, int) or not (value == 0 or 7 <= value <= 36_500):
                raise BadSetting(f"keep_days is 0 (for ever) or a whole number of days from 7 to 36,500; not {value!r}")
            return value
    there = ", ".join(field.name for field in attrs.fields(Chosen)).replace("_limit", "_limit_dollars")
    raise BadSetting(f"there is no setting {name!r}; there are {there}")


def chosen(rows: dict[str, Any], zone: ZoneInfo) -> Chosen:
    """The choices that stored settings make; `zone` holds until he chooses one."""
    made = Chosen(zone=ZoneInfo(rows["zone"]) if "zone" in rows else zone)
    if "pushes" in rows:
        made = attrs.evolve(made, pushes=rows["pushes"])
    if "snooze_minutes" in rows:
        made = attrs.evolve(made, snooze_minutes=rows["snooze_minutes"])
    if "keep_days" in rows:
        made = attrs.evolve(made, keep_days=rows["keep_days"])
    if "day_limit_dollars" in rows:
        made = attrs.evolve(made, day_limit=round(rows["day_limit_dollars"] * NANO))
    if "month_limit_dollars" in rows:
        made = attrs.evolve(made, month_limit=round(rows["month_limit_dollars"] * NANO))
    if "ask" in rows:
        made = attrs.evolve(made, ask=Mode(rows["ask"]))
    return made
