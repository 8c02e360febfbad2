"""Times are told in the owner's zone, which is named where this machine keeps another."""

import os
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from dreamwalker.cli.times import Times
from tests.cli.conftest import Machine

NOON = "2026-11-30T12:00:00Z"


@contextmanager
def machine_in(zone: str) -> Iterator[None]:
    """This process keeps the time of a zone, as the machine would."""
    before = os.environ.get("TZ")
    os.environ["TZ"] = zone
    time.tzset()
    try:
        yield
    finally:
        os.environ.pop("TZ") if before is None else os.environ.update(TZ=before)
        time.tzset()


@pytest.mark.parametrize(
    ("machine", "owner", "says"),
    [
        ("UTC", "Europe/Vienna", "2026-11-30 13:00 CET"),
        ("Europe/Berlin", "Europe/Vienna", "2026-11-30 13:00"),
        ("Europe/Vienna", "Asia/Tokyo", "2026-11-30 21:00 JST"),
        ("UTC", "America/Sao_Paulo", "2026-11-30 09:00 -03"),
        ("UTC", "Nowhere/Known", "2026-11-30 12:00"),
    ],
)
def test_a_time_is_told_in_the_owners_zone(machine: str, owner: str, says: str) -> None:
    with machine_in(machine):
        assert Times.of(owner).when(NOON) == says


def test_no_time_is_nothing_and_another_day_is_said() -> None:
    times = Times.of("Europe/Vienna")
    assert times.when(None) == "" and times.clock("2020-01-01T12:00:00Z").startswith("2020-01-01 13:00")


def test_what_the_command_prints_is_in_the_owners_zone_not_in_the_machines(practiced: Machine) -> None:
    assert practiced.call("ask", "remember that it is late").exit_code == 0
    assert practiced.call("settings", "zone", "America/Sao_Paulo").exit_code == 0
    for noun in ("runs", "notes"):
        assert re.search(r"\d\d:\d\d -03 ", practiced.call(noun).stdout)
    assert practiced.call("settings", "zone", "Europe/Vienna").exit_code == 0
    assert re.search(r"\d\d:\d\d  ", practiced.run("notes").stdout)
