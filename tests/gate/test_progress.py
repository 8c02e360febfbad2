"""What the owner decides, or says instead, gets a run on: it is not given up for how often it was taken up before."""

import attrs

from storage.operation import Commit
from storage.runs import step
from tests.gate.world import Scene, look_up, note, staged
from tests.messages_api import Gate, answer, text


async def _taken_up_three_times(it: Scene) -> None:
    """As if it had been: the run that waits for him is at its last attempt."""
    (run,) = await it.runs()
    assert run.state == "waiting"
    await it.house.store.ask(Commit((step(attrs.evolve(run, attempt=it.house.limits.resumes)),)))


async def test_a_run_that_goes_on_with_his_words_starts_counting_anew(database_url: str) -> None:
    gate = Gate()
    async with staged(database_url) as stage:
        async with stage.open() as it:
            it.api.script(answer(look_up()), answer(note()), answer(text("On", gate)))
            await it.tell("Read it")
            await it.asked()
            await _taken_up_three_times(it)
        async with stage.open() as it:
            await it.tell("Never mind")
            await gate.reached.wait()
            assert [run.attempt for run in await it.runs()] == [0]


async def test_a_run_that_hears_his_answer_starts_counting_anew(database_url: str) -> None:
    gate = Gate()
    async with staged(database_url) as stage:
        async with stage.open() as it:
            it.api.script(answer(look_up()), answer(note()), answer(text("On", gate)))
            await it.tell("Read it")
            (question,) = await it.asked()
            await _taken_up_three_times(it)
        async with stage.open() as it:
            await it.answer(question, "no")
            await gate.reached.wait()
            assert [run.attempt for run in await it.runs()] == [0]
