"""The OpenAPI document: what it says of every route is what the route answers."""

import json
import re
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import jsonschema  # type: ignore[import-untyped]
import pytest
from referencing import Registry
from referencing.jsonschema import DRAFT202012

from dreamwalker.api import errors
from dreamwalker.api.app import ENDPOINTS
from dreamwalker.api.errors import CODES
from dreamwalker.api.openapi import document
from tests.messages_api import Gate, answer, say, text, use
from tests.world import Json, World, world

DOCUMENT: Json = json.loads(json.dumps(document(ENDPOINTS)))


def check(value: object, schema: Json) -> None:
    """Raises ValidationError if the value is not of this schema of the document."""
    registry = Registry().with_resource("urn:document", DRAFT202012.create_resource(DOCUMENT))
    reference = {"$ref": "urn:document" + schema["$ref"]} if "$ref" in schema else schema
    jsonschema.Draft202012Validator(
        reference, registry=registry, format_checker=jsonschema.Draft202012Validator.FORMAT_CHECKER
    ).validate(value)


def answers(route: str, method: str) -> Json:
    responses: Json = DOCUMENT["paths"][route][method.lower()]["responses"]
    return responses


async def checked(w: World, method: str, route: str, *, status: int, body: Any = None, **fill: object) -> Any:
    """Ask a route; its answer must have this status and be as the document says."""
    path = route.format(**{"name": "dreamwalker", "id": 1, "what": "run", "token": "x" * 43} | fill)
    response = await w.client.request(method, path, json=body)
    assert response.status_code == status, response.text
    described = answers(route, method)[str(status)]["content"]
    (media,) = described
    assert response.headers["content-type"] == media
    check(response.json(), described[media]["schema"])
    return response.json()


async def test_every_route_answers_as_the_document_says(database_url: str) -> None:
    gate = Gate()
    note = use("write_note", {"title": "Keys", "text": "In the drawer"})
    first = {"request_id": "1", "text": "Keys?", "quotes": [{"from": "a letter", "text": "Dear all"}]}
    send, route = "/api/agents/{name}/messages", "/api/agents/{name}"
    phone = {"ntfy_topic": "a-topic-of-the-tests-x7Kq", "ntfy_url": "http://127.0.0.1:9"}
    script = (answer("I write.", note), say("Done."), answer(text("Hm", gate)))
    async with world(database_url, *script, changes=phone) as w:
        streams = {("GET", f"{route}/stream"), ("GET", "/api/conversations/{id}/stream")}
        asked = {*streams, ("GET", "/api/openapi.json")}

        async def ask(method: str, route: str, *, status: int = 200, **given: Any) -> Any:
            asked.add((method, route))
            return await checked(w, method, route, status=status, **given)

        await ask("POST", send, status=202, body=first)
        number = await w.asked()
        await ask("GET", "/api/questions")
        await ask("GET", "/api/questions/{id}", id=number)
        await ask("POST", "/api/questions/{id}/answer", id=number, body={"answer": "yes"})
        await ask("POST", "/api/questions/{id}/answer", id=number, body={"answer": "no"}, status=409)
        await w.settled()
        await ask("POST", send, status=202, body=first)
        await ask("POST", send, status=409, body=first | {"text": "Else"})
        await ask("POST", f"{route}/fresh", status=202, body={"request_id": "f"})
        await ask("POST", send, status=202, body={"request_id": "2", "text": "And?"})
        await gate.reached.wait()
        waiting = await ask("POST", send, status=202, body={"request_id": "3", "text": "No"})
        page = await ask("GET", f"{route}/entries")
        assert page["messages"] and page["run"] and page["calls"]
        await ask("DELETE", "/api/messages/{id}", id=waiting["message"]["id"])
        runs = (await ask("GET", "/api/runs"))["runs"]
        await ask("GET", "/api/runs/{id}", id=runs[-1]["id"])
        await ask("POST", "/api/runs/{id}/stop", id=runs[0]["id"])
        await ask("GET", "/api/runs/{id}", status=404, id=999_999)
        await ask("GET", "/api/why/{what}/{id}", what="run", id=runs[-1]["id"])
        await ask("GET", "/api/why/{what}/{id}", status=404, what="call", id="1.2.3")
        notes = (await ask("GET", f"{route}/notes"))["notes"]
        versions = await ask("GET", "/api/notes/{id}/versions", id=notes[0]["id"])
        anew = {"request_id": "n", "base": versions["versions"][0]["version"], "text": "On the hook"}
        await ask("POST", "/api/notes/{id}/versions", status=201, id=notes[0]["id"], body=anew)
        await ask("POST", "/api/notes/{id}/versions", status=409, id=notes[0]["id"], body=anew | {"request_id": "m"})
        await ask("DELETE", "/api/notes/{id}", id=notes[0]["id"])
        await ask("POST", "/api/notes/{id}/restore", id=notes[0]["id"])
        await ask("GET", "/api/conversations/{id}", id=runs[0]["conversation"])
        await ask("GET", "/api/conversations/{id}", status=404, id=999_999)
        await _ask_about_time(ask)
        await ask("POST", "/api/agents", status=201, body={"name": "cook", "job": "cooks", "grants": ["netlify"]})
        await ask("POST", "/api/agents", status=409, body={"name": "cook", "job": "eats"})
        await ask("GET", route)
        await ask("PATCH", route, body={"instructions": "Be brief.", "model": None})
        await ask("POST", f"{route}/retire", status=409)
        await checked(w, "POST", f"{route}/retire", status=200, name="cook")
        await ask("POST", f"{route}/restore")
        for path in (
            "/api/health",
            "/api/status",
            "/api/agents",
            "/api/spend",
            "/api/settings",
            "/api/doctor",
            "/api/retention",
        ):
            await ask("GET", path)
        await ask("POST", "/api/spend/raise", body={"period": "2026-11", "dollars": 60})
        await ask("POST", "/api/spend/raise", status=409, body={"period": "2026-11", "dollars": 1})
        await ask("POST", "/api/spend/reset", body={"period": "2026-11"})
        await ask("PATCH", "/api/settings", body={"zone": "Asia/Tokyo"})
        found = await w.client.get("/api/search", params={"query": "keys"})
        check(found.json(), answers("/api/search", "GET")["200"]["content"]["application/json"]["schema"])
        asked.add(("GET", "/api/search"))
        archive = await w.client.get("/api/export")
        assert archive.headers["content-type"] == "application/x-ndjson" and "manifest" in archive.text.splitlines()[-1]
        asked.add(("GET", "/api/export"))
        assert asked == {(endpoint.method, endpoint.route) for endpoint in ENDPOINTS}


async def _ask_about_time(ask: Callable[..., Awaitable[Any]]) -> None:
    reminder = {"request_id": "r", "when": "in 20m", "text": "Tea"}
    id = (await ask("POST", "/api/reminders", status=201, body=reminder))["id"]
    await ask("POST", "/api/reminders", status=409, body=reminder | {"text": "Else"})
    await ask("GET", "/api/reminders")
    await ask("GET", "/api/reminders/{id}", id=id)
    await ask("PATCH", "/api/reminders/{id}", id=id, body={"text": "Coffee"})
    await ask("GET", "/api/reminders/{id}/slots", id=id)
    await ask("DELETE", "/api/reminders/{id}", id=id)
    await ask("PATCH", "/api/reminders/{id}", status=409, id=id, body={"text": "Coffee"})
    job = {"request_id": "j", "title": "Weather", "text": "Rain?", "when": "0 7 * * *"}
    id = (await ask("POST", "/api/jobs", status=201, body=job))["id"]
    await ask("GET", "/api/jobs")
    await ask("GET", "/api/jobs/{id}", id=id)
    await ask("PATCH", "/api/jobs/{id}", id=id, body={"title": "Rain"})
    await ask("POST", "/api/jobs/{id}/pause", id=id)
    await ask("POST", "/api/jobs/{id}/resume", id=id)
    await ask("GET", "/api/jobs/{id}/upcoming", id=id)
    await ask("DELETE", "/api/jobs/{id}", id=id)
    assert (await ask("GET", "/api/jobs/{id}/slots", id=id)) == {"slots": [], "more": False}
    push = await ask("POST", "/api/pushes/test", status=202)
    assert (await ask("GET", "/api/pushes"))["pushes"]
    await ask("GET", "/api/pushes/{id}", id=push["id"])
    await ask("POST", "/api/buttons/{token}", status=404)
    await ask("POST", "/api/wake")
    await ask("GET", "/api/wake")
    await ask("GET", "/api/platform")


async def test_every_event_of_the_stream_is_as_the_document_says(database_url: str) -> None:
    note = use("write_note", {"title": "Keys", "text": "In the drawer"})
    names = {"change": "Change", "text": "TextInFlight", "summing": "SummingUp", "end": "Ended"}
    gate = Gate()
    script = (answer("I write.", note), say("Done. " * 200), say("It was about ", gate, "keys."), say("Still there."))
    async with world(database_url, *script, heartbeat_seconds=0.05, compact_at_tokens=400, recent_tokens=10) as w:
        async with w.stream() as events:
            await w.say("Keys")
            seen = await events.until_settled()
            await w.say("And now?")
            await gate.reached.wait()
            seen.append(await events.of("summing"))
            gate.open()
            seen += await events.until_settled()
            w.system.stopping.set()
            seen.append(await events.of("end"))
        for event in seen:
            check(event.data, {"$ref": f"#/components/schemas/{names[event.name]}"})
        assert {event.name for event in seen} == set(names)


async def test_every_refusal_is_as_the_document_says(database_url: str) -> None:
    async with world(database_url, request_bytes=1_000, message_bytes=1_000) as w:
        for endpoint in ENDPOINTS:
            described = answers(endpoint.route, endpoint.method)
            path = endpoint.route.format(name="nobody", id=999_999, token="x", what="run")
            tries: dict[int, Json] = {421: {"headers": {"Host": "evil.example"}}, 422: {"params": {"no": "such"}}}
            if "401" in described:
                tries[401] = {"headers": {"Authorization": "Bearer x"}}
            if "413" in described:
                tries |= {
                    400: {"content": b"x"},
                    413: {"content": b" " * 2_000},
                    415: {"headers": {"Content-Encoding": "br"}},
                }
            for status, given in tries.items():
                response = await w.client.request(endpoint.method, path, **given)
                assert response.status_code == status, (endpoint.route, response.text)
                check(response.json(), described[str(status)]["content"]["application/json"]["schema"])


async def test_the_document_is_served_to_the_owner(database_url: str) -> None:
    async with world(database_url) as w:
        assert await w.get("/api/openapi.json") == DOCUMENT


def test_every_reference_of_the_document_leads_somewhere() -> None:
    schemas = DOCUMENT["components"]["schemas"]
    used = {reference.rpartition("/")[2] for reference in _references(DOCUMENT)}
    events = {"Change", "TextInFlight", "SummingUp", "Ended"}
    assert used - set(schemas) == set() and set(schemas) - used - events == set()


def test_every_schema_of_the_document_is_a_schema() -> None:
    for schema in DOCUMENT["components"]["schemas"].values():
        jsonschema.Draft202012Validator.check_schema(schema)
    with pytest.raises(jsonschema.ValidationError):
        check({"status": "down"}, {"$ref": "#/components/schemas/Health"})


def test_every_code_of_an_error_is_listed_with_its_meaning() -> None:
    code = DOCUMENT["components"]["schemas"]["Said"]["properties"]["code"]
    assert set(CODES.values()) <= set(code["enum"]) and all(f"- `{it}`: " in code["description"] for it in code["enum"])
    sources = [path.read_text() for path in Path(errors.__file__).parent.glob("*.py")]
    used = {it for source in sources for it in re.findall(r'code="([a-z_]+)"', source)}
    assert used <= set(code["enum"])


def test_every_operation_has_a_name_of_its_own_and_says_what_it_does() -> None:
    operations = [operation for path in DOCUMENT["paths"].values() for operation in path.values()]
    assert len({operation["operationId"] for operation in operations}) == len(operations) == len(ENDPOINTS)
    assert all(operation["summary"].endswith(".") for operation in operations)


def _references(value: object) -> Iterator[str]:
    match value:
        case {"$ref": str(reference)}:
            yield reference
        case dict():
            for inner in value.values():
                yield from _references(inner)
        case list():
            for inner in value:
                yield from _references(inner)
