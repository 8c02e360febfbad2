"""Twenty ordinary errands on the web, in one conversation: the owner is hardly ever asked.

The tasks are worded as a model words them, who puts in all that a worker needs: names from his message, what came of
the errand before, the form of the answer.
"""

import pytest

from storage.questions import ListQuestions
from tests.actors.delegating import Cast
from tests.actors.house import inside
from tests.messages_api import answer, say, use
from tests.web.internet import Internet, http

ERRANDS = [
    # what he writes, the task, what the worker answers, what he is told
    (
        "When is the Kunsthistorisches Museum open on Sundays?",
        "Find the opening hours of the Kunsthistorisches Museum in Vienna on Sundays. Answer with hours and page.",
        "It is open on Sundays from 10:00 to 18:00 (khm.example/visit).",
        "On Sundays it is open from 10:00 to 18:00.",
    ),
    (
        "And what does a ticket cost?",
        "Find what a regular ticket for adults to the Kunsthistorisches Museum in Vienna costs. Answer with the price.",
        "A regular ticket is 21 euros, 18 online.",
        "21 euros at the door, 18 online.",
    ),
    (
        "How do I get there from the main station?",
        "Find out how to get from Wien Hauptbahnhof to the Kunsthistorisches Museum by public transport.",
        "Take the U1 to Karlsplatz, then the U2 to MuseumsQuartier; 12 minutes.",
        "With the U1 to Karlsplatz, then the U2 to MuseumsQuartier. It takes 12 minutes.",
    ),
    (
        "What's the weather in Graz tomorrow?",
        "Find the weather forecast for Graz for Monday, 30 November 2026. Temperature, rain, wind.",
        "Monday: 3 to 7 degrees, light rain in the afternoon, little wind.",
        "3 to 7 degrees, with light rain in the afternoon.",
    ),
    (
        "Which trains go there in the morning?",
        "Find train connections from Wien Hauptbahnhof to Graz Hauptbahnhof, Monday morning, 30 November 2026.",
        "Railjet at 5:58, 6:58, 7:58 and 8:58; each takes 2 hours 35 minutes.",
        "Every hour at two to: 5:58, 6:58, 7:58, 8:58.",
    ),
    (
        "Is the 7:58 on time usually?",
        "Find out how punctual the Railjet from Wien Hauptbahnhof to Graz at 7:58 is on average.",
        "About 85 percent of these trains arrive less than five minutes late.",
        "Mostly: 85 percent are less than five minutes late.",
    ),
    (
        "Look for a quiet café near the Hauptplatz in Graz",
        "Find a quiet café near the Hauptplatz in Graz, with address and opening hours. Name two or three.",
        "Café Sacher (Herrengasse 6), Tribeka (Kaiserfeldgasse 6), both open from 8.",
        "Two: Café Sacher in Herrengasse, and Tribeka in Kaiserfeldgasse.",
    ),
    (
        "Which one has oat milk?",
        "Find out whether Tribeka or Café Sacher in Graz offer oat milk. Say what their menus say.",
        "Tribeka offers oat milk; Sacher's menu says nothing of it.",
        "Tribeka does.",
    ),
    (
        "What's a good book on the history of bread?",
        "Find well-reviewed books on the history of bread, in English or German, with author and year. Name three.",
        "Rubel, Bread: A Global History (2011); Jacob, Six Thousand Years of Bread (1944); Kaplan (2006).",
        "Jacob's Six Thousand Years of Bread is the classic one; Rubel's is short and recent.",
    ),
    (
        "Is the Jacob one in print?",
        "Find out whether 'Six Thousand Years of Bread' by H. E. Jacob is in print, and what it costs.",
        "A paperback by Skyhorse is in print, about 18 dollars.",
        "Yes, as a paperback, about 18 dollars.",
    ),
    (
        "How long do you boil an ostrich egg?",
        "Find out how long an ostrich egg has to be boiled until it is hard, and until it is soft.",
        "Hard: about 90 minutes; soft: about 50.",
        "About 90 minutes for a hard one, 50 for a soft one.",
    ),
    (
        "Has the Python release this autumn come out?",
        "Find out which version of Python was released in autumn 2026 and when. Answer with version and date.",
        "Python 3.15 was released on 1 October 2026.",
        "Yes: Python 3.15, on 1 October.",
    ),
    (
        "What's new in it?",
        "Summarize what is new in Python 3.15 in five points, from the official release notes.",
        "A faster start, lazy imports, a new profiler, UTF-8 as the default, better errors.",
        "Above all lazy imports, a new profiler, and UTF-8 as the default.",
    ),
    (
        "How do lazy imports look?",
        "Find an example of lazy imports in Python 3.15 in the official documentation, two or three lines long.",
        "lazy import json",
        "One writes `lazy import json`; it is loaded when it is first used.",
    ),
    (
        "What are the symptoms of vitamin D deficiency?",
        "Find the common symptoms of a lack of vitamin D in adults, from a medical source. Name the source.",
        "Tiredness, bone pain, weak muscles (nhs.example).",
        "Tiredness, pain in the bones and weak muscles.",
    ),
    (
        "Which foods help?",
        "Find foods that are rich in vitamin D, with typical amounts, from a medical source. Name the source.",
        "Salmon, herring, egg yolks, mushrooms that saw the sun.",
        "Salmon, herring, egg yolks, and mushrooms that saw the sun.",
    ),
    (
        "Who won the chess match yesterday?",
        "Find out who won the game of the chess world championship on Saturday, 28 November 2026, and the score.",
        "Game four was drawn; the score is 2 to 2.",
        "Nobody: it was a draw, and it is 2 to 2.",
    ),
    (
        "When's the next game?",
        "Find date and time of the next game of the chess world championship 2026, after Saturday, 28 November.",
        "Game five is on Monday at 14:00 CET.",
        "On Monday at 14:00.",
    ),
    (
        "How much is a flight to Lisbon in March?",
        "Find the price of a return flight from Vienna to Lisbon in March 2027, one week, one person, and the airline.",
        "From 120 euros with TAP, in the second week.",
        "From about 120 euros, with TAP.",
    ),
    (
        "And is it warm then?",
        "Find the average temperatures and rain in Lisbon in March.",
        "12 to 18 degrees, 7 days of rain.",
        "Mild: 12 to 18 degrees, with a few days of rain.",
    ),
]


def test_there_are_twenty() -> None:
    assert len(ERRANDS) == 20


async def _asked(url: str, net: Internet, mode: str) -> int:
    """How often he is asked over all errands, and says yes."""
    async with inside(url, web=net.web()) as it:
        await it.house.choose("ask", mode)
        cast = Cast().play(it.api)
        asked: set[int] = set()
        for number, (said, task, found, told) in enumerate(ERRANDS, 1):
            net.pages[f"errand.example/{number}"] = http(found.encode(), kind="text/plain")
            cast.says(answer(use("delegate", {"task": task})), say(told))
            page = use("fetch_url", {"url": f"http://errand.example/{number}"})
            cast.does(task.split()[0], answer(page), say(found))
            await it.say(said, seen_no=it.house.store.commit_no)
            runs = await it.until(
                lambda runs, n=number: len(runs) == n and (runs[-1].ended or runs[-1].state == "waiting")
            )
            while not runs[-1].ended:
                (question,) = [q for q in await it.ask(ListQuestions(before=2**60, limit=99)) if q.open]
                asked.add(question.id)
                await it.house.decisions.answer(question.id, "yes")
                runs = await it.until(lambda runs, n=number: runs[-1].ended)
            assert runs[-1].state == "done" and (await it.said())[-1] == told
        return len(asked)


async def test_twenty_errands_ask_at_most_twice(database_url: str, net: Internet) -> None:
    assert await _asked(database_url, net, "since-message") <= 2


@pytest.mark.slow
async def test_whoever_wants_to_be_asked_is_asked_each_time_but_the_first(database_url: str, net: Internet) -> None:
    assert await _asked(database_url, net, "strict") == 19
