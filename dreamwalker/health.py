"""What a server can tell of its own health: its database, lease, schema, clock, zone data and model.

One rule: a look costs nothing and changes nothing, and what is wrong comes with what to do about it.
"""

from collections.abc import Iterator
from datetime import datetime
from typing import Literal

import attrs

from storage import migrate
from storage.health import ReadVitals, Vitals
from tools.model import ModelError

from .database import MIGRATIONS
from .house import House
from .system import System

State = Literal["ok", "hint", "wrong"]

_CLOCK_SECONDS = 5.0
"""By so much the clocks of server and database may differ: what is due comes up late, or early, by that."""
_LATE_SECONDS = 300.0
_ZONE_DATA_YEARS = 2
_PRACTICE = "Set ANTHROPIC_API_KEY to talk with Claude."


@attrs.frozen
class Finding:
    """What one look found: `advice` says what to do about it, if anything is to be done."""

    subject: str
    state: State
    says: str
    advice: str = ""


async def examine(system: System, house: House) -> tuple[Finding, ...]:
    """Look at everything that only the server can see. Raises StorageError."""
    vitals, now = await house.store.ask(ReadVitals()), system.clock.now()
    known = [migration.name for migration in migrate.read_migrations(MIGRATIONS)]
    return (*_of(vitals, now, known), await _model(system))


def _of(vitals: Vitals, now: datetime, known: list[str]) -> Iterator[Finding]:
    yield Finding("database", "ok", f"Postgres {vitals.version}, {vitals.size_bytes / 1e6:,.1f} MB")
    yield Finding("lease", "ok", f"this server may write; {max(vitals.lease_seconds, 0):.0f} s are left of it")
    yield _schema(vitals, known)
    yield _clock((now - vitals.at).total_seconds())
    yield _zone_data(now)
    if vitals.due_at is not None and (late := (now - vitals.due_at).total_seconds()) > _LATE_SECONDS:
        advice = "If it was asleep: have something ask POST /api/wake every few minutes."
        yield Finding("schedule", "wrong", f"something has been due for {late / 60:.0f} minutes", advice)


def _schema(vitals: Vitals, known: list[str]) -> Finding:
    if lacking := sorted(set(known) - set(vitals.migrations)):
        return Finding("migrations", "wrong", f"the database lacks {lacking[0]}", "dreamwalker migrate")
    if newer := sorted(set(vitals.migrations) - set(known)):
        says = f"a newer version made {newer[0]}, which this one doesn't know"
        return Finding("migrations", "hint", says, "Run the newer version, unless this is how you go back from it.")
    return Finding("migrations", "ok", f"all {len(known)} are there, the newest is {known[-1]}")


def _clock(ahead_seconds: float) -> Finding:
    if abs(ahead_seconds) <= _CLOCK_SECONDS:
        return Finding("clock", "ok", "server and database tell the same time")
    which = "ahead of" if ahead_seconds > 0 else "behind"
    says = f"the server's clock is {abs(ahead_seconds):,.0f} s {which} the database's"
    return Finding("clock", "wrong", says, "Have both set by NTP: reminders come up by the server's.")


def _zone_data(now: datetime) -> Finding:
    from tools.zones import ZONE_DATA

    year = int(ZONE_DATA.partition(".")[0])
    if now.year - year >= _ZONE_DATA_YEARS:
        says = f"of {ZONE_DATA}: zones may have changed their rules since"
        return Finding("zone data", "hint", says, "pip install --upgrade tzdata")
    return Finding("zone data", "ok", f"of {ZONE_DATA}")


async def _model(system: System) -> Finding:
    """Whether the model would answer, which is asked without paying for an answer."""
    if system.practice:
        return Finding("model", "hint", "the practice model answers: rules, not an AI", _PRACTICE)
    try:
        await system.look_at_model()
    except ModelError as error:
        return Finding(
            "model", "wrong", f"{system.config.model}: {system.redactor.text(str(error))}", _ADVICE[error.kind]
        )
    return Finding("model", "ok", f"{system.config.model}; it answers, and accepts the key")


_AGAIN = "Look at https://status.anthropic.com, or whether ANTHROPIC_BASE_URL is right. Runs wait and try again."
_ADVICE = {
    "busy": "Runs wait and try again by themselves.",
    "failed": _AGAIN,
    "cut": _AGAIN,
    "silent": _AGAIN,
    "unreachable": "Is there a way to the internet? Is ANTHROPIC_BASE_URL right? Runs wait and try again.",
    "unauthorized": "Correct ANTHROPIC_API_KEY. On the platform the next request brings a new key.",
    "refused": "Is ANTHROPIC_BASE_URL that of a Messages API?",
    "too_long": _AGAIN,
    "empty": _AGAIN,
}
