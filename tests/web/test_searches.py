"""Workers on the web: what searches and pages bring, what they cost, and what is said when they can't be had."""

import gzip
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import attrs
import pytest

from dreamwalker.prices import SEARCH_NANO_DOLLARS
from storage.spend import ReadPeriod, Sum, Sums
from tests.actors.delegating import WORKER, Cast
from tests.actors.house import Inside, inside
from tests.messages_api import Search, answer, empty, fail, say, use
from tests.messages_api.replies import Reply
from tests.messages_api.server import Request
from tests.web.internet import Internet, http
from tests.world import world
from tools.limits import Limits
from tools.outside import Source

RESULTS = (("Zoo: hours", "https://zoo.example/hours", "2 days ago"), ("Bad", "javascript:alert(1)"))
FOUND = answer(Search(query="zoo", results=RESULTS), "It opens at nine, ", "says the zoo.")


@attrs.define
class Searched(Cast):
    """A cast whose searches are answered by a script of their own."""

    searches: list[Reply] = attrs.Factory(list)
    searched: list[dict[str, Any]] = attrs.Factory(list)

    def _answer(self, request: Request) -> Reply:
        assert request.json is not None
        if any(tool.get("type") for tool in request.json.get("tools", ())):
            self.searched.append(request.json)
            return self.searches.pop(0)
        return super()._answer(request)


@asynccontextmanager
async def working(
    url: str, net: Internet, *searches: Reply, limits: Limits | None = None
) -> AsyncIterator[tuple[Inside, Searched]]:
    async with inside(url, web=net.web(), limits=limits) as it:
        cast = Searched(searches=list(searches))
        cast.play(it.api)
        cast.says(answer(use("delegate", {"task": "Find the zoo's hours"})), say("At nine."))
        yield it, cast


def results(cast: Cast, turn: int = 1) -> list[dict[str, Any]]:
    """The results that a worker was given in its request number `turn`."""
    found: list[dict[str, Any]] = cast.asked[turn]["messages"][-1]["content"]
    return found


def text(result: dict[str, Any]) -> str:
    return "\n".join(block["text"] for block in result["content"])


async def spent(it: Inside) -> dict[str, Sum]:
    return {sum.kind: sum for sum in await it.ask(Sums("month", "2026-11", "2026-11"))}


SEARCH = use("web_search", {"query": "zoo  hours"})


async def test_a_search_brings_pages_with_their_addresses_and_what_they_say(database_url: str, net: Internet) -> None:
    async with working(database_url, net, FOUND) as (it, cast):
        cast.does("Find", answer(SEARCH), say("At nine."))
        await it.say("When does the zoo open?")
        await it.settled()
        (result,) = results(cast)
        assert not result.get("is_error") and result["content"][0]["text"] == "1 page found."
        shown = result["content"][1]["text"]
        assert shown.startswith(Source.SEARCH.remark)
        assert "- Zoo: hours\n  https://zoo.example/hours (2 days ago)" in shown and "javascript" not in shown
        assert "It opens at nine, says the zoo." in shown


async def test_a_search_is_a_request_of_its_own_that_holds_the_query_and_nothing_else(
    database_url: str, net: Internet
) -> None:
    async with working(database_url, net, FOUND) as (it, cast):
        cast.does("Find", answer(SEARCH), say("At nine."))
        await it.say("My code is 4711. When does the zoo open?")
        await it.settled()
        (asked,) = cast.searched
        assert [tool["type"] for tool in asked["tools"]] == ["web_search_20250305"] and asked["tools"][0][
            "max_uses"
        ] == 1
        assert [block["text"] for block in asked["messages"][0]["content"]] == ["zoo hours"]
        assert len(asked["messages"]) == 1 and "dreamwalker" not in json.dumps(asked)


async def test_a_search_costs_its_tokens_and_a_cent_in_the_same_books(database_url: str, net: Internet) -> None:
    billed = FOUND.billed(input_tokens=1_000, output_tokens=100)
    async with working(database_url, net, billed, billed) as (it, cast):
        cast.does("Find", answer(SEARCH, SEARCH), say("At nine."))
        await it.say("When does the zoo open?")
        await it.settled()
        sums = await spent(it)
        assert sums["search"].requests == 2 and sums["search"].searches == 2 and sums["search"].unsettled == 0
        assert sums["search"].cost == 2 * (SEARCH_NANO_DOLLARS + 1_000 * 100 + 100 * 500)
        used = (await it.ask(ReadPeriod("2026-11-29"))).used
        assert used == sum(each.cost for each in sums.values())


@pytest.mark.parametrize(
    ("reply", "says", "stands"),
    [
        (fail(400, "web_search: this tool is not supported"), "not possible with this model service", False),
        (fail(404), "not possible with this model service", False),
        (fail(529), "could not be asked", False),
        (FOUND.cut(after=5), "could not be asked", True),
        (answer(Search(query="x", error="max_uses_exceeded"), "No."), "not there just now", False),
        (answer(Search(query="x", error="unavailable")), "not there just now", False),
        (answer(Search(query="x", error="too_many_requests")), "too often", False),
        (answer(Search(query="x", error="query_too_long")), "too long", False),
        (answer(Search(query="x", error="invalid_tool_input")), "other words", False),
        (say("I can't search."), "No search was made", False),
        (empty(), "No search was made", False),
        (empty("refusal"), "declined to search", False),
        (answer("Hm", use("web_search", {"query": "x"})), "No search was made", False),
    ],
)
async def test_a_search_that_can_not_be_had_is_told_in_plain_words_and_paid_as_billed(
    database_url: str, net: Internet, reply: Reply, says: str, stands: bool
) -> None:
    async with working(database_url, net, reply) as (it, cast):
        cast.does("Find", answer(SEARCH), say("I could not find out."))
        await it.say("When does the zoo open?")
        await it.settled()
        (result,) = results(cast)
        assert result["is_error"] and says in text(result)
        assert ((await spent(it))["search"].unsettled > 0) == stands


async def test_a_search_that_finds_nothing_is_no_failure(database_url: str, net: Internet) -> None:
    async with working(database_url, net, answer(Search(query="zoo"), "There is nothing about it.")) as (it, cast):
        cast.does("Find", answer(SEARCH), say("Nothing."))
        await it.say("When does the zoo open?")
        await it.settled()
        (result,) = results(cast)
        assert not result.get("is_error") and "Nothing was found." in text(result)


async def test_past_the_limit_nothing_is_searched_for(database_url: str, net: Internet) -> None:
    async with working(database_url, net, FOUND) as (it, cast):
        cast.does("Find", answer(SEARCH), say("I could not find out."))
        await it.house.choose("day_limit_dollars", 0.015)
        await it.say("When does the zoo open?")
        await it.settled()
        assert "Nothing was searched for" in text(results(cast)[0])
        assert cast.searched == [] and not (await spent(it)).get("search")


@pytest.mark.parametrize("query", ["", "   ", "x" * 500])
async def test_a_query_that_makes_no_sense_costs_nothing(database_url: str, net: Internet, query: str) -> None:
    async with working(database_url, net) as (it, cast):
        cast.does("Find", answer(use("web_search", {"query": query})), say("Hm."))
        await it.say("When does the zoo open?")
        await it.settled()
        assert "1 to 400 characters" in text(results(cast)[0]) and cast.searched == []


async def test_a_worker_reads_a_page_and_its_agent_does_not_have_the_tool(database_url: str, net: Internet) -> None:
    net.pages["zoo.example/hours"] = http(b"<title>Zoo</title><p>Nine to five. <a href='/map'>Map</a>")
    async with working(database_url, net) as (it, cast):
        cast.does("Find", answer(use("fetch_url", {"url": "http://zoo.example/hours"})), say("At nine."))
        await it.say("When does the zoo open?")
        await it.settled()
        assert [tool["name"] for tool in cast.asked[0]["tools"]] == ["web_search", "fetch_url"]
        homes = [asked for asked in it.api.asked if WORKER not in str(asked["system"])]
        assert homes and all("fetch_url" not in str(asked["tools"]) for asked in homes)
        (result,) = results(cast)
        (block,) = result["content"]
        assert block["text"].startswith(Source.WEB.remark)
        assert (
            "Address: http://zoo.example/hours\nTitle: Zoo\n\nNine to five. [Map](http://zoo.example/map)"
            in block["text"]
        )


async def test_what_can_not_be_fetched_is_told_in_words(database_url: str, net: Internet) -> None:
    urls = ("http://localhost/", "http://10.0.0.1/", "ftp://a.example/", "http://zoo.example/none")
    async with working(database_url, net) as (it, cast):
        cast.does("Find", answer(*(use("fetch_url", {"url": url}) for url in urls)), say("I could not."))
        await it.say("When does the zoo open?")
        await it.settled()
        said = [text(result) for result in results(cast)]
        assert all(result["is_error"] for result in results(cast))
        assert [words.split(":")[0].split(".")[0] for words in said] == [
            "That host is not on the open internet",
            "That host may not be reached from here",
            "Only http and https addresses are fetched",
            "The server answers 404",
        ]


async def test_a_long_page_says_how_to_read_on(database_url: str, net: Internet) -> None:
    net.pages["zoo.example/"] = http(("lion " * 20_000).encode(), kind="text/plain")
    async with working(database_url, net) as (it, cast):
        cast.does("Find", answer(use("fetch_url", {"url": "http://zoo.example/"})), say("At nine."))
        await it.say("When does the zoo open?")
        await it.settled()
        assert "60,000 more characters follow; skip_characters 40000 reads on there." in text(results(cast)[0])


async def test_reading_on_behind_the_end_of_a_page_is_told_apart_from_a_page_without_text(
    database_url: str, net: Internet
) -> None:
    net.pages["zoo.example/"] = http(b"lion", kind="text/plain")
    net.pages["zoo.example/none"] = http(b"<script>draw()</script>")
    net.pages["zoo.example/half"] = http(gzip.compress(b"lion")[:-8], "Content-Encoding: gzip", kind="text/plain")
    asked = [{"url": "http://zoo.example/", "skip_characters": 4_000}, {"url": "http://zoo.example/none"}]
    asked.append({"url": "http://zoo.example/half"})
    async with working(database_url, net) as (it, cast):
        cast.does("Find", answer(*(use("fetch_url", each) for each in asked)), say("Nothing."))
        await it.say("When does the zoo open?")
        await it.settled()
        beyond, empty, half = map(text, results(cast))
        assert "Its text has 4 characters, so nothing comes after 4,000 of them." in beyond
        assert "There is no text on it" in empty and "There is no text on it" not in beyond
        assert "lion" in half and "Only its beginning could be read" in half


async def test_a_server_gives_its_workers_both(database_url: str) -> None:
    async with world(database_url, changes={"sandbox": "none"}) as w:
        cast = Cast().play(w.api)
        cast.says(answer(use("delegate", {"task": "Find it"})), say("Done."))
        cast.does("Find", answer(use("fetch_url", {"url": "http://127.0.0.1/"})), say("I could not."))
        await w.say("Find it")
        await w.settled()
        assert [tool["name"] for tool in cast.asked[0]["tools"]] == ["web_search", "fetch_url"]
        assert "its address belongs to this machine" in text(results(cast)[0])
