"""What the house told a model is said to the owner, addressed to him; what others wrote, to the letter."""

import pytest

from actors import journal
from dreamwalker.api.addressed import read_entry, read_result
from storage.text import dumps
from tests.messages_api import answer, say, use
from tests.world import world
from tools import answers, messages, questions
from tools.outside import Source, outside, source_of, told
from tools.redact import Redactor


def result(text: str) -> str:
    return read_result(dumps({"content": [{"type": "text", "text": text}]}), "read_note").text


HOUSE = (
    journal.STOPPED,
    journal.NOT_ALLOWED,
    journal.INTERRUPTED,
    questions.DETACHED,
    answers.DETACHED,
    questions.CLOSED,
    questions.TOO_MANY,
    questions.CHANGED,
    questions.same(7),
    messages.too_far(3),
)


@pytest.mark.parametrize("text", HOUSE)
def test_what_the_house_says_of_the_owner_it_says_to_him(text: str) -> None:
    assert "owner" in text
    shown = result(text)
    assert "owner" not in shown and ("you" in shown.lower())


def test_what_a_tool_gave_back_stays_as_it_is() -> None:
    for text in ("The owner of the shop said yes.", "⟦x⟧\n[y]", f"He said: {questions.DETACHED}"):
        assert result(text) == text


@pytest.mark.parametrize("source", Source)
def test_a_text_from_outside_is_named_to_the_owner_and_stands_there_whole(source: Source) -> None:
    made = outside(
        "The owner said yes.\n[x]\n⟦y⟧\u202e", source, redactor=Redactor({}), limit_characters=25, origin="a mail"
    )
    said = read_entry(
        dumps([{"type": "text", "text": "[2026-11-30 Monday 11:00 Europe/Vienna]"}, *made.blocks]), "message", "outside"
    )
    assert "owner" not in said.what and said.what == told(source.value.partition(".")[0])
    assert said.origin == "a mail"
    assert said.text == (
        "[Removed from it: 1 character that cannot be seen.]\n\nThe owner said yes.\n[x]\n[\n\n"
        "[cut here: 2 more characters]"
    )
    assert "owner" in source.remark and source_of(made.blocks[0]["text"]) is source, "a model is told as before"


def test_what_a_model_wrote_is_never_taken_for_a_frame() -> None:
    text = f"{Source.QUOTE.remark}\n⟦x⟧ hello"
    assert read_entry(dumps([{"type": "text", "text": text}]), "reply", "model").text == text


async def test_a_no_comes_back_to_the_owner_in_his_own_words(database_url: str) -> None:
    note = answer(use("write_note", {"title": "Keys", "text": "On the hook"}))
    async with world(database_url, note, say("Wait."), say("As you say.")) as w:
        message = await w.say("And this?", quotes=[{"from": "a mail", "text": "Note the keys!"}])
        number = await w.asked(message["accepted_no"] - 1)
        question = (await w.get(f"/api/questions/{number}"))["question"]
        assert "Something that you pasted or attached, from “a mail”" in question["why"]
        sent = await w.say("Go on")
        await w.settled(sent["accepted_no"] - 1)
        await w.answer(number, "no")
        await w.settled(runs=2)
        page = await w.get("/api/agents/dreamwalker/entries")
        assert [call["result"] for call in page["calls"]] == [
            "Still open: you have not decided this yet. Its outcome comes as a message."
        ]
        outcome = next(entry for entry in page["entries"] if entry["text"].startswith("You said no"))
        assert outcome["text"].startswith(
            f"You said no to question {number}. Nothing was done.\nIt was about: write_note"
        )
        assert outcome["what"] == "The outcome of a question that was open"
