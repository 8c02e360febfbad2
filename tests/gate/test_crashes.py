"""Killed after every commit between a yes and its effect: it is done as it was shown, once, or said to be unsure."""

import pytest
import trio

from storage.notes import NoteVersions, ReadNote
from tests.gate.death import Death
from tests.gate.world import Scene, Stage, look_up, note, send, staged
from tests.messages_api import answer, say
from tests.messages_api.replies import Use

pytestmark = pytest.mark.slow

COMMITS_MAX = 8


async def _deed(it: Scene, words: str) -> None:
    """He answers what is still open; then all of it comes to rest."""
    for question in await it.questions():
        if question.open:
            await it.answer(question, words)


async def _killed(stage: Stage, after: int, act: Use, words: str, *, late: bool) -> bool:
    """Kill the house after so many commits of an answer, and let the next one finish. False: it ended before."""
    stage.api.script(lambda request: say("Done."))
    async with stage.open() as it:
        it.api.script(answer(look_up()), answer(act), *([say("Later.")] if late else []))
        await it.tell("Read it")
        await it.asked()
        if late:
            await it.tell("Never mind")
            await it.settled(1)
        death = Death(it.house, after)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(_until_settled, it, words, 2 if late else 1, nursery.cancel_scope)
            await death.came.wait()
            nursery.cancel_scope.cancel()
        if not death.came.is_set():
            return False
    async with stage.open() as it:
        await _deed(it, words)
        await it.settled(2 if late else 1)
        assert all(run.state == "done" for run in await it.runs())
        assert [question.state for question in await it.questions()] == ["answered"]
        assert all(call.state in ("finished", "detached") for call in (await it.transcript())[1])
    return True


async def _until_settled(it: Scene, words: str, runs: int, scope: trio.CancelScope) -> None:
    await _deed(it, words)
    await it.settled(runs)
    scope.cancel()


EVERY_COMMIT = pytest.mark.parametrize("after", range(1, COMMITS_MAX + 1))
SOON_OR_LATE = pytest.mark.parametrize("late", [False, True])


@EVERY_COMMIT
@SOON_OR_LATE
async def test_a_note_is_written_once_wherever_the_process_dies(late: bool, after: int, database_url: str) -> None:
    async with staged(database_url) as stage:
        died = await _killed(stage, after, note("tea"), "yes", late=late)
        assert died or after > 3  # the yes, the effect and the answer are three commits at least
        async with stage.open() as it:
            found = await it.ask(ReadNote("dreamwalker", "Shopping"))
            assert found is not None and found.text == "tea"
            assert len(await it.ask(NoteVersions(found.id))) == 1


@EVERY_COMMIT
@SOON_OR_LATE
async def test_what_cannot_be_repeated_is_done_once_or_said_to_be_unsure(
    late: bool, after: int, database_url: str
) -> None:
    async with staged(database_url) as stage:
        died = await _killed(stage, after, send("hi"), "yes", late=late)
        assert died or after > 4  # that it begins is one more
        async with stage.open() as it:
            _, calls = await it.transcript()
            (question,) = await it.questions()
        unsure = any("Cut short by a restart" in (call.result or "") for call in calls)
        assert unsure or stage.world.left == ["anna: hi"]
        assert not unsure or (stage.world.left in ([], ["anna: hi"]) and question.started_at is not None)


@EVERY_COMMIT
async def test_a_no_does_nothing_wherever_the_process_dies(after: int, database_url: str) -> None:
    async with staged(database_url) as stage:
        await _killed(stage, after, send("hi"), "no", late=False)
        assert stage.world.left == []


@EVERY_COMMIT
async def test_a_run_goes_on_without_the_answer_wherever_the_process_dies(after: int, database_url: str) -> None:
    async with staged(database_url) as stage:
        stage.api.script(lambda request: say("Later, then."))
        async with stage.open() as it:
            it.api.script(answer(look_up()), answer(send("hi")))
            await it.tell("Read it")
            (question,) = await it.asked()
            death = Death(it.house, after)
            async with trio.open_nursery() as nursery:
                nursery.start_soon(_until_told, it, nursery.cancel_scope)
                await death.came.wait()
                nursery.cancel_scope.cancel()
        async with stage.open() as it:
            await it.settled(1)
            assert stage.world.left == [] and [q.open for q in await it.questions()] == [True]
            await it.answer(question, "yes")
            await it.settled(2)
            assert stage.world.left == ["anna: hi"]


async def _until_told(it: Scene, scope: trio.CancelScope) -> None:
    await it.tell("Never mind")
    await it.settled(1)
    scope.cancel()
