"""A question as the owner reads it."""

from datetime import UTC, datetime
from typing import Any

from storage.records import Question
from storage.text import dumps
from tools.card import card
from tools.outside import Source
from tools.zones import zone_named

AT = datetime(2026, 11, 29, 12, 40, tzinfo=UTC)


def asked_about(*origins: str) -> Question:
    """A question to which texts from outside led, all of the same minute."""
    outside = [{"what": Source.WEB.told, "origin": origin, "at": AT.isoformat()} for origin in origins]
    fields: dict[str, Any] = dict.fromkeys(
        ("thing", "base_version", "answer", "closed_at", "started_at", "reminded_at")
    )
    return Question(
        id=1,
        agent="cook",
        conversation=2,
        run=3,
        turn=0,
        position=0,
        kind="choice",
        tool="ask_owner",
        act=dumps({"question": "Tea?", "options": ["Yes", "No"]}),
        act_hash="",
        label=1,
        why=dumps({"rule": "choice", "outside": outside, "more": 0}),
        reason="",
        state="open",
        asked_at=AT,
        expires_at=AT,
        no=1,
        **fields,
    )


def test_a_text_from_outside_that_led_to_it_again_and_again_is_named_once_with_how_often() -> None:
    shown = card(asked_about("tea.example", "milk.example", "tea.example", "tea.example"), zone_named("Europe/Vienna"))
    page = "- A page or a file from the web, from “{}”, Sunday 2026-11-29 13:40"
    assert shown.why.splitlines() == [
        "Text from outside is about:",
        f"{page.format('tea.example')}, 3 times",
        page.format("milk.example"),
    ]
