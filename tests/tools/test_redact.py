"""Whole secrets leave no text in any spelling, and nothing else is touched."""

import base64
import json
import random
import time
import urllib.parse

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.tools import spell
from tests.tools.clean_corpus import clean_corpus
from tools.redact import Redactor, SecretTooWeak

SECRETS = {
    "API_TOKEN": "dw_9fK2-xQ7_mZ4vB8nL1cR6tY3",
    "DATABASE_URL": "postgresql://owner:p%40ss/w0rd+x==@db.example.net:5432/main?sslmode=require&x=1",
    "GATEWAY_KEY": "a\"b\\c/d&e<f>g%h+i=j'k9",
    "PASSPHRASE": "Korrekt Pferd Bätterie 電池 🔋 7",
    "NTFY_TOKEN": "tk_a1b2c",
    "SIGNING_KEY": "-----BEGIN KEY-----\nMC4CAQAwBQYDK2VwBCIEIJ+/9\nnq/8s==\n-----END KEY-----\n",
}
REDACTOR = Redactor(SECRETS)
NAMES = st.sampled_from(sorted(SECRETS))
SEEDS = st.integers(0, 2**32)
CONTEXT = st.text(st.characters(codec="utf-8") | st.sampled_from("%\\&#;u/+= \n0123456789abcdefABCDEF"), max_size=12)


def _in_portions(text: str, chance: random.Random, longest: int, redactor: Redactor = REDACTOR) -> str:
    stream = redactor.stream()
    parts = [stream.feed(chunk) for chunk in spell.portions(text, chance, longest)]
    return "".join(parts) + stream.flush()


def _marker(name: str) -> str:
    return f"[redacted {name}]"


@given(NAMES, st.sampled_from(spell.FORMS), st.sampled_from(["none", *spell.ESCAPES, "mixed"]), SEEDS, CONTEXT, CONTEXT)
@settings(max_examples=60)
def test_a_secret_in_any_spelling_is_replaced_at_any_chunking(
    name: str, form: str, kind: str, seed: int, before: str, after: str
) -> None:
    chance = random.Random(seed)
    value = SECRETS[name].strip()
    text = spell.coded(value, form, chance.randbytes(chance.randint(0, 4)), chance.randbytes(chance.randint(0, 4)))
    text = spell.escaped(text, kind, chance.choice((0.1, 0.5, 1.0)), chance)
    text = spell.spread(text, chance.choice((0.0, 0.0, 0.05, 1.0)), chance)
    whole = before + text + after

    redacted = REDACTOR.text(whole)

    assert _marker(name) in redacted
    assert text not in redacted
    assert _in_portions(whole, chance, chance.choice((1, 3, 40))) == redacted


@pytest.mark.parametrize("name", SECRETS)
@pytest.mark.parametrize("kind", spell.WHOLE_ESCAPES)
@pytest.mark.parametrize("form", spell.FORMS)
def test_every_usual_encoder_is_seen_through(name: str, kind: str, form: str) -> None:
    text = spell.WHOLE_ESCAPES[kind](spell.coded(SECRETS[name].strip(), form, b"", b""))

    assert REDACTOR.text(f"<{text}>") == f"<{_marker(name)}>"


@pytest.mark.parametrize("before", range(4))
@pytest.mark.parametrize("after", range(4))
def test_base64_is_found_at_each_alignment_and_its_neighbours_stay(before: int, after: int) -> None:
    data = b"user"[:before] + SECRETS["API_TOKEN"].encode() + b"\xff\xfe!?"[:after]

    redacted = REDACTOR.text("Basic " + base64.b64encode(data).decode())

    assert redacted.startswith("Basic " + base64.b64encode(b"user"[:before]).decode()[: before * 8 // 6])
    assert redacted.count(_marker("API_TOKEN")) == 1
    assert len(redacted) <= len("Basic " + _marker("API_TOKEN")) + 12


def test_base64_broken_across_the_lines_of_a_json_string_is_found() -> None:
    text = json.dumps({"file": base64.encodebytes(b"x" * 50 + SECRETS["API_TOKEN"].encode() + b"y" * 90).decode()})

    assert _marker("API_TOKEN") in REDACTOR.text(text)


def test_escapes_torn_by_a_line_break_are_read_together() -> None:
    text = urllib.parse.quote(SECRETS["GATEWAY_KEY"], safe="")
    folded = "\n".join(text[at : at + 4] for at in range(0, len(text), 4))

    assert REDACTOR.text(folded) == _marker("GATEWAY_KEY")


def test_padding_goes_with_the_secret() -> None:
    assert REDACTOR.text(base64.b64encode(b"tk_a1b2c").decode() + " rest") == _marker("NTFY_TOKEN") + " rest"


def test_white_space_inside_a_secret_may_be_any_but_not_none() -> None:
    value = SECRETS["PASSPHRASE"]

    assert REDACTOR.text(value.replace(" ", "\n  ")) == _marker("PASSPHRASE")
    assert REDACTOR.text(value.replace(" ", "+")) == _marker("PASSPHRASE")
    assert REDACTOR.text(value.replace(" ", "")) == value.replace(" ", "")


@given(NAMES, st.sampled_from(spell.FORMS), SEEDS)
@settings(max_examples=200)
def test_what_lacks_a_character_at_either_end_is_left_alone(name: str, form: str, seed: int) -> None:
    chance = random.Random(seed)
    value = SECRETS[name].strip()
    part = chance.choice((value[1:], value[:-1], value[: chance.randint(1, len(value) - 1)]))
    text = spell.coded(part, form, b"\x00" * chance.randint(0, 2), b"")

    assert REDACTOR.text(f"{{{text}}}") == f"{{{text}}}"
    assert _in_portions(f"{{{text}}}", chance, 5) == f"{{{text}}}"


@given(NAMES, st.sampled_from(spell.FORMS), SEEDS)
@settings(max_examples=200)
def test_what_differs_in_one_bit_is_left_alone(name: str, form: str, seed: int) -> None:
    chance = random.Random(seed)
    data = bytearray(SECRETS[name].strip().encode())
    at = chance.choice([at for at, byte in enumerate(data) if byte < 0x80 and not chr(byte).isspace()])
    flipped = data[at] ^ 1 << chance.randrange(7)
    if chr(flipped).isspace() or (chr(data[at]).isspace() and form == "plain"):
        flipped = data[at] ^ 0x7F
    data[at] = flipped
    text = spell.coded(data.decode(), form, chance.randbytes(chance.randint(0, 2)), b"")

    assert REDACTOR.text(text) == text


@pytest.mark.parametrize("text", clean_corpus())
def test_ordinary_results_come_through_unchanged(text: str) -> None:
    assert REDACTOR.text(text) == text
    assert _in_portions(text, random.Random(1), 100) == text


def test_the_corpus_of_ordinary_results_is_large() -> None:
    assert len(clean_corpus()) >= 500


@pytest.mark.slow
@given(SEEDS)
@settings(max_examples=20)
def test_long_text_with_many_spellings_is_the_same_at_every_chunking(seed: int) -> None:
    chance = random.Random(seed)
    corpus = [text for text in clean_corpus() if len(text) < 3000]
    parts = []
    for _ in range(chance.randint(1, 8)):
        name = chance.choice(sorted(SECRETS))
        text = spell.coded(
            SECRETS[name].strip(), chance.choice(spell.FORMS), chance.randbytes(chance.randint(0, 3)), b""
        )
        text = spell.escaped(text, chance.choice(["none", *spell.ESCAPES]), 0.5, chance)
        cut = chance.choice((len(text), chance.randint(1, len(text))))
        parts += [chance.choice(corpus), text[:cut]]
    whole = "".join(parts)

    redacted = REDACTOR.text(whole)

    for longest in (1, 7, 200, 10_000):
        assert _in_portions(whole, chance, longest) == redacted


@given(NAMES, st.integers(1, 20))
def test_a_stream_holds_back_only_a_living_partial_match(name: str, length: int) -> None:
    stream = REDACTOR.stream()
    partial = SECRETS[name][: min(length, len(SECRETS[name].strip()) - 1)]

    assert stream.feed("so it says: ") == "so it says: "
    assert stream.feed(partial) == ""
    assert stream.feed("\n~ and on.") == partial + "\n~ and on."


def test_a_stream_lets_a_partial_match_go_as_soon_as_it_fails() -> None:
    stream = REDACTOR.stream()

    assert stream.feed("tk_a1") == ""
    assert stream.feed("b2") == ""
    assert stream.feed("~") == "tk_a1b2~"
    assert stream.feed("tk_a1b2c!") == _marker("NTFY_TOKEN") + "!"


def test_a_stream_that_ends_in_a_partial_match_gives_it_out() -> None:
    stream = REDACTOR.stream()

    assert stream.feed("tk_a1b2") == ""
    assert stream.flush() == "tk_a1b2"


def test_a_secret_split_over_chunks_by_white_space_is_found() -> None:
    stream = REDACTOR.stream()
    said = [stream.feed(char + "\n" * 3000) for char in "tk_a1b2c"]

    assert "".join(said) + stream.flush() == _marker("NTFY_TOKEN") + "\n" * 3000


def test_overlapping_secrets_become_one_marker() -> None:
    redactor = Redactor({"INNER": "s3cr3t-value", "OUTER": "https://u:s3cr3t-value@host/", "NEXT": "host/path-0123"})
    text = "see https://u:s3cr3t-value@host/path-0123 or s3cr3t-value"

    assert redactor.text(text) == "see [redacted OUTER] or [redacted INNER]"
    for seed in range(50):
        assert _in_portions(text, random.Random(seed), 9, redactor) == redactor.text(text)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | CONTEXT,
        lambda inner: st.lists(inner) | st.dictionaries(CONTEXT, inner),
    ),
    NAMES,
    st.sampled_from(spell.FORMS),
)
@settings(max_examples=50, deadline=None)
def test_a_value_stays_the_value_it_was_but_for_its_secrets(value: object, name: str, form: str) -> None:
    spelled = spell.coded(SECRETS[name].strip(), form, b"", b"")

    assert REDACTOR.value([value, {spelled: [f"<{spelled}>", spelled]}]) == [
        value,
        {_marker(name): [f"<{_marker(name)}>", _marker(name)]},
    ]


def test_neighbouring_secrets_keep_their_own_markers() -> None:
    assert REDACTOR.text("tk_a1b2c" * 2) == _marker("NTFY_TOKEN") * 2


def test_the_first_of_two_names_of_one_value_is_shown() -> None:
    assert Redactor({"A": "v4lue-of-it", "B": "v4lue-of-it\n"}).text("v4lue-of-it") == "[redacted A]"


def test_the_newline_and_byte_order_mark_of_a_secret_file_are_not_part_of_it() -> None:
    assert Redactor({"A": "\ufeffv4lue-of-it\r\n"}).text("<v4lue-of-it>") == "<[redacted A]>"


@pytest.mark.parametrize(
    "value",
    [
        "",
        "   ",
        "short-1",
        "aaaaaaaa1",
        "12121212",
        "password",
        "Postgres",
        "20261129",
        "a b c d\ne f g",
        "\u200b" * 20,
    ],
)
def test_a_value_that_text_might_hold_by_chance_is_refused_by_its_name(value: str) -> None:
    with pytest.raises(SecretTooWeak) as refused:
        Redactor({"GOOD": "v4lue-of-it", "WEAK_ONE": value})

    assert refused.value.name == "WEAK_ONE"
    assert "WEAK_ONE" in str(refused.value)
    assert not value.strip() or value not in str(refused.value)


@pytest.mark.parametrize("value", ["tk_a1b2c", "abcdefghijklmnop", "1234567890123456"])
def test_the_shortest_values_that_are_strong_enough_are_taken(value: str) -> None:
    assert Redactor({"NAME": value}).text(value) == "[redacted NAME]"


def test_without_secrets_nothing_changes() -> None:
    nothing = Redactor({})

    for text in clean_corpus():
        assert nothing.text(text) == text
    assert nothing.stream().feed("%4") == "%4"


def test_nothing_that_is_printed_shows_a_value() -> None:
    stream = REDACTOR.stream()
    stream.feed("tk_a1b2")

    for shown in (repr(REDACTOR), repr(stream), str(REDACTOR), f"{REDACTOR!r}"):
        assert not any(value[:7] in shown for value in SECRETS.values())
    assert "DATABASE_URL" in repr(REDACTOR)


def test_text_that_cannot_be_stored_comes_through() -> None:
    assert REDACTOR.text("\x00\ud83dtk_a1b2c\udfff") == f"\x00\ud83d{_marker('NTFY_TOKEN')}\udfff"


HOSTILE = {
    "near misses": (SECRETS["API_TOKEN"][:-1] + " ") * 40_000,
    "one start and white space": "tk_a1" + " " * 1_000_000,
    "starts and white space": "t k _ a 1 \n" * 90_000,
    "backslashes": "\\" * 1_000_000,
    "percent signs": "%25" * 333_333,
    "ampersands": "&amp;" * 200_000,
    "numbers without end": "&#" + "0" * 1_000_000,
    "all escaped": "".join(f"%{byte:02x}" for byte in random.Random(3).choices(b"dw_9fK2tk_a1", k=333_333)),
    "noise": "".join(map(chr, random.Random(3).choices(range(32, 127), k=1_000_000))),
    "own letters": "".join(random.Random(3).choices("".join(SECRETS.values()), k=1_000_000)),
    "whole secrets": SECRETS["NTFY_TOKEN"] * 125_000,
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_a_megabyte_made_to_be_slow_takes_seconds_at_most(kind: str) -> None:
    redactor = Redactor(SECRETS)
    began = time.process_time()

    redacted = redactor.text(HOSTILE[kind])

    assert time.process_time() - began < 15  # a second or two; quadratic work would take hours
    assert (redacted == HOSTILE[kind]) == (kind != "whole secrets")
