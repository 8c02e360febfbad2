"""What the environment says of the Netlify grant."""

import pytest

from dreamwalker.config import BadConfiguration, read

BASE = {"DREAMWALKER_TOKEN": "a-token-of-the-tests-with-more-than-32-bytes", "DREAMWALKER_HOME": "/nonexistent"}
TOKEN = {"DREAMWALKER_NETLIFY_TOKEN": "nfp_A7xTq92LmZ4vB8nK1cR6tY3wE5"}


def test_a_token_and_its_team_are_read_and_the_token_is_a_secret() -> None:
    config = read(BASE | TOKEN | {"DREAMWALKER_NETLIFY_TEAM": "moon-garden"})
    assert (config.netlify_team, config.netlify_url) == ("moon-garden", "https://api.netlify.com/api/v1")
    assert config.secrets()["NETLIFY TOKEN"] == TOKEN["DREAMWALKER_NETLIFY_TOKEN"]
    assert TOKEN["DREAMWALKER_NETLIFY_TOKEN"] not in repr(config)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (TOKEN, "DREAMWALKER_NETLIFY_TOKEN needs DREAMWALKER_NETLIFY_TEAM"),
        (TOKEN | {"DREAMWALKER_NETLIFY_TEAM": "Moon Garden"}, "DREAMWALKER_NETLIFY_TEAM is the slug of a team"),
        ({"DREAMWALKER_NETLIFY_TOKEN": "short", "DREAMWALKER_NETLIFY_TEAM": "moon"}, "use a longer, more random one"),
    ],
)
def test_what_can_not_be_used_is_reported(given: dict[str, str], said: str) -> None:
    with pytest.raises(BadConfiguration, match=said):
        read(BASE | given)
