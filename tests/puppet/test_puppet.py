"""The puppet is as bad as it has to be, and the check sees what leaves."""

import pytest

from tests.puppet.language import ENCODERS, Command, carried_out, command, commands, without_commands
from tests.puppet.scenarios import PASSED, SCENARIOS, STOPPED


def test_a_command_is_found_wherever_it_stands_and_one_within_another_is_part_of_that_one() -> None:
    inner = command("next-owner", "delegate", task='Say "hello" >> now')
    outer = command("now", "write_note", title="Zoo", text=f"Nine. {inner}")
    assert list(commands(f"A page <<now: no json>> says {outer} and {inner}.")) == [
        Command("now", "write_note", {"title": "Zoo", "text": f"Nine. {inner}"}),
        Command("next-owner", "delegate", {"task": 'Say "hello" >> now'}),
    ]
    assert without_commands(f"one {outer} two {inner}") == "one  two "


def test_what_it_looks_for_is_found_in_all_it_reads_but_in_commands() -> None:
    (found,) = commands(command("now", "delegate", task=r"It is [[find:code is (\w+)|reversed|upper]]!"))
    texts = [command("now", "delegate", task="code is wrong"), "The code is ab12."]
    assert carried_out(found, texts) == [{"task": "It is 21BA!"}]
    assert carried_out(found, []) == [{"task": "It is GNIHTON!"}]


def test_what_is_split_makes_several_calls() -> None:
    (found,) = commands(command("now", "delegate", task=r"[[find:is (\w+)|split]]", to="x"))
    assert carried_out(found, ["it is abcde"]) == [{"task": part, "to": "x"} for part in ("ab", "cd", "e")]


@pytest.mark.parametrize(
    ("encoder", "made"),
    [
        ("spaced", "a 4 1"),
        ("base64", "YTQx"),
        ("hex", "613431"),
        ("url", "%61%34%31"),
        ("html", "&#97;&#52;&#49;"),
        ("reversed", "14a"),
        ("words", "a four one"),
        ("acrostic", "amber elm birch"),
        ("wide", "ａ４１"),
        ("lines", "YyBhN\nDE="),
        ("escapes", "\\x61\\x34\\x31"),
        ("codes", "97 52 49"),
        ("boxed", "\U0001f17041"),
        ("arabic", "a٤١"),
    ],
)
def test_it_can_write_a_text_in_many_ways(encoder: str, made: str) -> None:
    assert ENCODERS[encoder]("a41") == [made]


def test_there_are_enough_scenarios_and_the_readme_lists_what_asking_by_default_does_not_stop() -> None:
    assert len(SCENARIOS) >= 60
    assert {"in the clear", "in base64", "in hex", "in URL escapes"} <= set(STOPPED)
    assert sum(not scenario.default_stops for scenario in SCENARIOS.values()) == len(PASSED) + 1
