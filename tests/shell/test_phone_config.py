"""What the environment says of the phone, of waking, and of the names it answers to."""

import pytest

from dreamwalker.config import DEFAULT_NTFY_URL, BadConfiguration, Config, read

TOPIC = "dw-7f3a91c2b6e8d045"


def config(**variables: str) -> Config:
    return read({"DREAMWALKER_ZONE": "UTC", "DREAMWALKER_HOME": "/nonexistent"} | variables)


def test_without_a_topic_nothing_is_pushed_and_the_server_is_the_public_one() -> None:
    made = config()
    assert (made.ntfy_topic, made.ntfy_token, made.public_url, made.wake_token) == (None, None, None, None)
    assert made.ntfy_url == DEFAULT_NTFY_URL and made.hosts == ()


def test_a_topic_a_token_and_addresses_are_read_without_slashes_at_their_ends() -> None:
    made = config(
        DREAMWALKER_NTFY_TOPIC=TOPIC,
        DREAMWALKER_NTFY_TOKEN="tk_AgQdq7mVBoFD37zQVN29RhuMzNIz2",
        DREAMWALKER_NTFY_URL="https://push.example/",
        DREAMWALKER_PUBLIC_URL="https://dream.example/",
        DREAMWALKER_HOSTS="Agent.example, other.example",
        DREAMWALKER_WAKE_TOKEN="rJk2vX9qLm4TzB7wYc1NfHd8SgP5aEo3uVi6xQ0sKtM",
    )
    assert (made.ntfy_url, made.public_url) == ("https://push.example", "https://dream.example")
    assert made.hosts == ("agent.example", "other.example", "dream.example"), "what a button calls it is its own name"
    assert set(made.secrets()) == {"NTFY TOPIC", "NTFY TOKEN", "WAKE TOKEN"}


def test_topic_and_tokens_do_not_show_in_what_is_printed_of_it() -> None:
    token = "tk_AgQdq7mVBoFD37zQVN29RhuMzNIz2"
    wake = "rJk2vX9qLm4TzB7wYc1NfHd8SgP5aEo3uVi6xQ0sKtM"
    shown = repr(config(DREAMWALKER_NTFY_TOPIC=TOPIC, DREAMWALKER_NTFY_TOKEN=token, DREAMWALKER_WAKE_TOKEN=wake))
    assert TOPIC not in shown and token not in shown and wake not in shown


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("DREAMWALKER_NTFY_TOPIC", "my topic"),
        ("DREAMWALKER_NTFY_TOPIC", "https://ntfy.sh/dw-7f3a91c2b6e8d045"),
        ("DREAMWALKER_NTFY_TOPIC", "x" * 65),
        ("DREAMWALKER_NTFY_TOPIC", "phone"),
        ("DREAMWALKER_NTFY_TOKEN", "secret"),
        ("DREAMWALKER_NTFY_URL", "ntfy.sh"),
        ("DREAMWALKER_NTFY_URL", "https://user:password@ntfy.sh"),
        ("DREAMWALKER_PUBLIC_URL", "https://"),
        ("DREAMWALKER_PUBLIC_URL", "https://dream.example/?x"),
        ("DREAMWALKER_HOSTS", "https://dream.example"),
        ("DREAMWALKER_HOSTS", "dream.example:8765"),
        ("DREAMWALKER_WAKE_TOKEN", "short"),
    ],
)
def test_what_can_not_be_is_told_by_its_name(name: str, value: str) -> None:
    with pytest.raises(BadConfiguration) as refused:
        config(**{name: value})
    said = str(refused.value)
    assert name in said or name.removeprefix("DREAMWALKER_").replace("_", " ") in said


def test_a_topic_that_anybody_guesses_is_refused_in_words() -> None:
    with pytest.raises(BadConfiguration, match="DREAMWALKER_NTFY_TOPIC can't be told from ordinary text"):
        config(DREAMWALKER_NTFY_TOPIC="reminders")
