"""The view of a conversation: each thing once and in its order, however it comes."""

from typing import Any

import attrs
from hypothesis import given
from hypothesis import strategies as st

from dreamwalker.cli.calls import working
from dreamwalker.cli.terminal import Json
from dreamwalker.cli.times import Times
from dreamwalker.cli.view import View, rest_of, status_of


@attrs.define
class Paper:
    """A screen that keeps what it was shown."""

    text: str = ""
    written: bool = False

    def write(self, text: str) -> None:
        self.text += text
        self.written = not self.text.endswith("\n")

    def line(self, text: str, style: str = "") -> None:
        self.text += ("\n" if self.written else "") + text + "\n"
        self.written = False

    def aside(self, text: str, style: str = "") -> None:
        above, _, row = self.text.rpartition("\n")
        self.text = "\n".join([*([above] if above else []), text, row])


class Talk:
    """A conversation as a server tells it, with a view of it."""

    def __init__(self) -> None:
        self.paper = Paper()
        self.view = View(self.paper, Times(None))
        self.no = 0

    @property
    def text(self) -> str:
        return self.paper.text

    def change(self, **rows: list[Json]) -> Json:
        self.no += 1
        change: Json = {"no": self.no, "messages": [], "entries": [], "runs": [], "calls": [], "questions": [],
                        "workers": []} | rows  # fmt: skip
        self.view.change(change)
        return change

    def write(self, seq: int, offset: int, text: str) -> None:
        self.view.text({"seq": seq, "run": 1, "offset": offset, "text": text})


def owner(seq: int, text: str, run: int = 1) -> Json:
    return entry(seq, text, kind="message", source="owner", turn=None, run=run)


def entry(seq: int, text: str, **fields: Any) -> Json:
    return {"seq": seq, "text": text, "kind": "reply", "source": "model", "run": 1, "turn": 1, "cut": None} | fields


def run(state: str, **fields: Any) -> Json:
    return {"id": 1, "state": state, "reason": None, "retry_at": None} | fields


def call(state: str, **fields: Any) -> Json:
    made = {"run": 1, "turn": 1, "position": 0, "tool": "write_note", "arguments": '{"title":"Keys"}'}
    return made | {"state": state, "failed": False, "result": ""} | fields


def message(state: str, text: str = "and the bike?", id: int = 7) -> Json:
    return {"id": id, "state": state, "text": text, "kind": "owner"}


def test_text_that_was_seen_being_written_is_not_shown_again_when_it_is_committed() -> None:
    talk = Talk()
    talk.change(entries=[owner(1, "hi")], runs=[run("open")])
    talk.write(2, 0, "Hello, ")
    talk.write(2, 7, "wor")
    talk.change(entries=[entry(2, "Hello, world!")], runs=[run("done")])
    assert talk.text == "› hi\n\nHello, world!\n\n"


def test_the_same_change_twice_shows_nothing_twice() -> None:
    talk = Talk()
    change = talk.change(
        messages=[message("placed")], entries=[owner(1, "hi"), entry(2, "Hello")], calls=[call("finished")],
        runs=[run("failed", reason="It broke.")],
    )  # fmt: skip
    shown = talk.text
    talk.view.change(change)
    assert talk.text == shown


def test_text_begun_anew_with_the_same_words_goes_on_where_it_was() -> None:
    talk = Talk()
    talk.write(2, 0, "Hello, wor")
    talk.write(2, 0, "")
    talk.write(2, 0, "Hello, ")
    talk.write(2, 7, "world!")
    assert talk.text == "Hello, world!"


def test_text_begun_anew_with_other_words_is_shown_whole_and_said_to_be_another() -> None:
    talk = Talk()
    talk.write(2, 0, "Hello, wor")
    talk.write(2, 0, "Good day")
    talk.change(entries=[entry(2, "Good day to you.")], runs=[run("done")])
    assert talk.text == "Hello, wor\n  (what was begun here was lost)\nGood day to you.\n\n"


def test_a_piece_that_is_missing_comes_with_the_entry() -> None:
    talk = Talk()
    talk.write(2, 0, "One ")
    talk.write(2, 8, "three")
    talk.change(entries=[entry(2, "One two three")])
    assert talk.text == "One two three\n\n"


def test_blocks_of_text_are_joined_differently_in_flight_and_in_the_entry() -> None:
    talk = Talk()
    talk.write(2, 0, "First.Second")
    talk.change(entries=[entry(2, "First.\n\nSecond part.")])
    assert talk.text == "First.Second part.\n\n"


def test_text_in_flight_that_comes_after_its_entry_is_not_shown() -> None:
    talk = Talk()
    talk.change(entries=[entry(2, "Hello")])
    talk.write(2, 0, "Hello")
    assert talk.text == "Hello\n\n"


def test_an_answer_that_is_lost_for_good_stays_and_the_reason_follows() -> None:
    talk = Talk()
    talk.change(runs=[run("open")])
    talk.write(2, 0, "Hello, wor")
    talk.change(runs=[run("failed", reason="The model is down.")])
    assert talk.text == "Hello, wor\n\n  ✗ It failed: The model is down.\n\n"


def test_calls_come_after_the_reply_that_made_them_and_before_the_next_one() -> None:
    talk = Talk()
    talk.change(
        entries=[entry(4, "Done.", turn=2), entry(2, "I'll write it down.")],
        calls=[call("finished", position=1, tool="read_note"), call("finished")],
    )
    assert talk.text.split("\n") == [
        "I'll write it down.", "", "  ✓ write_note Keys", "  ✓ read_note Keys", "Done.", "", "",
    ]  # fmt: skip


def test_a_call_under_way_is_listed_until_it_ends_and_then_shown_once() -> None:
    talk = Talk()
    talk.change(entries=[entry(2, "")], calls=[call("begun")], runs=[run("open")])
    assert talk.view.working == ["write_note Keys"] and talk.text == ""
    talk.change(calls=[call("finished", failed=True, result="No such\nnote.")])
    assert talk.view.working == [] and talk.text == "  ✗ write_note Keys: No such note.\n"


def test_a_message_waits_until_it_is_placed_whatever_comes_first() -> None:
    talk = Talk()
    talk.change(messages=[message("waiting")])
    assert [waiting["text"] for waiting in talk.view.waiting] == ["and the bike?"]
    talk.change(messages=[message("placed")], entries=[owner(3, "and the bike?")])
    talk.view.accepted(message("waiting"))  # the answer to sending it comes late
    assert talk.view.waiting == [] and talk.text == "› and the bike?\n\n"


def test_a_message_that_was_taken_back_is_said_to_be() -> None:
    talk = Talk()
    talk.change(messages=[message("waiting")])
    talk.change(messages=[message("withdrawn")])
    assert talk.view.waiting == [] and talk.text == "  taken back: and the bike?\n"


def test_a_remark_does_not_cut_a_text_that_is_being_written_in_two() -> None:
    talk = Talk()
    talk.write(2, 0, "One.\nHello, wor")
    talk.view.say("(the connection was lost)")
    talk.write(2, 15, "ld!")
    assert talk.text == "One.\n(the connection was lost)\nHello, world!"


def test_text_from_outside_a_fresh_start_and_a_cut_reply_are_told_as_what_they_are() -> None:
    talk = Talk()
    talk.change(entries=[
        entry(1, "Buy\nnow", kind="message", source="outside", what="The worker is done"),
        entry(2, "", kind="fresh", source="house"),
        entry(3, "Hel", cut="Stopped by you."),
    ])  # fmt: skip
    assert "▸ the worker is done: Buy now" in talk.text
    assert "a fresh start" in talk.text
    assert talk.text.endswith("Hel\n\n  ■ cut short: Stopped by you.\n\n")


def test_history_is_brief_and_what_is_under_way_is_whole() -> None:
    talk, long = Talk(), "\n".join(f"line {number}" for number in range(20))
    page = {
        "no": 9, "more": True, "messages": [message("waiting")], "run": run("open", id=2), "calls": [], "questions": [],
        "workers": [],
        "entries": [owner(1, long), entry(2, long), owner(3, "go on", run=2), entry(4, long, run=2)],
    }  # fmt: skip
    talk.view.open(page)
    assert talk.text.count("line 5\n") == 3 and talk.text.count("line 19") == 1
    assert talk.view.no == 9 and talk.view.run == run("open", id=2) and len(talk.view.waiting) == 1


def test_what_is_going_on_is_said_only_when_it_cannot_be_seen() -> None:
    talk = Talk()
    assert status_of(talk.view) is None
    talk.change(runs=[run("open")])
    assert status_of(talk.view) == "thinking …"
    talk.change(runs=[run("waiting", reason="The model is busy.")])
    assert status_of(talk.view) == "It waits: The model is busy."
    talk.write(2, 0, "Hello")
    assert status_of(talk.view) is None


def test_that_the_conversation_is_summed_up_is_said_until_it_is_or_nobody_knows() -> None:
    talk = Talk()
    talk.change(runs=[run("open")])
    talk.view.summing({"run": 1, "over": False})
    assert status_of(talk.view) == "summing up what was said so far …"
    talk.view.summing({"run": 1, "over": True})
    assert status_of(talk.view) == "thinking …"
    talk.view.summing({"run": 1, "over": False})
    talk.view.lost()
    assert status_of(talk.view) == "thinking …"


@given(st.text(max_size=60), st.data())
def test_however_text_is_lost_and_begun_anew_it_is_shown_once(text: str, data: st.DataObject) -> None:
    """The server restarts at any place, the same words come again in other pieces, and then the entry."""
    talk = Talk()
    for _ in range(3):
        heard = data.draw(st.integers(0, len(text)))
        at = 0
        while at < heard:
            size = data.draw(st.integers(1, heard - at))
            talk.write(2, at, text[at : at + size])
            at += size
        if data.draw(st.booleans()):
            talk.write(2, 0, "")
    talk.change(entries=[entry(2, text)], runs=[run("done")])
    assert talk.text.rstrip("\n") == text.rstrip("\n")


@given(st.text(max_size=40), st.text(max_size=40))
def test_what_is_left_of_a_text_completes_it(shown: str, rest: str) -> None:
    assert rest_of(shown, shown + rest) == rest


def test_an_agent_that_waits_for_the_owner_says_so_under_the_call_that_asked_it() -> None:
    worker = {"state": "waiting", "replies": 1, "at": "", "reason": "Your answer to question 25 is needed."}
    assert working(worker) == "1 reply, waiting: Your answer to question 25 is needed."
    assert working(worker | {"state": "open", "at": 'delegate {"task": "Roses"}'}) == "1 reply, delegate Roses"
