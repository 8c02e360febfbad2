"""The scripted Netlify API: it answers what Netlify's own description says, with a marked secret wherever one fits.

One rule: each text field of an answer holds `secret:FIELD` unless the team's own data says otherwise, and a question
that the description doesn't know fails the test.
"""

import json
import re
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import attrs
import trio
from hypercorn.config import Config
from hypercorn.trio import serve
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

Json = dict[str, Any]

DESCRIBED: Json = json.loads(Path(__file__).with_name("openapi.json").read_text())["paths"]

TOKEN = "nfp_A7xTq92LmZ4vB8nK1cR6tY3wE5"
TEAM = {"id": "65f0c0ffee65f0c0ffee65f0", "slug": "moon-garden", "name": "Moon Garden"}
OTHER = {"id": "0badc0de0badc0de0badc0de", "slug": "other-people", "name": "Other people"}
SHOP = "5f1d3c9a-0c1e-4b8f-9a51-7a2b8d6e4f10"
BLOG = "1b2c3d4e-5f60-4718-8293-a4b5c6d7e8f9"
STRANGER = "ffffffff-ffff-4fff-8fff-ffffffffffff"
DEPLOY = "6748aa10c3d4e5f60718293a"
ZONE = "5a1b2c3d4e5f60718293a4b5"
AT = "2026-11-20T08:00:00.000Z"


def filled(schema: Json, name: str) -> Any:
    """A value of a schema with a marked secret in every text."""
    match schema.get("type"):
        case "object":
            made = {field: filled(inner, field) for field, inner in schema.get("properties", {}).items()}
            if "additionalProperties" in schema or not made:
                made["SOME_KEY"] = f"secret:{name}.any"
            return made
        case "array":
            return [filled(schema["items"], name)]
        case "integer":
            return 7
        case "number":
            return 7.5
        case "boolean":
            return True
    return schema["enum"][0] if "enum" in schema else f"secret:{name}"


def site(id: str, name: str, team: Json = TEAM) -> Json:
    """What is the team's own of a site."""
    own = {"id": id, "name": name, "state": "current", "account_id": team["id"], "account_slug": team["slug"]}
    urls = {
        "url": f"http://{name}.example",
        "ssl_url": f"https://{name}.example",
        "custom_domain": "",
        "domain_aliases": [],
    }
    return own | urls | {"created_at": AT, "updated_at": AT}


@attrs.define
class Api:
    """What there is, and how it answers. `asked` has each question as it came: path and query."""

    url: str = ""
    teams: list[Json] = attrs.Factory(lambda: [TEAM])
    sites: list[Json] = attrs.Factory(lambda: [site(SHOP, "shop"), site(BLOG, "blog")])
    deploys: list[Json] = attrs.Factory(
        lambda: [
            {
                "id": DEPLOY, "site_id": SHOP, "state": "error", "context": "production", "branch": "main",
                "title": "Fix the cart", "error_message": "Build script returned non-zero exit code: 2",
                "commit_ref": "c0ffee1234", "created_at": AT, "published_at": None,
            }
        ]
    )  # fmt: skip
    zones: list[Json] = attrs.Factory(
        lambda: [
            {
                "id": ZONE, "name": "moon.example", "domain": "moon.example", "dns_servers": ["dns1.p01.nsone.net"],
                "account_id": TEAM["id"], "account_slug": TEAM["slug"],
            }
        ]
    )  # fmt: skip
    records: list[Json] = attrs.Factory(
        lambda: [
            {"hostname": "moon.example", "type": "A", "value": "192.0.2.7", "dns_zone_id": ZONE, "ttl": 3600},
        ]
    )
    forms: list[Json] = attrs.Factory(lambda: [{"site_id": SHOP, "name": "contact", "paths": ["/contact"]}])
    variables: list[Json] = attrs.Factory(lambda: [{"key": "STRIPE_KEY", "is_secret": True}])
    page: int = 1
    """Sites of one page, whatever is asked for."""
    instead: Callable[[Request], Response | None] = lambda request: None
    asked: list[str] = attrs.Factory(list)

    def answer(self, template: str, request: Request) -> Any:
        """What a question is answered with; the description says of which fields."""
        described = DESCRIBED[template]["get"]
        known = {parameter["name"] for parameter in described["parameters"] if parameter["in"] == "query"}
        assert set(request.query_params) <= known, (template, dict(request.query_params))
        schema, ids = described["responses"]["200"]["schema"], request.path_params
        match template:
            case "/accounts":
                return [self._shown(schema, team) for team in self.teams]
            case "/{account_slug}/sites":
                first = (int(request.query_params["page"]) - 1) * self.page
                mine = [one for one in self.sites if ids["account_slug"] in (TEAM["slug"], one["account_slug"])]
                return [self._shown(schema, one) for one in mine[first : first + self.page]]
            case "/sites/{site_id}":
                return next(
                    (self._shown({"items": schema}, one) for one in self.sites if one["id"] == ids["site_id"]), None
                )
            case "/sites/{site_id}/deploys":
                return [self._shown(schema, one) for one in self.deploys]
            case "/deploys/{deploy_id}":
                found = [one for one in self.deploys if one["id"] == ids["deploy_id"]]
                return self._shown({"items": schema}, found[0]) if found else None
            case "/dns_zones":
                return [self._shown(schema, one) for one in self.zones]
            case "/dns_zones/{zone_id}":
                return next(
                    (self._shown({"items": schema}, one) for one in self.zones if one["id"] == ids["zone_id"]), None
                )
            case "/dns_zones/{zone_id}/dns_records":
                return [self._shown(schema, one) for one in self.records]
            case "/accounts/{account_id}/env":
                return [self._shown(schema, one) for one in self.variables]
            case "/sites/{site_id}/functions":
                return [self._shown(schema, {"functions": [{"n": "checkout", "d": "secret:digest"}]})]
            case "/sites/{site_id}/forms":
                return [self._shown(schema, one) for one in self.forms]
        raise AssertionError(template)

    def _shown(self, schema: Json, own: Json) -> Json:
        made: Json = filled(schema["items"], "it")
        return made | own


async def _serve(api: Api, template: str, request: Request) -> Response:
    path = request.url.path.removeprefix("/api/v1")
    api.asked.append(path + (f"?{request.url.query}" if request.url.query else ""))
    assert request.method == "GET"
    if (instead := api.instead(request)) is not None:
        return instead
    if request.headers.get("authorization") != f"Bearer {TOKEN}":
        said = f"Access Denied: {request.headers.get('authorization')}"
        return JSONResponse({"code": 401, "message": said}, 401)
    answer = api.answer(template, request)
    if answer is None:
        return JSONResponse({"code": 404, "message": f"Not Found: {path} for {TOKEN}"}, 404)
    return JSONResponse(answer)


@asynccontextmanager
async def serve_netlify() -> AsyncIterator[Api]:
    """The API for the time of a block."""
    api = Api()
    routes = [
        Route("/api/v1" + re.sub(r"{(\w+)}", r"{\1}", template), partial(_serve, api, template), methods=["GET"])
        for template in sorted(DESCRIBED, key=lambda template: template.startswith("/{"))
    ]
    config = Config()
    config.bind, config.errorlog, config.graceful_timeout = ["127.0.0.1:0"], None, 0  # type: ignore[assignment]
    async with trio.open_nursery() as nursery:
        (address,) = await nursery.start(partial(serve, Starlette(routes=routes), config))  # type: ignore[arg-type]
        api.url = f"{address}/api/v1"
        yield api
        nursery.cancel_scope.cancel()
