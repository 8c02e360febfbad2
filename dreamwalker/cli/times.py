"""Times as the owner reads them.

One rule: they are told in his own zone, which the server knows; where this machine keeps other time, each says so.
"""

from datetime import datetime
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import attrs


@attrs.frozen
class Times:
    """Tells times of the server, given in ISO 8601. `zone` None: this machine's."""

    zone: ZoneInfo | None

    @classmethod
    def of(cls, zone: str) -> "Times":
        """For the zone of that name; for this machine's if this machine does not know it."""
        try:
            return cls(ZoneInfo(zone))
        except (ZoneInfoNotFoundError, ValueError, OSError):
            return cls(None)

    def is_in(self, zone: str) -> bool:
        """Whether a zone is the owner's."""
        return self.zone is not None and self.zone.key == zone

    def when(self, iso: str | None) -> str:
        """Day and time; "" for none."""
        if iso is None:
            return ""
        at = datetime.fromisoformat(iso).astimezone(self.zone)
        return f"{at:%Y-%m-%d %H:%M}{_named(at)}"

    def day(self, iso: str | None) -> str:
        """With the weekday too, as it is wanted of what is still to come."""
        return "" if iso is None else f"{datetime.fromisoformat(iso).astimezone(self.zone):%a} {self.when(iso)}"

    def clock(self, iso: str) -> str:
        """The same, without the day if that is today."""
        at = datetime.fromisoformat(iso).astimezone(self.zone)
        today = at.date() == datetime.now(self.zone).astimezone(self.zone).date()
        return f"{at:%H:%M}{_named(at)}" if today else self.when(iso)


def _named(at: datetime) -> str:
    """The name of a time's zone, such as CET, if a clock of this machine shows another time then."""
    return "" if at.utcoffset() == at.astimezone().utcoffset() else f" {at:%Z}"
