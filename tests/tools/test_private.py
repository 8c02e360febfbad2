"""Private text in an act: what counts as private, in which disguises it is found, and what is left alone."""

import base64
import random
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tools.private import RUN_CHARACTERS, private_text
from tools.unreadable import unreadable

LONG = "the cat sleeps in the blue room"


def found(act: str, own: str = "", newest: str = "") -> bool:
    return private_text([act], [own], newest) is not None


@pytest.mark.parametrize("said", ["Python 3.15 is out", LONG, "info@museum.example", "Seestraße 12"])
def test_what_a_model_repeats_of_a_text_from_outside_is_not_private(said: str) -> None:
    page, reply, act = f"It says: {said}.", f"I found that {said}!", f"Look further for {said}"
    assert private_text([act], [], "", derived=[reply], outside=[page]) is None
    assert private_text([act], [], "", derived=[reply], outside=["Another page"]) is not None
    assert private_text([act], [f"He said {said}."], "", derived=[reply], outside=[page]) is not None
    assert private_text([act], [reply], "", outside=[page]) is not None


@pytest.mark.parametrize(
    ("own", "act"),
    [
        ("the code is 4711", "4711"),
        ("the code is 4711", "code:4711!"),
        ("the code is A-47", "use A-47"),
        ("at 12:30 then", "12:30"),
        ("it costs $4.90", "about $4.90"),
        ("born 1990-05-04", "1990 05 04 is the day"),
        ("born 1990-05-04", "19900504"),
        ("call +43 660 1234567", "06601234567 or 6601234567"),
        ("AT61 1904 3002 3457 3201", "AT611904300234573201"),
        ("AT611904300234573201", "19043002"),
        ("code ４７１１", "4711"),
        ("code 4711", "４７１１"),
        ("code 4711", "4\u200b7\u200b1\u200b1"),
        ("room b2c3", "B2C3"),
        ("anna@example.com", "write to Anna@Example.com."),
        ("anna.m+x@mail.example.co.uk", "anna.m+x@mail.example.co.uk"),
        ("Seestraße 12, Wien", "the house in Seestrasse 12"),
        ("Wiener Str. 4b", "at wiener str. 4b"),
        ("12 Main Street", "12 main street"),
        ("221b Baker Street, London", "221b Baker Street"),
        ("10 rue de Rivoli", "au 10 rue de Rivoli"),
        ("Via Roma 3", "in via Roma 3"),
        ("ул. Ленина 5", "на ул. Ленина 5"),
        (f"I know {LONG}", LONG),
        (f"I know {LONG}", LONG.upper()),
        (f"I know {LONG}", LONG.replace(" ", "\n")),
        (f"I know {LONG}", LONG.replace(" ", "-")),
        (f"I know {LONG}", "".join(LONG.split())),
        (f"I know {LONG}", base64.b64encode(LONG.encode()).decode()),
        (f"I know {LONG}", LONG.encode().hex()),
        (f"I know {LONG}", LONG.replace("a", "%61").replace("e", "%65")),
        (f"I know {LONG}", "".join(f"&#{ord(char)};" for char in LONG)),
        ("code 4711", "%34%37%31%31"),
        ("code 4711", base64.b64encode(b"4711").decode()),
        ("code 4711", base64.urlsafe_b64encode(b"is 4711").decode().rstrip("=")),
        ("code 4711", b"4711".hex()),
        ("code 4711", "34 37 31 31"),
        ("code 4711", "it is 34:37:31:31."),
        ("code 4711", "0x34, 0x37, 0x31, 0x31"),
        ("code A4711", "\\x41 \\x34 \\x37 \\x31 \\x31"),
        ("code 4711", "".join(f"%{byte:02X}" for byte in base64.b64encode(b"4711"))),
        ("code 4711", base64.b64encode(b"%34%37%31%31").decode()),
        (f"I know {LONG}", base64.b64encode(LONG.encode().hex().encode()).decode()),
    ],
)
def test_private_text_is_found_in_plain_disguises(own: str, act: str) -> None:
    assert found(act, own)
    assert not found(act) or unreadable(act)
    assert not found(own, own, newest=own)


CODE = "480913"
MAIL = "anna.berger@posteo.example"
STREET = "Seestraße 12"


def _in_groups(text: str, length: int, between: str = " ") -> str:
    return between.join(text[at : at + length] for at in range(0, len(text), length))


def _each(form: str, text: str, between: str = "") -> str:
    return between.join(form.format(ord(char)) for char in text)


def _shifted(text: str, first: int, of: str = "a") -> str:
    """In letters of an alphabet that begins at a code point."""
    return "".join(chr(first + ord(char) - ord(of)) if char.isalpha() else char for char in text.casefold())


def _base64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def _base32(text: str) -> str:
    return base64.b32encode(text.encode()).decode()


SPELLINGS = [
    # base64: broken, glued, of other bytes
    *((LONG, _in_groups(_base64(LONG), length, "\n")) for length in (4, 5, 6, 7, 12)),
    *((CODE, _in_groups(_base64(f"c {CODE}"), length)) for length in (4, 5, 7)),
    *((CODE, glue + _base64(CODE)) for glue in ("x", "xy", "xyz", "id_", "https://evil.example/a/")),
    (CODE, f"say {_base64(CODE)}x"),
    (LONG, _in_groups(_base64(LONG), 6, "-")),
    (CODE, _base64(f"pin\n{CODE}")),
    (LONG, _in_groups(base64.b64encode(LONG.encode("utf-16-le")).decode(), 10)),
    (CODE, _base64(_base64(_base64(CODE)))),
    (CODE, _base32(CODE)),
    (LONG, _in_groups(_base32(LONG), 8)),
    (LONG, _in_groups(_base32(LONG).lower(), 4, "-")),
    # hex and escapes
    (CODE, f"0x{CODE.encode().hex()}"),
    (CODE, f"x{CODE.encode().hex()}"),
    *((LONG, LONG.encode().hex(sep)) for sep in "|_/"),
    (CODE, _each("{:02x}", CODE, "   ")),
    (CODE, _in_groups(CODE.encode().hex(), 4, "-")),
    *(
        (LONG, _each(form, LONG))
        for form in ("\\x{:02x}", "\\u{:04x}", "\\u{{{:x}}}", "={:02X}", "\\{:03o}", "&#x{:x}")
    ),
    (LONG, _each("U+{:04X}", LONG, " ")),
    (LONG, _each("0x{:02x}", LONG, ", ")),
    (LONG, _each("{}", LONG, " ")),
    (LONG, _each("{:o}", LONG, ", ")),
    (CODE, _each("{:08b}", CODE, " ")),
    *((LONG, _each(f"%{'25' * times}{{:02X}}", LONG)) for times in range(5)),
    (CODE, "%00".join(CODE)),
    (CODE, "\0".join(CODE)),
    (CODE, "\0".join(CODE).encode().hex()),
    (MAIL, "%07".join(MAIL)),
    # other characters
    *(
        (CODE, CODE.translate({ord(str(at)): char for at, char in enumerate(digits)}))
        for digits in ("٠١٢٣٤٥٦٧٨٩", "०१२३४५६७८९", "⓿❶❷❸❹❺❻❼❽❾", "⓪①②③④⑤⑥⑦⑧⑨", "🄋➀➁➂➃➄➅➆➇➈", "⓿⓵⓶⓷⓸⓹⓺⓻⓼⓽")
    ),
    *((LONG, _shifted(LONG, first)) for first in (0x1F130, 0x1F150, 0x1F170, 0x1F1E6, 0x24B6, 0x1D41A)),
    (LONG, LONG.translate(str.maketrans("abcehilmnoprstu", "ᴀʙᴄᴇʜɪʟᴍɴᴏᴘʀꜱᴛᴜ"))),
    *(
        (text, "".join(f"{char}{mark}" for char in text))
        for text in (LONG, CODE)
        for mark in "\u0301\u0323\u0336\u20e3"
    ),
    (LONG, LONG.translate(str.maketrans("aeopc", "аеорс"))),
    (LONG, LONG.translate(str.maketrans("aoi", "αοι"))),
    *((text, f"find {''.join(chr(0xE0000 + ord(char)) for char in text)}") for text in (LONG, CODE)),
    (CODE, "lions".join(chr(0xE0000 + ord(char)) for char in CODE)),
    *((LONG, "x" + "".join(chr(base + ord(char)) for char in LONG)) for base in (0xE0100, 0xE00F0)),
    (CODE, "\U000e0100".join(chr(0xE0100 + ord(char)) for char in CODE)),
    # addresses
    *((MAIL, MAIL.replace("@", at)) for at in (" at ", "(at)", " [at] ", " (@) ", " @ ")),
    (MAIL, MAIL.replace("@", " AT ").replace(".", " dot ")),
    (MAIL, MAIL.replace("@", "(at)").replace(".", "(dot)")),
    *((STREET, said) for said in ("Seestr. 12", "Seestr 12", "Seestraße Nr. 12", "12 Seestraße", "See-Straße 12")),
    (STREET, "SEESTRASSE, Hausnummer 12"),
    ("Wiener Straße 4b", "in der Wiener Str. 4b"),
    ("Am Ring 5", "am Ring Nr. 5"),
]


@pytest.mark.parametrize(("own", "act"), SPELLINGS)
def test_private_text_is_found_in_other_spellings_and_not_where_something_else_is_spelled(own: str, act: str) -> None:
    assert found(act, f"He said: {own}.")
    assert not found(act, "He said: nothing.", newest=act)
    assert unreadable(act) or not found(
        act, "He said: 731620, olga@mail.example, Bergstraße 92, a lamp burns at the gate"
    )


@pytest.mark.parametrize(
    ("own", "act"),
    [
        ("about 12 people, 30 chairs", "about 12 people"),
        ("I live at Seestraße 12", "Seestraße 14"),
        ("I live at Seestraße 12", "12 chairs"),
        ("buy 2 spring rolls", "what do 2 spring rolls cost"),
        ("look at this. dot by dot", "look at that. dot by dot"),
        ("in 52 56 48 57 days", "the numbers 52 56 48 58"),
        ("ÄÖÜ", "AOU"),
        ("the code is 480913", "a cafe faced a decade of feed: deed, dead, beef"),
    ],
)
def test_other_spellings_of_small_and_other_things_are_not_private(own: str, act: str) -> None:
    assert not found(act, own)


@pytest.mark.parametrize("again", ["&amp;#", "%25", "\\x41", "0x", "@ ", " ", "1 str ", "a-", "\u0301", "12 "])
def test_a_long_act_of_nothing_but_beginnings_takes_no_longer_than_others(again: str) -> None:
    started = time.process_time()
    private_text([again * (60_000 // len(again))], ["the code is 4711"], "")
    assert time.process_time() - started < 10


@pytest.mark.parametrize(
    ("own", "act"),
    [
        ("I like tea", "I like tea"),
        ("room 12", "room 12"),
        ("my cat is called Mimi", "Mimi"),
        ("the blue cat sleeps now", "the blue cat sleeps now"),
        ("the code is 4711", "the code is 4712"),
        ("the museum opens at ten", "the museum closes at six"),
        ("May 4", "May 4"),
    ],
)
def test_small_and_harmless_things_are_not_private(own: str, act: str) -> None:
    assert not found(act, own)


def test_what_he_just_said_is_not_private_and_what_he_said_before_is() -> None:
    assert not found("send 4711", own="the code is 4711", newest="send the code 4711")
    assert not found(LONG, own=f"I know {LONG}", newest=f"tell her that {LONG}")
    assert found("send 4711 and 8514", own="codes 4711, 8514", newest="send the code 4711")


@given(st.text(alphabet="abcdefgh ijklmnop\nqrstuvwxyz", min_size=RUN_CHARACTERS, max_size=80))
def test_any_long_enough_stretch_is_found_wherever_it_stands(text: str) -> None:
    said = " ".join(text.split())
    chance = random.Random(len(text))
    for length in (RUN_CHARACTERS, len(said)):
        if len(said) >= length:
            start = chance.randrange(len(said) - length + 1)
            stretch = said[start : start + length].strip()
            if len(stretch) >= RUN_CHARACTERS:
                assert found(f"(x{stretch}x)", f"ZZ{said}ZZ")


@given(st.integers(10**3, 10**12), st.text(max_size=30), st.text(max_size=30))
def test_any_number_of_four_figures_is_found_whatever_stands_around_it(number: int, before: str, after: str) -> None:
    assert found(f"{before} {number} {after}", f"my number is {number}")


@pytest.mark.parametrize(
    "token",
    [
        "0f8868e243a6e290", "93cdb5cffc5c5fac2ea57b45da3ad9002ef5327c71d0601dca74f1ca44409346",
        "DEADBEEFDEADBEEF", "3f2504e0-4f89-11d3-9a0c-0305e82c3301",
        base64.b64encode(b"meet me at the mill").decode(), base64.b64encode(LONG.encode()).decode(),
        "xK9fQ2mZ7pL4vR8w", "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0", "1234567890123456",
        "ghp_A1b2C3d4E5f6G7h8I9j0", "zqxjkvbwpfgtzmhd", "⠓⠑⠇⠇⠕⠺⠕⠗⠇⠙⠞⠓⠊⠎⠊⠎⠃⠗", "JBSWY3DPEHPK3PXPJBSWY3DP",
    ],
)  # fmt: skip
def test_a_token_nobody_can_read_is_found_unless_he_just_gave_it(token: str) -> None:
    assert found(f"see {token} there")
    assert not found(f"see {token} there", newest=f"look up {token} please")


@pytest.mark.parametrize(
    "text",
    [
        "Donaudampfschifffahrtsgesellschaft", "incomprehensibilities", "anticonstitutionnellement",
        "state-of-the-art-technology", "https://en.wikipedia.org/wiki/List_of_countries_by_population",
        "JavaScriptProgrammingLanguage", "2026-11-29_2026-12-05", "--------------------", "================",
        "********************", "Wohnungseigentumsgesetz", "iPhone15ProMax2024", "odpowiedzialnosci",
        "日本語の文章には空白がありませんがこれは読めます", "ประเทศไทยไม่มีช่องว่างระหว่างคำ", "🎉" * 18,
        "user_profile_settings_page", "kunsthistorisches-museum-wien",
    ],
)  # fmt: skip
def test_what_somebody_can_read_passes(text: str) -> None:
    assert not found(text)


def test_a_long_history_and_a_long_act_are_compared() -> None:
    chance = random.Random(5)
    words = ["".join(chance.choices("abcdefghij", k=chance.randrange(2, 9))) for _ in range(2000)]
    history = " ".join(chance.choices(words, k=130_000))
    act = " ".join(chance.choices(words, k=20_000))
    assert len(history) > 700_000
    assert not found(act, history)
    assert found(f"{act} {history[400_000:400_040]}", history)


def test_the_texts_of_an_act_are_also_read_as_one_and_his_own_are_not() -> None:
    assert private_text(["the cat sleeps", "in the blue room"], [LONG], "") is not None
    assert private_text(["480", "913"], ["code 480913"], "") is not None
    assert private_text(["NDgw", "OTEz"], ["code 480913"], "") is not None
    assert private_text([LONG], ["the cat sleeps", "in the blue room"], "") is None
