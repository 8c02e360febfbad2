"""What the server finds when it looks at itself. One rule: it answers also when something is wrong."""

import attrs

from dreamwalker import health

from .endpoint import Asked, Endpoint, Nothing, Shown


class Finding(Shown, frozen=True):
    """What one look found; `advice` says what to do about it."""

    subject: str
    state: health.State
    says: str
    advice: str


class Findings(Shown, frozen=True):
    """All that was looked at."""

    findings: tuple[Finding, ...]


async def examine(asked: Asked[Nothing, Nothing, Nothing]) -> Findings:
    found = await health.examine(asked.doors.system, await asked.house())
    return Findings(findings=tuple(Finding(**attrs.asdict(finding)) for finding in found))


ENDPOINTS = (
    Endpoint(
        method="GET",
        route="/api/doctor",
        says="Whether database, lease, migrations, clock, zone data and model are as they should be.",
        handle=examine,
        answer=Findings,
    ),
)
