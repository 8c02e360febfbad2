"""The web app as it is served: what a browser gets before it has said who it is."""

import re
import tomllib

import httpx2
import pytest

from dreamwalker.api import web
from netlify.app import stamp
from tests.world import world


async def test_the_app_is_served_without_a_token_and_may_load_nothing_from_elsewhere(database_url: str) -> None:
    async with world(database_url) as w, httpx2.AsyncClient(base_url=w.url) as stranger:
        page = await stranger.get("/")
        assert page.status_code == 200 and page.headers["content-type"] == "text/html; charset=utf-8"
        assert page.headers.get_list("content-security-policy") == [web.POLICY]
        assert page.headers["x-content-type-options"] == "nosniff" and page.headers["referrer-policy"] == "no-referrer"
        assert "'unsafe" not in web.POLICY and "http" not in web.POLICY and "*" not in web.POLICY
        for path in web.PAGES:
            assert (await stranger.get(path.format(name="x", id="1", agent="x", seq="1"))).text == page.text
        for path, file in web.files().items():
            if path == "/index.html":
                continue
            answer = await stranger.get(path)
            assert (answer.status_code, answer.content) == (200, file.body), path
            again = await stranger.get(path, headers={"If-None-Match": answer.headers["etag"]})
            assert (again.status_code, again.content) == (304, b"")


@pytest.mark.parametrize("path", ["/app/", "/app/none.js", "/app/..%2findex.html", "/vendor/../../package.json", "/x"])
async def test_what_is_no_file_of_the_app_is_not_there(database_url: str, path: str) -> None:
    async with world(database_url) as w, httpx2.AsyncClient(base_url=w.url) as stranger:
        assert (await stranger.get(path)).status_code in (401, 404)
        assert (await stranger.get("/", headers={"Host": "evil.example"})).status_code == 421
        assert (await stranger.post("/")).status_code == 405


async def test_nothing_of_the_api_is_given_to_who_may_only_have_the_app(database_url: str) -> None:
    async with world(database_url) as w, httpx2.AsyncClient(base_url=w.url) as stranger:
        for path in ("/api/status", "/api/agents", "/api/openapi.json", "/api/", "/api/nothing"):
            assert (await stranger.get(path)).status_code == 401


def test_the_stamp_of_the_app_is_of_the_files_that_are_there() -> None:
    assert stamp.STAMP.read_text() == stamp.stamp(), "run `make app`"


def test_the_apps_own_site_says_what_is_said_here() -> None:
    site = tomllib.loads((web.SITE.parent / "netlify.toml").read_text())
    headers = site["headers"][0]["values"]
    assert web.HEADERS.items() <= headers.items()


def test_the_page_holds_no_script_and_no_style_of_its_own() -> None:
    page = (web.SITE / "index.html").read_text()
    assert not re.search(r"<style|\son\w+=|\sstyle=|javascript:|https?://", page)
    assert re.findall(r"<script[^>]*>([^<]*)", page) == [""]


def test_no_module_of_the_app_makes_markup_of_text() -> None:
    for path, file in web.files().items():
        if path.startswith("/app/"):
            assert not re.search(
                rb"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function", file.body
            ), path
