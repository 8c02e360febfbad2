"""The ntfy client, over real HTTP against a scripted ntfy."""

import json
from datetime import UTC, datetime, timedelta

import attrs
import pytest

from dreamwalker.ntfy import MESSAGE_BYTES, TITLE_BYTES, Ntfy, Topic, body_of, judge
from tests.ntfy import Drop, Hang, Publish, Status, serve_ntfy
from tests.ntfy import Ntfy as ScriptedNtfy
from tests.ntfy.refusals import refuse
from tools.phone import Key, Notification, NotNow, Outcome, Refused, Shown

NOW = datetime(2026, 11, 29, 12, tzinfo=UTC)
PUBLIC = "https://dream.example"


def topic(url: str, *, public_url: str | None = PUBLIC) -> Topic:
    return Topic(url=url, name=ScriptedNtfy().topic, token=ScriptedNtfy().token, public_url=public_url)


def notification(text: str = "Call mum", **fields: object) -> Notification:
    return Notification(**{"id": "slot:1:x", "kind": "reminder", "title": "Reminder", "text": text} | fields)  # type: ignore[arg-type]


async def outcome_of(*replies: Publish | Status | Drop | Hang, seconds: float = 10.0) -> Outcome:
    async with serve_ntfy() as ntfy, Ntfy(topic(ntfy.url), seconds=seconds) as phone:
        ntfy.script(*replies)
        return await phone.show(notification(), NOW)


async def test_a_notification_is_published_as_json_with_the_access_token_to_the_topic_in_the_body() -> None:
    async with serve_ntfy() as ntfy, Ntfy(topic(ntfy.url), seconds=10) as phone:
        keys = (Key(label="Done", token="d" * 43), Key(label="Snooze 10 min", token="s" * 43))
        assert await phone.show(notification("Zahnärztin 🦷 الساعة", keys=keys), NOW) == Shown()
        came = ntfy.came[0]
        assert came.headers[":target"] == "POST /" and came.headers["authorization"] == f"Bearer {ntfy.token}"
        assert came.value is not None
        assert came.value["message"] == "Zahnärztin 🦷 الساعة" and came.value["topic"] == ntfy.topic
        assert came.value["click"] == f"{PUBLIC}/reminders/1" and came.buttons == ["Done", "Snooze 10 min", "Open"]
        done, _, opens = came.value["actions"]
        assert (done["method"], done["url"], done["clear"]) == ("POST", f"{PUBLIC}/api/buttons/{'d' * 43}", True)
        assert (opens["action"], opens["url"]) == ("view", f"{PUBLIC}/reminders/1")


def test_a_push_opens_the_page_of_what_it_is_about_where_the_app_is() -> None:
    there = attrs.evolve(topic("http://x"), app_url="https://app.example")
    for fields, page in (
        ({"id": "question:12", "kind": "question"}, "/questions/12"),
        ({"id": "slot:7:2026-11-29T13:20+01:00", "kind": "report"}, "/jobs/7"),
        ({"id": "test:abc", "kind": "test"}, ""),
        ({"id": "slot:../../x", "kind": "reminder"}, ""),
    ):
        value = json.loads(body_of(notification("x", keys=(Key(label="Done", token="t" * 43),), **fields), there))
        assert value["click"] == f"https://app.example{page}" == value["actions"][-1]["url"]
        assert value["actions"][0]["url"].startswith(f"{PUBLIC}/api/buttons/")


async def test_the_same_id_takes_the_place_of_what_is_shown() -> None:
    async with serve_ntfy() as ntfy, Ntfy(topic(ntfy.url), seconds=10) as phone:
        for text in ("one", "two"):
            await phone.show(notification(text), NOW)
        await phone.show(notification("three", id="slot:2:x"), NOW)
        assert [shown.value["message"] for shown in ntfy.screen.values() if shown.value] == ["two", "three"]


async def test_a_line_that_is_dropped_after_the_request_may_have_been_shown() -> None:
    outcome = await outcome_of(Drop())
    assert isinstance(outcome, NotNow) and "may have been shown" in outcome.why


async def test_a_server_that_hangs_is_left_in_time() -> None:
    outcome = await outcome_of(Hang(), seconds=0.3)
    assert isinstance(outcome, NotNow) and "did not answer within 0.3 s" in outcome.why


async def test_a_server_that_is_not_there_is_said_so() -> None:
    async with Ntfy(topic("http://127.0.0.1:1"), seconds=5) as phone:
        assert await phone.show(notification(), NOW) == NotNow(why="The ntfy server can't be reached.")


@pytest.mark.parametrize(
    ("status", "header", "retry_at"),
    [
        (500, None, None),
        (503, "20", NOW + timedelta(seconds=20)),
        (429, None, None),
        (429, "120", NOW + timedelta(seconds=120)),
        (429, "Sun, 29 Nov 2026 12:05:00 GMT", NOW + timedelta(minutes=5)),
        (429, "soon", None),
        (429, "9" * 30, NOW + timedelta(days=30)),
        (408, "-5", None),
        (302, None, None),
    ],
)
async def test_what_may_pass_is_tried_again_and_not_before_the_server_asks(
    status: int, header: str | None, retry_at: datetime | None
) -> None:
    headers = () if header is None else (("retry-after", header),)
    outcome = await outcome_of(Status(status, headers))
    assert isinstance(outcome, NotNow) and outcome.retry_at == retry_at
    assert str(status) in outcome.why and "words of the server" not in outcome.why


@pytest.mark.parametrize("status", [400, 401, 403, 404, 405, 410, 413, 422])
async def test_what_would_not_pass_is_refused_in_fixed_words(status: int) -> None:
    outcome = await outcome_of(Status(status))
    assert isinstance(outcome, Refused)
    assert str(status) in outcome.why and "words of the server" not in outcome.why


async def test_no_redirect_is_followed() -> None:
    async with serve_ntfy() as other, serve_ntfy() as ntfy, Ntfy(topic(ntfy.url), seconds=10) as phone:
        for status in (301, 302, 307, 308):
            ntfy.script(Status(status, (("location", other.url),)))
            outcome = await phone.show(notification(), NOW)
            assert isinstance(outcome, NotNow) and "redirects" in outcome.why
        assert other.came == []


@pytest.mark.parametrize("body", [b"<html>Please log in</html>", b"[]", b'{"id": 1}', b"", b"x" * 200_000])
async def test_a_login_page_is_not_taken_for_a_success(body: bytes) -> None:
    outcome = await outcome_of(Status(200, body=body))
    assert isinstance(outcome, NotNow) and "not an ntfy server" in outcome.why


@pytest.mark.parametrize(
    "text", ["x" * 10_000, "ü" * 5_000, "🦷" * 3_000, '"\n' * 4_000, "\\" * 4_096, "\x01" * 4_000, "word " * 819]
)
def test_what_is_too_long_is_cut_visibly_on_a_character_within_every_limit(text: str) -> None:
    keys = tuple(Key(label=label, token="t" * 43) for label in ("Done", "Snooze 10 min", "Another"))
    body = body_of(notification(text, title="ß" * 2_000 + "\nline", keys=keys), topic("http://x"))
    value = refuse(body)
    assert isinstance(value, dict), value
    assert len(value["message"].encode()) <= MESSAGE_BYTES and len(value["title"].encode()) <= TITLE_BYTES
    if value["message"] != text:
        kept = value["message"].removesuffix("\n… cut here: “Open” shows the rest")
        assert kept != value["message"] and text.startswith(kept) and len(kept.encode()) > 500
    assert [action["label"] for action in value["actions"]] == ["Done", "Snooze 10 min", "Open"]


def test_what_just_fits_is_whole() -> None:
    value = json.loads(body_of(notification("x" * MESSAGE_BYTES), topic("http://x")))
    assert value["message"] == "x" * MESSAGE_BYTES


def test_a_button_that_decides_about_the_text_is_left_out_when_it_is_cut() -> None:
    keys = (Key(label="Yes", token="y" * 43, whole=True), Key(label="No", token="n" * 43, whole=True))
    for text, labels in {"short": ["Yes", "No", "Open"], "x" * 5_000: ["Open"]}.items():
        value = json.loads(body_of(notification(text, kind="question", keys=keys), topic("http://x")))
        assert [action["label"] for action in value["actions"]] == labels


def test_without_an_address_of_our_own_there_are_no_buttons() -> None:
    value = json.loads(
        body_of(
            notification("x" * 5_000, keys=(Key(label="Done", token="t" * 43),)), topic("http://x", public_url=None)
        )
    )
    assert "actions" not in value and "click" not in value
    assert value["message"].endswith("\n… cut here")


def test_lone_surrogates_and_empty_titles_do_not_keep_it_from_being_sent() -> None:
    value = json.loads(body_of(notification("a\ud800b", title=""), topic("http://x")))
    assert value["message"] == "a�b" and value["title"] == ""


def test_secrets_do_not_show_in_what_is_printed_of_a_topic() -> None:
    shown = repr(topic("http://x")) + repr(Key(label="Done", token="secret-token"))
    assert ScriptedNtfy().topic not in shown and ScriptedNtfy().token not in shown and "secret-token" not in shown


def test_statuses_that_nobody_thought_of_have_words_too() -> None:
    assert judge(599, {}, NOW) == NotNow(why="The ntfy server failed (599).")
    assert judge(451, {}, NOW) == Refused(why="The ntfy server refuses it (451).")
