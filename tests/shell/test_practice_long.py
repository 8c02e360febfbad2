"""The practice model in a conversation that became long: it sums up, goes on, and does nothing twice."""

from actors.window import ABOVE, SUM_UP
from dreamwalker.practice_answer import SUMMED_UP, turn
from tests.messages_api.replies import Json


def user(*texts: str) -> Json:
    return {"role": "user", "content": [{"type": "text", "text": text} for text in texts]}


def said(text: str) -> Json:
    return {"role": "assistant", "content": [{"type": "text", "text": text}]}


TIME = "[2026-11-30 Monday 09:00 Europe/Vienna]"


def summed_up(*messages: Json) -> str:
    return turn({"messages": [*messages, user(SUM_UP)], "max_tokens": 1}).text


def test_it_sums_up_what_was_said() -> None:
    text = summed_up(user(TIME, "Remember that Anna likes tulips."), said("Done."))
    assert text.splitlines() == [SUMMED_UP, "- You: Remember that Anna likes tulips.", "- I: Done."]


def test_a_summary_goes_into_the_next() -> None:
    first = summed_up(user(TIME, "Remember that Anna likes tulips."), said("Done."))
    text = summed_up(user(f"{ABOVE}\n\n{first}"), user(TIME, "Hello"), said("Hi."))
    assert text.splitlines()[1:] == [
        "- You: Remember that Anna likes tulips.",
        "- I: Done.",
        "- You: Hello",
        "- I: Hi.",
    ]


def test_it_does_not_do_again_what_stands_above_a_summary() -> None:
    tools = [{"name": "write_note", "input_schema": {"properties": {"title": {}, "text": {}}}}]
    kept = user(TIME, "Remember that Anna likes tulips.")
    summary = user(f"{ABOVE}\n\n{summed_up(kept, said('Done.'))}")
    asked = {"messages": [kept, summary, user(TIME, "Hello")], "tools": tools, "max_tokens": 1}
    assert turn(asked).uses == () and "write_note" in str(turn({**asked, "messages": [kept]}).uses)
