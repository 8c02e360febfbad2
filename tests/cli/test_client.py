"""The client against a real HTTP server that answers badly."""

import itertools
import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dreamwalker.cli import client
from dreamwalker.cli.client import Api, Event, is_loopback, parse
from dreamwalker.cli.problems import Conflict, NotFound, Problem, Refused, Unreachable, Unready

Answer = tuple[int, dict[str, str], str]


def refusal(status: int, code: str, message: str, **headers: str) -> Answer:
    return status, headers, json.dumps({"error": {"code": code, "message": message}})


@contextmanager
def answering(*answers: Answer) -> Iterator[tuple[Api, list[str]]]:
    """A server that gives these answers in turn, the last one for ever; and the requests that it got."""
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def answer(self) -> None:
            asked.append(f"{self.command} {self.path} {self.headers['authorization']}")
            status, headers, body = answers[min(len(asked), len(answers)) - 1]
            self.rfile.read(int(self.headers.get("content-length", 0)))
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name.replace("_", "-"), value)
            self.send_header("content-length", str(len(body.encode())))
            self.end_headers()
            self.wfile.write(body.encode())

        do_GET = do_POST = do_PATCH = do_DELETE = answer

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield Api(f"http://127.0.0.1:{server.server_port}/", "t" * 43), asked
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def test_a_request_carries_the_token_and_names_are_quoted() -> None:
    with answering((200, {}, '{"status": "up"}')) as (api, asked):
        assert api.healthy() and api.get("/agents/a%2Fb/notes", query=None, limit=3) == {"status": "up"}
        assert asked[-1] == f"GET /api/agents/a%2Fb/notes?limit=3 Bearer {'t' * 43}"
    assert client.quoted("a/b?") == "a%2Fb%3F"


def test_a_server_that_is_not_ready_is_asked_again_when_it_says() -> None:
    busy = refusal(503, "not_ready", "Another instance is at work.", retry_after="0.1")
    with answering(busy, busy, (200, {}, '{"a": 1}')) as (api, asked):
        assert api.post("/messages", {"request_id": "1"}) == {"a": 1}
        assert len(asked) == 3


def test_a_server_that_asks_for_more_patience_than_there_is_is_believed_at_once() -> None:
    with answering(refusal(503, "not_ready", "The database is away.", retry_after="30")) as (api, asked):
        began = time.monotonic()
        with pytest.raises(Unready, match="The database is away") as raised:
            api.get("/status")
        assert len(asked) == 1 and time.monotonic() - began < 10 and raised.value.exit_code == 3


@pytest.mark.parametrize(
    ("answer", "problem", "exit_code", "words"),
    [
        (refusal(401, "unauthorized", "No."), Refused, 3, "refused the token"),
        (refusal(404, "not_found", "There is no run of that id."), NotFound, 4, "no run of that id"),
        (refusal(409, "placed", "The agent has it already."), Conflict, 1, "has it already"),
        (refusal(410, "gone", "This deploy is not the published one."), Refused, 3, "not the published one"),
        (refusal(422, "invalid", "zone is a name."), Problem, 1, "zone is a name"),
        (refusal(500, "internal", "Its log says what."), Unready, 3, "log says what"),
        ((200, {}, "<html>Please sign in</html>"), Refused, 3, "is not a dreamwalker"),
        ((502, {}, "Bad gateway"), Refused, 3, "is not a dreamwalker"),
        ((302, {"location": "http://127.0.0.1:9/"}, ""), Refused, 3, "is not a dreamwalker"),
    ],
)
def test_every_refusal_is_a_sentence_with_an_exit_code(
    answer: Answer, problem: type[Problem], exit_code: int, words: str
) -> None:
    with answering(answer) as (api, _), pytest.raises(problem, match=words) as raised:
        api.get("/status")
    assert raised.value.exit_code == exit_code and "t" * 43 not in raised.value.message


def test_a_server_that_is_not_there_cannot_be_reached() -> None:
    api = Api("http://127.0.0.1:9", "t" * 43)
    assert not api.healthy()
    with pytest.raises(Unreachable, match="No dreamwalker can be reached"):
        api.get("/status")
    with pytest.raises(Unreachable):
        list(api.events("dreamwalker", 0))


def test_a_stream_is_refused_as_anything_else_is() -> None:
    with answering(refusal(404, "not_found", "There is no agent of that name.")) as (api, _):
        with pytest.raises(NotFound, match="no agent"):
            list(api.events("nobody", 0))


def test_a_stream_that_breaks_off_in_the_middle_is_a_lost_connection() -> None:
    head = {"content_type": "text/event-stream", "transfer_encoding": "chunked"}
    with answering((200, head, "event: change\ndata: {}\n\n")) as (api, _), pytest.raises(Unreachable):
        list(api.events("dreamwalker", 0))


STREAM = (
    ": heartbeat\n\n"
    'event: change\nid: 7\ndata: {"no": 7, "text": "ä\u2028日"}\n\n'
    ": heartbeat\r\n\r\n"
    "event: text\r\n"
    'data: {"offset": 0,\r\ndata: "text": "hi"}\r\n\r\n'
    'event: end\ndata: {"reason": "stop'
).encode()
EVENTS = [Event("change", {"no": 7, "text": "ä\u2028日"}), Event("text", {"offset": 0, "text": "hi"})]


@given(st.lists(st.integers(0, len(STREAM)), max_size=20))
def test_events_are_the_same_however_the_stream_is_sliced(cuts: list[int]) -> None:
    places = [0, *sorted(cuts), len(STREAM)]
    assert list(parse(STREAM[a:b] for a, b in itertools.pairwise(places))) == EVENTS


def test_which_addresses_are_this_machine() -> None:
    assert all(map(is_loopback, ("http://127.0.0.1:1", "http://localhost", "http://[::1]:80/x", "https://127.8.8.8")))
    assert not any(map(is_loopback, ("http://example.org", "http://localhost.example.org", "http://10.0.0.1")))
