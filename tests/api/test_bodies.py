"""Bodies: whatever the bytes are, the answer is in words, and the server goes on."""

import codecs
import json

import trio
from hypothesis import given
from hypothesis import strategies as st

from dreamwalker.api.body import convert, decode
from dreamwalker.api.errors import Refused
from dreamwalker.api.messages import NewMessage
from tests.messages_api import say
from tests.world import PATIENCE_SECONDS, TOKEN, world

MESSAGES = "/api/agents/dreamwalker/messages"


def body(**fields: object) -> bytes:
    return json.dumps({"request_id": "1", "text": "Hi", **fields}).encode()


NOT_JSON = {
    "empty": b"",
    "no JSON": b"{'text': 1}",
    "cut": body()[:-1],
    "more": body() + b"{}",
    "a key twice": b'{"request_id": "1", "text": "a", "text": "b"}',
    "a key twice inside": b'{"request_id": "1", "text": "a", "quotes": [{"text": "a", "text": "b"}]}',
    "a key that becomes another": b'{"request_id": "1", "text": "a", "\\ud800": 1, "\\ud801": 1}',
    "no number": b'{"request_id": "1", "text": "a", "seen": NaN}',
    "infinite": b'{"request_id": "1", "text": "a", "seen": -Infinity}',
    "a number too long": b'{"request_id": "1", "text": "a", "seen": ' + b"9" * 10_000 + b"}",
    "deep": b"[" * 10_000 + b"]" * 10_000,
    "deep objects": b'{"a":' * 10_000 + b"1" + b"}" * 10_000,
    "latin-1": '{"request_id": "1", "text": "é"}'.encode("latin-1"),
    "utf-16": body().decode().encode("utf-16"),
    "utf-32": body().decode().encode("utf-32"),
    "a byte order mark": codecs.BOM_UTF8 + body(),
    "surrogates in UTF-8": b'{"request_id": "1", "text": "\xed\xa0\x80"}',
    "a raw NUL": b'{"request_id": "1", "text": "\x00"}',
    "overlong": b'{"request_id": "1", "text": "\xc0\xaf"}',
}

NOT_FITTING = {
    "an unknown field": body(label=0),
    "an owner's claim": body(source="owner"),
    "an unstorable key": b'{"request_id": "1", "text": "a", "\\ud800": 1}',
    "no text": b'{"request_id": "1"}',
    "a list": b"[]",
    "null": b"null",
    "a number": b"1",
    "text that is a number": body(text=1),
    "a number that is text": body(seen="1"),
    "a number with a fraction": body(seen=1.5),
    "a negative number": body(seen=-1),
    "a number beyond the database": body(seen=2**63),
    "a huge number": body(seen=10**400),
    "a truth that is a number": body(interrupt=1),
    "a request id with white space": body(request_id="a b"),
    "a request id with a line end": body(request_id="a\n"),
    "an empty request id": body(request_id=""),
    "a long request id": body(request_id="x" * 201),
    "an unstorable request id": body(request_id="\ud800"),
    "an empty text": body(text=""),
    "a blank text": body(text=" \n\t\u00a0"),
    "an empty quote": body(quotes=[{"text": ""}]),
    "quotes that are text": body(quotes="abc"),
    "too many quotes": body(quotes=[{"text": "x"}] * 51),
    "half a character for a list": body(quotes="\ud800"),
    "half a character for a truth": body(interrupt="\ud800"),
    "half a character for a number": body(seen="\ud800"),
    "half a character for an object": body(quotes=["\ud800"]),
    "an unknown field of a quote": body(quotes=[{"text": "x", "label": 0}]),
}


async def test_what_is_not_json_in_utf_8_is_refused(database_url: str) -> None:
    async with world(database_url) as w:
        for what, sent in NOT_JSON.items():
            answer = await w.client.post(MESSAGES, content=sent)
            assert answer.status_code == 400, (what, answer.text)
            assert answer.json()["error"]["code"] == "bad_request", what
        assert w.system.state == "asleep"


async def test_what_does_not_fit_is_refused_with_the_place(database_url: str) -> None:
    async with world(database_url) as w:
        for what, sent in NOT_FITTING.items():
            answer = await w.client.post(MESSAGES, content=sent)
            assert answer.status_code == 422, (what, answer.text)
            assert answer.json()["error"]["code"] == "invalid", what
        answer = await w.client.post(MESSAGES, content=body(quotes=[{"text": 5}]))
        assert "`quotes[0].text` has to be a text" in answer.json()["error"]["message"]
        assert w.system.state == "asleep"


async def test_half_a_character_in_a_setting_is_refused(database_url: str) -> None:
    async with world(database_url) as w:
        for name in ("day_limit_dollars", "month_limit_dollars", "ask", "pushes", "snooze_minutes", "zone"):
            answer = await w.client.patch("/api/settings", content=json.dumps({name: "\ud800"}).encode())
            assert answer.status_code == 422, (name, answer.text)


@given(st.binary(max_size=200) | st.text(max_size=200).map(str.encode))
def test_no_bytes_are_more_than_refused(sent: bytes) -> None:
    try:
        convert(decode(sent), NewMessage)
    except Refused as refused:
        assert refused.status in (400, 422)


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(exclude_categories=())),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=20,
)
_NAMES = st.sampled_from(["request_id", "text", "quotes", "interrupt", "seen", "from", "\ud800", "\x00"])


@given(st.dictionaries(_NAMES, _JSON))
def test_no_json_is_more_than_refused(value: dict[str, object]) -> None:
    try:
        made = convert(decode(json.dumps(value).encode()), NewMessage)
    except Refused as refused:
        assert refused.status in (400, 422) and json.loads(bytes(refused.response.body))["error"]["message"]
    else:
        assert made.request_id.isascii() and 0 <= made.seen < 2**63


async def test_text_that_can_not_be_stored_is_replaced_visibly_and_is_the_same_message_again(
    database_url: str,
) -> None:
    sent = b'{"request_id": "1", "text": "a\\u0000b\\ud800c", "quotes": [{"from": "\\udfff", "text": "\\u0000"}]}'
    async with world(database_url, say("Ok.")) as w:
        for _ in range(2):
            answer = await w.client.post(MESSAGES, content=sent)
            assert answer.status_code == 202, answer.text
            message = answer.json()["message"]
            assert message["text"] == "a\ufffdb\ufffdc"
            assert message["quotes"] == [{"from": "\ufffd", "text": "\ufffd"}]
        await w.settled()
        assert "a\ufffdb\ufffdc" in json.dumps(w.api.asked[0], ensure_ascii=False)


async def test_a_pair_of_surrogates_is_one_character(database_url: str) -> None:
    async with world(database_url, say("Ok.")) as w:
        answer = await w.client.post(MESSAGES, content=b'{"request_id": "1", "text": "\\ud83d\\ude00"}')
        assert answer.json()["message"]["text"] == "😀"


async def test_a_megabyte_of_emoji_is_a_message(database_url: str) -> None:
    async with world(database_url, say("So many.")) as w:
        text = "😀" * 250_000
        message = await w.say(text)
        assert message["text"] == text


async def test_a_body_too_large_is_refused_with_the_limit_and_the_client_gets_to_read_it(database_url: str) -> None:
    async with world(database_url, message_bytes=100_000, request_bytes=1_000) as w:
        for size in (100_001, 3_000_000):
            answer = await w.client.post(MESSAGES, content=body().ljust(size))
            assert answer.status_code == 413 and "100,000" in answer.json()["error"]["message"]
        assert (await w.client.patch("/api/settings", content=b"{}".ljust(1_001))).status_code == 413
        assert (await w.client.post(MESSAGES, content=body().ljust(100_000))).status_code == 202


async def test_a_body_of_unknown_length_is_given_up_as_soon_as_it_is_too_large(database_url: str) -> None:
    sent_bytes = 0

    async with world(database_url, message_bytes=100_000) as w, await w.connect() as wire:
        head = f"POST {MESSAGES} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {TOKEN}\r\n"
        await wire.send_all(f"{head}Transfer-Encoding: chunked\r\n\r\n".encode())
        answered = b""

        async def listen() -> None:
            nonlocal answered
            answered = await wire.receive_some()

        with trio.fail_after(PATIENCE_SECONDS):
            async with trio.open_nursery() as nursery:
                nursery.start_soon(listen)
                while not answered and sent_bytes < 100_000_000:
                    try:
                        await wire.send_all(b"10000\r\n" + b" " * 65_536 + b"\r\n")
                    except trio.BrokenResourceError:
                        break
                    sent_bytes += 65_536
        assert answered.startswith(b"HTTP/1.1 413")
        assert sent_bytes < 40_000_000  # what is heard out, and what the sockets hold


async def test_a_stranger_who_sends_a_large_body_is_told_so_and_ties_nobody_up(database_url: str) -> None:
    async with world(database_url) as w:
        for _ in range(20):
            answer = await w.client.post(MESSAGES, content=b" " * 2_000_000, headers={"Authorization": "Bearer x"})
            assert answer.status_code == 401
        await w.get("/api/health")


async def test_a_client_that_waits_for_leave_to_send_its_body_gets_it(database_url: str) -> None:
    async with world(database_url, say("Ok.")) as w, await w.connect() as wire:
        sent = body()
        head = f"POST {MESSAGES} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {TOKEN}\r\n"
        await wire.send_all(f"{head}Content-Length: {len(sent)}\r\nExpect: 100-continue\r\n\r\n".encode())
        with trio.fail_after(PATIENCE_SECONDS):
            assert (await wire.receive_some()).startswith(b"HTTP/1.1 100")
            await wire.send_all(sent)
            assert (await wire.receive_some()).startswith(b"HTTP/1.1 202")


async def test_a_client_that_leaves_amid_its_body_leaves_no_trace(database_url: str) -> None:
    async with world(database_url) as w:
        async with await w.connect() as wire:
            head = f"POST {MESSAGES} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {TOKEN}\r\n"
            await wire.send_all(f"{head}Content-Length: 100\r\n\r\n".encode() + body())
        page = await w.get("/api/agents/dreamwalker/entries")
        assert page["messages"] == [] and page["entries"] == []


async def test_an_encoded_body_is_refused(database_url: str) -> None:
    async with world(database_url) as w:
        answer = await w.client.post(MESSAGES, content=body(), headers={"Content-Encoding": "gzip"})
        assert answer.status_code == 415


NO_QUERIES = (
    "before=0",
    "before=x",
    "before=9223372036854775808",
    "limit=0",
    "limit=-1",
    "other=1",
    "limit=1&limit=2",
)


async def test_a_query_is_checked_as_a_body_is(database_url: str) -> None:
    async with world(database_url) as w:
        for query in NO_QUERIES:
            await w.get(f"/api/runs?{query}", status=422)


async def test_an_id_that_can_not_be_is_not_there(database_url: str) -> None:
    async with world(database_url) as w:
        for id in ("0", "x", "-1", "9223372036854775808", "9" * 5000, "%00"):
            await w.get(f"/api/runs/{id}", status=404)


async def test_an_agent_that_is_not_there_is_not_found(database_url: str) -> None:
    async with world(database_url) as w:
        for name in ("nobody", "%00", "%ff", "%ed%a0%80", "..%2f..", "dreamwalker%0a", "DREAMWALKER"):
            for path in ("entries", "notes", "stream"):
                await w.get(f"/api/agents/{name}/{path}", status=404)
            await w.post(f"/api/agents/{name}/fresh", {"request_id": "1"}, status=404)
