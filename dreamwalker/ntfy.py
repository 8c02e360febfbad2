"""The phone by ntfy: publishes a notification, as JSON, to the owner's topic.

One rule: it only ever publishes. Nothing is read from the topic, no redirect is followed, what a server says in its
own words goes nowhere, and the topic stands in the body, so that no log of addresses shows it.
"""

import hashlib
import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any

import attrs
import trio

from dreamwalker.certificates import authorities
from storage.text import clean
from tools.phone import Notification, NotNow, Outcome, Refused, Shown

if TYPE_CHECKING:
    import httpx2

DEFAULT_URL = "https://ntfy.sh"
MESSAGE_BYTES = 4096
"""A longer message becomes an attachment."""
BODY_BYTES = 2 * MESSAGE_BYTES
"""The whole request as JSON."""
TITLE_BYTES = 1000
ACTIONS_MAX = 3
ANSWER_BYTES = 65_536
CONNECT_SECONDS = 10.0
RETRY_AFTER_SECONDS = 30 * 86_400
"""A server that asks for more is taken to ask for this."""

_TAGS = {"reminder": "alarm_clock", "report": "memo", "question": "question", "notice": "loudspeaker", "test": "wave"}

_PAGES = {"reminder": "reminders", "report": "jobs", "question": "questions"}
"""The page of the web app for each kind of thing; its number stands in the push's id."""

_REFUSALS = {
    400: "The ntfy server does not take it as it is (400).",
    401: "The ntfy server does not know the access token (401). Correct DREAMWALKER_NTFY_TOKEN.",
    403: "The ntfy server does not allow publishing to this topic (403). Check the topic and the access token.",
    404: "What answers at DREAMWALKER_NTFY_URL is not an ntfy server (404).",
    413: "The ntfy server finds it too large (413).",
}
_STRANGER = "What answers at DREAMWALKER_NTFY_URL is not an ntfy server."
_FAILURES = {
    408: "The ntfy server lost patience (408).",
    429: "The ntfy server has had enough of us for now (429).",
}


@attrs.frozen(kw_only=True)
class Topic:
    """Where to publish, and with which token. `public_url`: where this dreamwalker is reached from a phone; `app_url`:
    where its web app is, unless it is there too.
    """

    url: str
    name: str = attrs.field(repr=False)
    token: str | None = attrs.field(repr=False)
    public_url: str | None
    app_url: str | None = None


class Ntfy:
    """A Phone that is a topic of an ntfy server. Use as `async with Ntfy(…) as phone`."""

    def __init__(self, topic: Topic, *, seconds: float) -> None:
        self._topic, self._seconds = topic, seconds
        self._client: httpx2.AsyncClient | None = None
        self._building = trio.Lock()

    async def __aenter__(self) -> "Ntfy":
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._client is not None:
            with trio.CancelScope(shield=True):
                await self._client.aclose()

    @property
    def has_buttons(self) -> bool:
        """Whether a press can reach us."""
        return self._topic.public_url is not None

    async def show(self, it: Notification, now: datetime) -> Outcome:
        """Publish it once."""
        client = await self._connected()
        import httpx2

        with trio.move_on_after(self._seconds):
            try:
                return await self._publish(client, body_of(it, self._topic), now)
            except (httpx2.ConnectError, httpx2.ConnectTimeout):
                return NotNow(why="The ntfy server can't be reached.")
            except httpx2.TimeoutException:
                pass
            except httpx2.HTTPError:
                return NotNow(why="The ntfy server broke the connection off; it may have been shown.")
        return NotNow(why=f"The ntfy server did not answer within {self._seconds:g} s; it may have been shown.")

    async def _publish(self, client: "httpx2.AsyncClient", body: bytes, now: datetime) -> Outcome:
        headers = {"content-type": "application/json"}
        if self._topic.token is not None:
            headers["authorization"] = f"Bearer {self._topic.token}"
        async with client.stream("POST", self._topic.url, content=body, headers=headers) as answer:
            if not answer.is_success:
                return judge(answer.status_code, answer.headers, now)
            said = bytearray()
            with trio.CancelScope() as reading:  # cancelled rather than left, so that what is under the loop ends too
                async for chunk in answer.aiter_bytes():
                    said += chunk
                    if len(said) > ANSWER_BYTES:
                        reading.cancel()
        return (
            Shown() if _is_receipt(said) else NotNow(why="What answers at DREAMWALKER_NTFY_URL is not an ntfy server.")
        )

    async def _connected(self) -> "httpx2.AsyncClient":
        async with self._building:
            if self._client is None:
                self._client = await trio.to_thread.run_sync(self._build)
            return self._client

    def _build(self) -> "httpx2.AsyncClient":
        """In a thread: importing and reading certificates take their time."""
        import httpx2

        return httpx2.AsyncClient(
            timeout=httpx2.Timeout(self._seconds, connect=min(CONNECT_SECONDS, self._seconds)),
            follow_redirects=False,
            verify=authorities(),
            trust_env=False,
        )


def judge(status: int, headers: Mapping[str, str], now: datetime) -> Outcome:
    """What an answer that is no success means, and when to try again."""
    retry_at = _retry_at(headers.get("retry-after", ""), now)
    if status < 400:
        return NotNow(
            why=f"The ntfy server redirects, which is not followed ({status}). Correct DREAMWALKER_NTFY_URL.",
            retry_at=retry_at,
        )
    if status in _FAILURES or status >= 500:
        return NotNow(why=_FAILURES.get(status, f"The ntfy server failed ({status})."), retry_at=retry_at)
    return Refused(why=_REFUSALS.get(status, f"The ntfy server refuses it ({status})."))


def _retry_at(text: str, now: datetime) -> datetime | None:
    """The instant that a Retry-After header names, by seconds or by date; None if it names none."""
    text = text.strip()
    if text.isascii() and text.isdigit():
        return now + timedelta(seconds=min(int(text[:9]), RETRY_AFTER_SECONDS))
    try:
        at = parsedate_to_datetime(text)
    except (ValueError, OverflowError):
        return None
    at = at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)
    return min(at, now + timedelta(seconds=RETRY_AFTER_SECONDS))


def _is_receipt(said: bytes | bytearray) -> bool:
    """Whether an answer is a published message, rather than somebody's login page."""
    try:
        value = json.loads(said)
    except ValueError:
        return False
    return isinstance(value, dict) and isinstance(value.get("id"), str) and value.get("event") == "message"


def body_of(it: Notification, topic: Topic) -> bytes:
    """The request that publishes a notification, within ntfy's limits."""
    room = MESSAGE_BYTES
    while len(body := _json(it, topic, room)) > BODY_BYTES and room > 0:  # JSON escapes much of it
        room = room * BODY_BYTES // (len(body) + 1)
    return body


def _json(it: Notification, topic: Topic, room: int) -> bytes:
    opens = _opens(it, topic)
    message, whole = _cut(it.text, room, "\n… cut here" + (": “Open” shows the rest" if opens else ""))
    title, _ = _cut(" ".join(it.title.split()), TITLE_BYTES, "…")
    value: dict[str, Any] = {
        "topic": topic.name,
        "sequence_id": hashlib.sha256(it.id.encode()).hexdigest()[:32],
        "title": title,
        "message": message,
        "tags": [_TAGS.get(it.kind, "bell")],
    }
    if opens is not None:
        value |= {"click": opens, "actions": _actions(it, topic, opens, whole=whole)}
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def _opens(it: Notification, topic: Topic) -> str | None:
    """The page of the web app that shows what it is about."""
    app = topic.app_url or topic.public_url
    if app is None:
        return None
    _, _, number = it.id.partition(":")
    number = number.partition(":")[0]
    page = _PAGES.get(it.kind)
    return f"{app}/{page}/{number}" if page is not None and number.isascii() and number.isdigit() else app


def _actions(it: Notification, topic: Topic, opens: str, *, whole: bool) -> list[dict[str, Any]]:
    public_url = topic.public_url
    keys = [key for key in it.keys if whole or not key.whole][: ACTIONS_MAX - 1] if public_url is not None else []
    return [
        *(
            {
                "action": "http",
                "label": key.label,
                "url": f"{public_url}/api/buttons/{key.token}",
                "method": "POST",
                "clear": True,
            }
            for key in keys
        ),
        {"action": "view", "label": "Open", "url": opens, "clear": False},
    ]


def _cut(text: str, room: int, mark: str) -> tuple[str, bool]:
    """The text, or as much of its beginning as fits with the mark; and whether it is whole. Sizes are in bytes."""
    encoded = clean(text).encode()
    if len(encoded) <= room:
        return encoded.decode(), True
    kept = encoded[: room - len(mark.encode())].decode(errors="ignore")
    return kept.rstrip() + mark, False
