"""`search` and `retention`, as the owner uses them."""

import json

from tests.cli.conftest import Machine


def test_what_was_said_and_noted_is_found_by_its_words(practiced: Machine) -> None:
    practiced.call("ask", "Remember that Anna likes zinnias.")
    found = practiced.call("search", "ZINNIA", "anna")
    assert found.exit_code == 0 and "note" in found.stdout and "you" in found.stdout
    read = json.loads(practiced.call("search", "zinnia", "--json").stdout)
    assert any("zinnias" in hit["text"] for hit in read["entries"]) and read["notes"][0]["agent"] == "dreamwalker"
    nothing = practiced.call("search", "quetzalcoatl")
    assert nothing.exit_code == 4 and "quetzalcoatl" in nothing.stderr


def test_retention_is_shown_before_anything_goes(practiced: Machine) -> None:
    said = practiced.call("retention")
    assert said.exit_code == 0 and said.stdout.startswith("Everything is kept for ever.")
    said = practiced.call("retention", "90")
    assert "With 90 days" in said.stdout and "dreamwalker settings keep_days 90" in said.stdout
    assert practiced.call("settings", "keep_days", "3").exit_code == 1, "a week is the least"
    assert practiced.call("settings", "keep_days", "90").exit_code == 0
    assert practiced.call("retention").stdout.startswith("What may go is kept for 90 days.")
    assert practiced.call("settings", "keep_days", "0").exit_code == 0
