"""What is shown of an act determines the bytes that run: here it is read back."""

import json
import random
import re
import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from storage.text import dumps
from tools.show import drawn, shown_act
from tools.unseen import UNSEEN

_MARK = re.compile(r"⟨(?:U\+([0-9A-F]{4,6})|([^⟩]+))⟩")


def read_text(shown: str) -> str:
    """The text that was drawn."""
    return _MARK.sub(lambda m: chr(int(m[1], 16)) if m[1] else m[2].encode().decode("idna"), shown)


def read_act(shown: str) -> tuple[str, str]:
    """The tool and the bytes that were shown."""
    tool, *lines = shown.split("\n")
    return tool, dumps(_read_fields(lines, ""))


def _read_fields(lines: list[str], indent: str) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    while lines and lines[0].startswith(indent) and lines[0][len(indent) : len(indent) + 1] not in (" ", "│"):
        name, value = _read_field(lines, indent)
        fields[read_text(name)] = value
    return fields


def _read_field(lines: list[str], indent: str) -> tuple[str, Any]:
    head = lines.pop(0)[len(indent) :]
    if lines and lines[0].startswith(f"{indent}│ "):
        text: list[str] = []
        while lines and lines[0].startswith(f"{indent}│ "):
            text.append(lines.pop(0).removeprefix(f"{indent}│ "))
        return head.removesuffix(":"), read_text("\n".join(text))
    if head.endswith(" has:"):
        return head.removesuffix(" has:"), _read_fields(lines, indent + "  ")
    if head.endswith(" of them:"):
        name, _, count = head.removesuffix(" of them:").rpartition(", ")
        return name, [_read_field(lines, indent + "  ")[1] for _ in range(int(count))]
    name, _, value = head.rpartition(" = ")
    return name, {"yes": True, "no": False, "nothing": None}.get(value, ...) if value.isalpha() else json.loads(value)


NAMES = st.from_regex(r"[a-z_]{1,12}", fullmatch=True)
SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(-(2**63), 2**63), st.floats(allow_nan=False, allow_infinity=False)
)
VALUES = st.recursive(
    st.one_of(SCALARS, st.text(max_size=60)),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(NAMES, inner, max_size=4)),
    max_leaves=12,
)


@given(NAMES, st.dictionaries(NAMES, VALUES, max_size=5))
def test_any_act_can_be_read_back_from_what_is_shown_of_it(tool: str, arguments: dict[str, Any]) -> None:
    act = dumps(arguments)
    assert read_act(shown_act(tool, act)) == (tool, act)


def _chars() -> list[str]:
    """What tricks are made of, and a sample of everything else."""
    chance = random.Random(7)
    tricks = "\n\n\t\r ⟨⟩│:=U+0041,\u202e\u200b\u2028\u00a0\u3000\u2800\U000e0041\ufe0f\u0301\x00\x1b\x7f.@/-аеорс"
    return [*tricks, *"abcdefghijklmnopqrstuvwxyz", *(chr(chance.randrange(0x20, 0xD800)) for _ in range(200)),
            *(chr(chance.randrange(0x10000, sys.maxunicode)) for _ in range(60))]  # fmt: skip


def _pieces() -> list[str]:
    return ["https://", "http://аpple.com/x", "bücher.de", "user@exämple.com", "www.xn--pple-43d.com", "https://b.com@",
            "⟨U+202E⟩", "⟨xn--pple-43d.com⟩", "│ text:\n│ ", "\ntext:\n│ evil", "title = yes", "Straße.Und", "т.е.",
            "https://BÜCHER.de", "http://стр\u200bана.рф", "https://a。b", "ü.de\x1b[31m",
            "https://ü\x1b[2Jx.de"]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10))
def test_a_thousand_acts_of_up_to_twenty_thousand_characters_can_be_read_back(seed: int) -> None:
    chance, chars, pieces = random.Random(seed), _chars(), _pieces()
    for _ in range(100):
        length = int(20_000 ** chance.random()) if chance.random() < 0.95 else 20_000
        text = "".join(chance.choices(chars, k=length))
        for _ in range(chance.randrange(6)):
            at = chance.randrange(len(text) + 1)
            text = text[:at] + chance.choice(pieces) + text[at:]
        act = dumps(
            {"title": text[:30], "text": text, "tags": [text[-9:], ""], "more": {"n": chance.random(), "x": None}}
        )
        shown = shown_act("write_note", act)
        assert read_act(shown) == ("write_note", act)
        assert UNSEEN.search(shown) is None and "\u2028" not in shown


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain", "plain"),
        ("a\u202eb", "a⟨U+202E⟩b"),
        ("a\r\nb\x1b[2J", "a⟨U+000D⟩\nb⟨U+001B⟩[2J"),
        ("no\u00a0break", "no⟨U+00A0⟩break"),
        ("⟨U+0041⟩", "⟨U+27E8⟩U+0041⟩"),
        ("tag\U000e0041", "tag⟨U+E0041⟩"),
        ("see https://аpple.com/login", "see https://⟨xn--pple-43d.com⟩/login"),
        ("https://bücher.de:8080/x", "https://⟨xn--bcher-kva.de⟩:8080/x"),
        ("mail anna@exämple.com", "mail anna@⟨xn--exmple-cua.com⟩"),
        ("go to bücher.de now", "go to ⟨xn--bcher-kva.de⟩ now"),
        ("https://user:pw@аpple.com", "https://user:pw@⟨xn--pple-43d.com⟩"),
        ("https://BÜCHER.de", "https://B⟨U+00DC⟩CHER.de"),
        ("https://straße.de", "https://stra⟨U+00DF⟩e.de"),
        ("https://example.com", "https://example.com"),
        ("т.е. это", "т.е. это"),
        ("Grüße. Und", "Grüße. Und"),
    ],
)
def test_what_cannot_be_seen_and_what_looks_like_another_host_is_drawn(text: str, shown: str) -> None:
    assert drawn(text) == shown
    assert read_text(shown) == text


def test_a_text_cannot_pretend_to_be_a_field() -> None:
    act = dumps({"title": "a", "text": "b\ntitle:\n│ c"})
    assert shown_act("write_note", act) == "write_note\ntitle:\n│ a\ntext:\n│ b\n│ title:\n│ │ c"
