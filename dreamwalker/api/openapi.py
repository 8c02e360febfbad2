"""The OpenAPI document, made of the endpoints and their structs.

One rule: nothing is described by hand that the code does not check or answer.
"""

from collections.abc import Iterable
from typing import Any

import msgspec

import dreamwalker

from .endpoint import AnyEndpoint, Given, Nothing
from .errors import Problem

Json = dict[str, Any]

_REF = "#/components/schemas/{name}"

REFUSALS = {
    400: "The body is not JSON in UTF-8, or an object has a key twice; or it went round the platform.",
    401: "The token is missing or wrong.",
    404: "There is no such thing.",
    408: "The body came too slowly.",
    409: "It does not go with what stands.",
    410: "On a platform: the site shows another deploy than this one.",
    413: "The body is too large.",
    415: "The body is encoded.",
    421: "The server does not answer to that host name.",
    422: "A field is unknown, missing, or holds what it can't.",
    429: "Too many; try again later.",
    500: "A mistake of dreamwalker's own, which its log tells about.",
    503: "Not now; Retry-After says when (in seconds).",
}


def document(endpoints: Iterable[AnyEndpoint]) -> Json:
    """The OpenAPI 3.1 document."""
    endpoints = tuple(endpoints)
    shown = [endpoint.answer for endpoint in endpoints if endpoint.answer is not None]
    taken = [endpoint.body for endpoint in endpoints if endpoint.body is not Nothing]
    events = [event for endpoint in endpoints for event in endpoint.events]
    _, components = msgspec.json.schema_components([*shown, *taken, *events, Problem], ref_template=_REF)
    paths: dict[str, Json] = {}
    for endpoint in endpoints:
        paths.setdefault(endpoint.route, {})[endpoint.method.lower()] = _operation(endpoint)
    return {
        "openapi": "3.1.0",
        "info": {"title": "dreamwalker", "version": dreamwalker.__version__},
        "security": [{"token": []}],
        "paths": paths,
        "components": {
            "schemas": components,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


def _operation(endpoint: AnyEndpoint) -> Json:
    operation: Json = {
        "operationId": endpoint.handle.__name__,
        "summary": endpoint.says,
        "parameters": [*_parameters(endpoint.path, "path"), *_parameters(endpoint.query, "query")],
        "responses": {
            str(endpoint.status): _answer(endpoint),
            **{str(status): _refusal(status) for status in refusals(endpoint)},
        },
    }
    if endpoint.body is not Nothing:
        schema = {"$ref": _REF.format(name=endpoint.body.__name__)}
        operation["requestBody"] = {"required": True, "content": {"application/json": {"schema": schema}}}
    if endpoint.public:
        operation["security"] = []
    return operation


def refusals(endpoint: AnyEndpoint) -> list[int]:
    """Every status with which an endpoint may refuse."""
    statuses = {400, 410, 421, 422, 500, *endpoint.refusals}
    if not endpoint.public:
        statuses |= {401, 503}
    if endpoint.path is not Nothing:
        statuses.add(404)
    if endpoint.body is not Nothing:
        statuses |= {408, 413, 415}
    return sorted(statuses)


def _answer(endpoint: AnyEndpoint) -> Json:
    if endpoint.answer is not None:
        schema: Json = {"$ref": _REF.format(name=endpoint.answer.__name__)}
        return {"description": _doc(endpoint.answer), "content": {endpoint.media: {"schema": schema}}}
    if endpoint.events:
        names = ", ".join(f"`{event.__name__}`" for event in endpoint.events)
        said = f"Server-sent events whose data are, as JSON, of the schemas {names}."
        return {"description": said, "content": {endpoint.media: {"schema": {"type": "string"}}}}
    return {"description": "This document.", "content": {endpoint.media: {"schema": {"type": "object"}}}}


def _refusal(status: int) -> Json:
    schema = {"$ref": _REF.format(name=Problem.__name__)}
    return {"description": REFUSALS[status], "content": {"application/json": {"schema": schema}}}


def _parameters(struct: type[Given], place: str) -> list[Json]:
    schema = msgspec.json.schema_components([struct], ref_template=_REF)[1][struct.__name__]
    return [
        {"name": name, "in": place, "required": name in schema.get("required", ()), "schema": field}
        for name, field in schema["properties"].items()
    ]


def _doc(struct: type) -> str:
    return (struct.__doc__ or "").partition("\n")[0]
