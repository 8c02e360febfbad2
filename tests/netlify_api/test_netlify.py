"""The Netlify grant: what is the owner's comes out, and nothing else, whatever the API sends."""

import inspect
from collections.abc import Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
import trio
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response

from netlify.answers import FOREIGN, BadId, NetlifyError
from netlify.client import NOT_ONE_TEAM, Netlify
from tests.netlify_api.server import AT, BLOG, DEPLOY, OTHER, SHOP, STRANGER, TEAM, TOKEN, ZONE, serve_netlify, site

Ask = Callable[[Netlify], Awaitable[Any]]

EVERY: dict[str, Ask] = {
    "sites": lambda it: it.sites(),
    "site": lambda it: it.site(SHOP),
    "deploys": lambda it: it.deploys(SHOP),
    "deploy": lambda it: it.deploy(DEPLOY),
    "zones": lambda it: it.zones(),
    "records": lambda it: it.records(ZONE),
    "functions": lambda it: it.functions(SHOP),
    "forms": lambda it: it.forms(SHOP),
    "variables": lambda it: it.variables(SHOP),
}


@asynccontextmanager
async def asked(token: str = TOKEN, **more: Any) -> Any:
    async with serve_netlify() as api, Netlify(token=token, team="moon-garden", url=api.url, **more) as netlify:
        yield api, netlify


async def refused(ask: Ask, netlify: Netlify) -> str:
    with pytest.raises(NetlifyError) as error:
        await ask(netlify)
    assert TOKEN not in str(error.value) and error.value.__cause__ is None
    return str(error.value)


async def test_what_the_team_owns_is_told() -> None:
    async with asked() as (_api, netlify):
        sites = (await netlify.sites()).items
        assert [(one.id, one.name, one.url, one.created_at) for one in sites] == [
            (SHOP, "shop", "https://shop.example", AT),
            (BLOG, "blog", "https://blog.example", AT),
        ]
        assert await netlify.site(SHOP) == sites[0]
        (deploy,) = (await netlify.deploys(SHOP)).items
        assert deploy == await netlify.deploy(DEPLOY)
        assert (deploy.state, deploy.title) == ("error", "Fix the cart") and "exit code: 2" in deploy.error
        assert [zone.domain for zone in (await netlify.zones()).items] == ["moon.example"]
        assert [(one.type, one.value) for one in (await netlify.records(ZONE)).items] == [("A", "192.0.2.7")]
        assert (await netlify.functions(SHOP)).items == ("checkout",)
        assert [(form.name, form.submissions) for form in (await netlify.forms(SHOP)).items] == [("contact", 7)]
        (variable,) = (await netlify.variables(SHOP)).items
        assert (variable.name, variable.secret) == ("STRIPE_KEY", True)
        await netlify.variables(None)


@pytest.mark.parametrize("what", EVERY)
async def test_nothing_of_an_answer_comes_out_but_the_fields_that_are_picked(what: str) -> None:
    async with asked() as (_api, netlify):
        assert "secret:" not in repr(await EVERY[what](netlify))


@pytest.mark.parametrize("what", EVERY)
async def test_the_teams_are_looked_at_before_anything_else_is_asked(what: str) -> None:
    async with asked() as (api, netlify):
        await EVERY[what](netlify)
        assert api.asked[0] == "/accounts" and len(api.asked) > 1
        for teams in ([TEAM, OTHER], [OTHER], [], [TEAM, TEAM]):
            api.teams, api.asked = teams, []
            assert await refused(EVERY[what], netlify) == NOT_ONE_TEAM
            assert api.asked == ["/accounts"]


async def test_what_belongs_to_others_shows_nothing_also_on_the_second_page() -> None:
    async with asked() as (api, netlify):
        api.sites.append(site(STRANGER, "not-yours", OTHER))
        assert await refused(EVERY["sites"], netlify) == FOREIGN
        assert "/moon-garden/sites?page=3&per_page=100" in api.asked
        for ask in (netlify.site, netlify.deploys, netlify.functions, netlify.forms, netlify.variables):
            assert await refused(lambda _, ask=ask: ask(STRANGER), netlify) == FOREIGN  # type: ignore[misc]


@pytest.mark.parametrize(
    ("what", "kind", "field", "foreign"),
    [
        ("deploys", "deploys", "site_id", BLOG),
        ("deploy", "deploys", "site_id", STRANGER),
        ("zones", "zones", "account_id", OTHER["id"]),
        ("zones", "zones", "account_slug", OTHER["slug"]),
        ("records", "zones", "account_id", OTHER["id"]),
        ("records", "records", "dns_zone_id", "0" * 24),
        ("forms", "forms", "site_id", BLOG),
        ("site", "sites", "account_id", OTHER["id"]),
        ("site", "sites", "account_id", None),
    ],
)
async def test_one_foreign_thing_in_an_answer_shows_nothing_of_it(
    what: str, kind: str, field: str, foreign: Any
) -> None:
    async with asked() as (api, netlify):
        if what == "deploy":
            api.sites.append(site(STRANGER, "not-yours", OTHER))
        there = getattr(api, kind)
        there.append(there[0] | {"id": there[0].get("id")})
        for row in there if what in ("deploy", "records", "site") else there[-1:]:  # in a list the last one alone
            row[field] = foreign
        assert await refused(EVERY[what], netlify) == FOREIGN


@pytest.mark.parametrize(
    "id", ["", "shop", "../accounts", f"{SHOP}/../x", f"{SHOP}?a=b", SHOP.upper(), "%2e%2e", "a" * 24]
)
async def test_what_is_no_id_is_never_asked_about(id: str) -> None:
    async with asked() as (api, netlify):
        for ask in (netlify.site, netlify.deploys, netlify.functions, netlify.forms):
            with pytest.raises(BadId):
                await ask(id)
        for ask in (netlify.deploy, netlify.records):
            with pytest.raises(BadId):
                await ask(id + "Z")
        assert set(api.asked) == {"/accounts"}


ANSWERS: dict[str, Callable[[Request], Response]] = {
    "a redirect": lambda request: RedirectResponse(f"http://127.0.0.1:1/?token={TOKEN}"),
    "HTML": lambda request: HTMLResponse(f"<h1>{TOKEN}</h1>"),
    "an HTML error": lambda request: HTMLResponse(f"<h1>502 {TOKEN}</h1>", 502),
    "a 401 that echoes the token": lambda request: JSONResponse({"message": f"bad token {TOKEN}"}, 401),
    "a 422 that echoes it": lambda request: JSONResponse({"message": TOKEN}, 422),
    "a 429": lambda request: JSONResponse({"message": TOKEN}, 429, {"Retry-After": "60"}),
    "another kind of JSON": lambda request: JSONResponse({"sites": [TOKEN]}),
    "a list of texts": lambda request: JSONResponse([TOKEN]),
    "JSON without end": lambda request: Response("[" * 100_000, media_type="application/json"),
    "too much": lambda request: Response(b'["' + b"x" * 5_000_000 + b'"]', media_type="application/json"),
}


@pytest.mark.parametrize("when", [1, 2])
@pytest.mark.parametrize("how", ANSWERS)
async def test_whatever_else_is_answered_says_one_of_our_own_sentences(how: str, when: int) -> None:
    async with asked() as (api, netlify):
        api.instead = lambda request: ANSWERS[how](request) if len(api.asked) == when else None
        said = await refused(EVERY["site"], netlify)
        assert said and "secret:" not in said and "<" not in said and "x" * 20 not in said


async def test_a_token_that_is_not_accepted_is_told_without_it() -> None:
    async with asked(token="nfp_wrong_token_2718281828") as (_api, netlify):
        said = await refused(EVERY["sites"], netlify)
        assert "DREAMWALKER_NETLIFY_TOKEN" in said and "nfp_wrong" not in said and "nfp_wrong" not in repr(netlify)


async def test_an_api_that_hangs_or_is_not_there_is_given_up() -> None:
    async with trio.open_nursery() as nursery:
        listeners: list[Any] = await nursery.start(trio.serve_tcp, _never_answer, 0)
        port = listeners[0].socket.getsockname()[1]
        async with Netlify(token=TOKEN, team="moon-garden", url=f"http://127.0.0.1:{port}", seconds=0.2) as netlify:
            assert "did not answer within" in await refused(EVERY["sites"], netlify)
        nursery.cancel_scope.cancel()
    async with Netlify(token=TOKEN, team="moon-garden", url="http://127.0.0.1:9") as netlify:
        assert "can't be reached" in await refused(EVERY["sites"], netlify)


async def _never_answer(stream: trio.SocketStream) -> None:
    await trio.sleep_forever()


def test_the_client_has_no_method_that_writes() -> None:
    source = inspect.getsource(__import__("netlify.client").client)
    assert source.count(".stream(") == 1 and 'stream("GET"' in source
    for verb in ("POST", "PUT", "PATCH", "DELETE"):
        assert f'"{verb}"' not in source
    assert {name for name in vars(Netlify) if not name.startswith("_")} == set(EVERY)
