"""Long conversations: summed up before they outgrow the model, with nothing lost and nothing said twice."""

import json
from collections.abc import Callable
from typing import Any

import attrs

from actors.window import SUM_UP
from dreamwalker.house import MAIN_AGENT
from storage import notes
from storage.operation import Commit
from storage.records import Entry
from storage.spend import SumsOf
from tests.actors.delegating import Cast, worker_runs
from tests.actors.house import Inside, inside, open_house
from tests.messages_api import Gate, answer, paused, say, serve_messages_api, use
from tests.messages_api.replies import Reply
from tests.messages_api.server import Request
from tools.limits import Limits

Json = dict[str, Any]
SMALL = Limits(compact_at_tokens=1_000, recent_tokens=500, words_tokens=200)
"""A conversation of 3,000 bytes is long; 1,500 stay, and 600 of what the owner said."""
ROOMY = attrs.evolve(SMALL, compact_at_tokens=1_500, words_tokens=500)
LONG = "All that I know about tulips. " * 20


def sums_up(request: Json) -> bool:
    """Whether a request asks for a summary."""
    return SUM_UP in json.dumps(request["messages"][-1], ensure_ascii=False)


def replying(
    *summaries: Reply, otherwise: Callable[[Json], Reply] = lambda _: say("Fine.")
) -> Callable[[Request], Reply]:
    """Answer requests for a summary in order, and all else by a rule."""
    left = list(summaries)

    def reply(request: Request) -> Reply:
        assert request.json is not None
        return left.pop(0) if sums_up(request.json) else otherwise(request.json)

    return reply


async def talk(it: Inside, count: int, text: str = LONG) -> None:
    """So many exchanges, one after the other."""
    for _ in range(count):
        there = len(await it.runs())
        await it.say(f"{there + 1}. {text}")
        await it.settled(there + 1)


def texts(request: Json) -> list[str]:
    """All texts of a request, without time lines."""
    return [
        block["text"]
        for message in request["messages"]
        for block in message["content"]
        if block["type"] == "text" and not block["text"].startswith("[20")
    ]


async def summaries(it: Inside) -> list[Entry]:
    """The summaries of the home conversation."""
    entries, _ = await it.transcript()
    return [entry for entry in entries if entry.kind == "summary"]


async def test_a_long_conversation_is_summed_up_and_the_newest_stays_word_for_word(database_url: str) -> None:
    async with inside(database_url, limits=SMALL) as it:
        it.api.answer_with(replying(say("He told me of tulips.")))
        await talk(it, 5)
        (summary,) = await summaries(it)
        before, after = it.api.asked[-2:]
        assert sums_up(before) and not sums_up(after)
        shown = texts(after)
        at = next(at for at, text in enumerate(shown) if "He told me of tulips." in text)
        assert [text[:2] for text in shown[:at]] == [], "his long words did not fit into what stays of them"
        assert [text[:2] for text in shown[at + 1 :]] == ["Fi", "4.", "Fi", "5."]
        entries, _ = await it.transcript()
        assert len(entries) == 11 and summary.covers_to == 5, "nothing is deleted"


async def test_what_he_said_before_stays_word_for_word_as_far_as_there_is_room(database_url: str) -> None:
    async with inside(database_url, limits=ROOMY) as it:
        it.api.answer_with(replying(say("He told me of tulips.")))
        await talk(it, 7)
        shown = texts(it.api.asked[-1])
        assert [text[:2] for text in shown] == ["4.", "5.", "⟦H", "Fi", "6.", "Fi", "7."]


async def test_the_request_after_a_restart_is_the_same_to_the_byte(database_url: str) -> None:
    async with serve_messages_api() as api:
        api.answer_with(replying(say("Tulips."), say("Tulips, and more.")))
        async with open_house(database_url, api, limits=ROOMY) as it:
            await talk(it, 7)
        begun = api.asked[-1]["messages"]
        async with open_house(database_url, api, limits=ROOMY) as it:
            await it.say("Hello")
            await it.settled(8)
            assert len(await summaries(it)) == 1
        assert _bare(api.asked[-1]["messages"])[: len(begun)] == _bare(begun)


async def test_it_asks_for_a_summary_with_what_the_cache_holds(database_url: str) -> None:
    async with inside(database_url, limits=SMALL) as it:
        it.api.answer_with(replying(say("Tulips.")))
        await talk(it, 5)
        last, summing = it.api.asked[-3:-1]
        assert {name: last[name] for name in ("system", "tools", "model")} == {
            name: summing[name] for name in ("system", "tools", "model")
        }
        assert _bare(summing["messages"])[: len(last["messages"])] == _bare(last["messages"])


async def test_a_summary_is_paid_for_through_the_books(database_url: str) -> None:
    async with inside(database_url, limits=SMALL) as it:
        it.api.answer_with(replying(say("Tulips.")))
        await talk(it, 5)
        run = (await it.runs())[-1]
        sums = {item.kind: item for item in await it.ask(SumsOf("run", run.id))}
        assert sums["compaction"].requests == 1 and sums["compaction"].unsettled == 0
        assert sums["compaction"].cost > 0 and sums["turn"].requests == 1 and run.asked == 2


async def test_a_death_while_it_is_written_is_made_good(database_url: str) -> None:
    gate = Gate()
    async with serve_messages_api() as api:
        api.answer_with(replying(say("Tul", gate, "ips."), say("Tulips.")))
        async with open_house(database_url, api, limits=SMALL) as it:
            await talk(it, 4)
            await it.say("5. And now?")
            while not sums_up(api.asked[-1]):
                await api.arrived(len(api.requests) + 1)
        async with open_house(database_url, api, limits=SMALL) as it:
            run = (await it.settled(5))[-1]
            assert run.state == "done" and len(await summaries(it)) == 1
            sums = {item.kind: item for item in await it.ask(SumsOf("run", run.id))}
            assert sums["compaction"].requests == 2 and sums["compaction"].unsettled > 0, "the first was not settled"


async def test_a_summary_covers_the_one_before_it(database_url: str) -> None:
    async with inside(database_url, limits=SMALL) as it:
        it.api.answer_with(replying(*(say(f"Summary {number}.") for number in range(1, 9))))
        await talk(it, 12)
        made = await summaries(it)
        assert len(made) > 1 and [entry.covers_to for entry in made] == sorted({entry.covers_to for entry in made})
        newest = json.dumps(it.api.asked[-1], ensure_ascii=False)
        assert f"Summary {len(made)}." in newest and f"Summary {len(made) - 1}." not in newest


async def test_results_that_are_too_much_together_are_cut_for_the_summary(database_url: str) -> None:
    """Twelve notes of 30,000 characters are 120,000 tokens by the provider's count, and 60,000 fit."""
    limits = Limits(compact_at_tokens=20_000, prompt_tokens=60_000, recent_tokens=1_000)
    async with serve_messages_api(input_tokens_max=60_000) as api, open_house(database_url, api, limits=limits) as it:
        for number in range(12):
            await _note(it, f"n{number}", f"{number:02} " * 9_999)
        script = iter([answer(*(use("read_note", {"title": f"n{at}"}) for at in range(12))), say("All read.")])
        api.answer_with(replying(say("I read twelve notes."), otherwise=lambda _: next(script)))
        await it.say("Read all notes")
        (run,) = await it.settled()
        assert run.state == "done", run.reason
        assert all(request.refused is None for request in api.requests)
        summing = next(asked for asked in api.asked if sums_up(asked))
        assert "cut here:" in json.dumps(summing) and _uses(summing) == _results(summing) != []


async def test_a_message_that_fits_in_no_request_fails_in_words_and_the_next_one_is_answered(database_url: str) -> None:
    limits = Limits(compact_at_tokens=20_000, prompt_tokens=60_000, recent_tokens=1_000)
    async with serve_messages_api(input_tokens_max=60_000) as api, open_house(database_url, api, limits=limits) as it:
        api.answer_with(replying(say("He sent a long text.")))
        await it.say("x" * 400_000)
        (run,) = await it.settled()
        assert run.state == "failed" and "Send it in smaller parts" in str(run.reason) and api.requests == []
        await it.say("What now?")
        run = (await it.settled(2))[-1]
        assert run.state == "done" and [sums_up(asked) for asked in api.asked] == [True, False]


async def test_what_the_model_finds_too_long_is_summed_up_and_asked_again(database_url: str) -> None:
    async with serve_messages_api(input_tokens_max=9_000) as api, open_house(database_url, api) as it:
        api.answer_with(replying(*(say("Tulips.") for _ in range(9))))
        await talk(it, 12, LONG * 5)
        assert any(request.refused is not None and "too long" in request.refused for request in api.requests)
        assert await summaries(it) and all(run.state == "done" for run in await it.runs())


async def test_a_model_that_sums_up_nothing_is_asked_again_and_given_up_in_words(database_url: str) -> None:
    limits = attrs.evolve(SMALL, model_tries=2)
    async with inside(database_url, limits=limits) as it:
        it.api.answer_with(replying(paused("Let me see."), say("No.").stopping("refusal"), say("Tulips.")))
        await talk(it, 4)
        await it.say("5. And?")
        run = (await it.until(lambda runs: len(runs) == 5 and runs[-1].state == "waiting"))[-1]
        it.clock.set(run.retry_at)
        run = (await it.settled(5))[-1]
        assert run.state == "failed" and "/new begins it afresh" in str(run.reason)
        await it.say("6. Still there?")
        assert (await it.settled(6))[-1].state == "done"


async def test_what_goes_on_with_the_conversation_is_no_summary(database_url: str) -> None:
    cut_off = answer("Let me see.", use("write_note", '{"title": "Tul'), stop_reason="max_tokens")
    async with inside(database_url, limits=SMALL) as it:
        it.api.answer_with(replying(cut_off, say("Tulips.")))
        await talk(it, 4)
        await it.say("5. And?")
        run = (await it.until(lambda runs: len(runs) == 5 and runs[-1].state == "waiting"))[-1]
        it.clock.set(run.retry_at)
        await it.settled(5)
        assert ["Tulips." in summary.shown for summary in await summaries(it)] == [True]


async def test_a_workers_task_stays_word_for_word(database_url: str) -> None:
    limits = attrs.evolve(SMALL, words_tokens=2_000)
    async with serve_messages_api() as api, open_house(database_url, api, limits=limits) as it:
        cast = Cast().play(api)
        cast.says(answer(use("delegate", {"task": f"Tulips: {LONG}"})), say("It says so."), say("Tulips."), say("So."))
        cast.does(
            "Tulips:", *(answer(LONG, use("no_such_tool", {})) for _ in range(3)), say("Summed up."), say("Done.")
        )
        await it.say("Look up tulips")
        await it.settled()
        (run,) = await worker_runs(it)
        assert run.state == "done", run.reason
        assert any(sums_up(asked) for asked in cast.asked)
        assert f"Tulips: {LONG.strip()}" in json.dumps(cast.asked[-1], ensure_ascii=False)


async def test_what_is_written_while_it_is_summed_up_joins_the_run(database_url: str) -> None:
    gate = Gate()
    async with inside(database_url, limits=SMALL) as it:
        it.api.answer_with(replying(say("Tul", gate, "ips.")))
        await talk(it, 4)
        await it.say("5. And now?")
        while not sums_up(it.api.asked[-1]):
            await it.api.arrived(len(it.api.requests) + 1)
        await it.say("6. Quick!")
        gate.open()
        await it.settled(5)
        assert texts(it.api.asked[-1])[-2:] == ["5. And now?", "6. Quick!"] and len(await it.runs()) == 5


async def _note(it: Inside, title: str, text: str) -> None:
    writes = notes.write(
        agent=MAIN_AGENT,
        title=title,
        text=text,
        made_by=f"request:{title}",
        label=0,
        run=None,
        id=it.house.store.next_id(),
        now=it.clock.now(),
    )
    await it.house.store.ask(Commit(writes))


def _uses(request: Json) -> list[str]:
    return [b["id"] for m in request["messages"] for b in m["content"] if b["type"] == "tool_use"]


def _results(request: Json) -> list[str]:
    return [b["tool_use_id"] for m in request["messages"] for b in m["content"] if b["type"] == "tool_result"]


def _bare(messages: list[Json]) -> list[Any]:
    """Messages without cache markers."""

    def bare(value: Any) -> Any:
        if isinstance(value, dict):
            return {name: bare(part) for name, part in value.items() if name != "cache_control"}
        return [bare(part) for part in value] if isinstance(value, list) else value

    return [bare(message) for message in messages]
