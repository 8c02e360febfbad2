"""What does not fit is told by its own name, in words."""

import re
from typing import Any

import msgspec
import pytest

from dreamwalker.api.agents import NewAgent
from dreamwalker.api.messages import NewMessage
from dreamwalker.api.settings import SettingsChange
from dreamwalker.api.things import ThingsQuery
from dreamwalker.api.unfit import words


@pytest.mark.parametrize(
    ("value", "struct", "says"),
    [
        (
            {"name": "Foo Bar", "job": "x"},
            NewAgent,
            "`name` can't be that. Small letters, digits and hyphens, 32 at most; it can't be changed later.",
        ),
        ({"job": "x"}, NewAgent, "`name` is missing."),
        ({"name": "a", "job": "x", "age": 1}, NewAgent, "There is no `age` here."),
        ({"name": "a", "job": "x", "model": 4}, NewAgent, "`model` has to be a text or null; this is a whole number."),
        ([], NewAgent, "What was sent has to be an object; this is a list."),
        ({"pushes": "yes"}, SettingsChange, "`pushes` has to be true or false; this is a text."),
        ({"snooze_minutes": 1.5}, SettingsChange, "`snooze_minutes` has to be a whole number; this is a number."),
        ({"before": 0}, ThingsQuery, "`before` has to be at least 1."),
    ],
)
def test_what_does_not_fit_is_told_in_words(value: Any, struct: type[msgspec.Struct], says: str) -> None:
    with pytest.raises(msgspec.ValidationError) as raised:
        msgspec.convert(value, struct)
    assert words(raised.value, struct) == says


def test_no_refusal_shows_a_pattern_or_the_words_of_the_library() -> None:
    for value in (
        {},
        {"request_id": 1},
        {"request_id": "a b", "text": "x"},
        {"request_id": "1", "text": "x", "quotes": [1]},
    ):
        with pytest.raises(msgspec.ValidationError) as raised:
            msgspec.convert(value, NewMessage)
        assert not re.search(r"Expected|\$\.|\^|regex", words(raised.value, NewMessage))
