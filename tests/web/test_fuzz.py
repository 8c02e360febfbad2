"""Whatever comes, what reads it says yes or one thing, and never breaks."""

import gzip
import zlib
from contextlib import suppress

from hypothesis import assume, example, given
from hypothesis import strategies as st

from dreamwalker.web import charset, page_html
from dreamwalker.web.child import Unreadable
from dreamwalker.web.inflate import STEP_BYTES, BadPacking, Inflate
from tools.web_address import BadAddress, WebAddress, read_address

_PARTS = (
    """http https : // / ? # @ [ ] . .. % %2e \\ :80 :443 :8080 localhost 127.0.0.1 ::1 example.org xn--a é １ 。 a"""
)
PARTS = st.sampled_from([*_PARTS.split(), "\t", "\n", " ", "\udfff"])
ADDRESSES = st.one_of(
    st.text(max_size=60),
    st.lists(PARTS, max_size=9).map("".join),
    st.lists(PARTS, max_size=9).map(lambda parts: "http://" + "".join(parts)),
)


def _read(text: str) -> WebAddress | None:
    try:
        return read_address(text)
    except BadAddress:
        return None


@given(ADDRESSES)
@example("http://example.org/\udfff")
@example("http://xn--a.example/")
def test_an_address_is_read_or_refused_and_reads_the_same_again(text: str) -> None:
    address = _read(text)
    if address is not None:
        assert _read(str(address)) == address
        assert str(address).isascii() and address.host == address.host.lower() and "@" not in address.authority


@given(ADDRESSES, ADDRESSES)
def test_so_is_where_a_redirect_leads(text: str, location: str) -> None:
    address = _read(text)
    if address is not None:
        try:
            leads_to = address.leading_to(location)
        except BadAddress:
            return
        assert leads_to.scheme in ("http", "https")


@given(st.lists(st.binary(max_size=200), max_size=5), st.sampled_from(["gzip", "deflate", "x-gzip", "", "identity"]))
def test_whatever_is_said_to_be_packed_is_unpacked_in_small_steps_or_refused(
    pieces: list[bytes], encoding: str
) -> None:
    unpack = Inflate(encoding)
    try:
        for piece in pieces:
            assert all(len(out) <= max(STEP_BYTES, len(piece)) for out in unpack.feed(piece))
    except BadPacking:
        pass


@given(st.binary(max_size=300_000), st.integers(1, 9), st.integers(1, 5_000))
def test_what_was_packed_comes_out_whole_however_it_comes_in(data: bytes, level: int, size: int) -> None:
    packed, unpack = zlib.compress(data, level), Inflate("deflate")
    out = b"".join(b"".join(unpack.feed(packed[at : at + size])) for at in range(0, len(packed), size))
    assert out == data


@given(st.lists(st.binary(max_size=100_000), min_size=1, max_size=3), st.integers(1, 5_000), st.binary(max_size=9))
def test_a_gzip_of_several_parts_is_one_however_it_comes_in_and_what_is_no_part_ends_it(
    parts: list[bytes], size: int, rest: bytes
) -> None:
    packed = b"".join(map(gzip.compress, parts))
    if rest.startswith(b"\x1f"):
        rest = b""
    unpack = Inflate("gzip")
    out = b"".join(b"".join(unpack.feed(piece)) for piece in _cut(packed + rest, size))
    assert out == b"".join(parts) and unpack.whole


@given(st.binary(max_size=300_000), st.sampled_from(["gzip", "deflate", "raw"]), st.integers(1, 5_000), st.data())
def test_what_lacks_its_end_is_not_whole(data: bytes, kind: str, size: int, drawn: st.DataObject) -> None:
    packed = {"gzip": gzip.compress, "deflate": zlib.compress, "raw": lambda it: zlib.compress(it)[2:-4]}[kind](data)
    assume(kind != "raw" or packed[0] & 0x0F != 8)  # what looks like a wrapping is taken for one
    unpack = Inflate("gzip" if kind == "gzip" else "deflate")
    assert b"".join(b"".join(unpack.feed(piece)) for piece in _cut(packed, size)) == data and unpack.whole
    unpack = Inflate("gzip" if kind == "gzip" else "deflate")
    begun = packed[: drawn.draw(st.integers(1, len(packed) - 1))]
    assert data.startswith(b"".join(b"".join(unpack.feed(piece)) for piece in _cut(begun, size)))
    assert not unpack.whole


def _cut(data: bytes, size: int) -> list[bytes]:
    return [data[at : at + size] for at in range(0, len(data), size)]


@given(
    st.binary(max_size=3_000), st.sampled_from(["", "utf-8", "utf-16", "gbk", "shift_jis", "nonsense"]), st.booleans()
)
def test_any_bytes_are_a_text_or_none(body: bytes, header: str, html: bool) -> None:
    with suppress(Unreadable):
        assert isinstance(charset.decode(body, header, html=html), str)


_TAGS = "a div p ul ol li table tr td pre h1 br hr img b script main article title base svg template blockquote"
TAGS = _TAGS.split()
PIECES = st.one_of(
    st.sampled_from([f"<{tag}>" for tag in TAGS] + [f"</{tag}>" for tag in TAGS]),
    st.sampled_from(
        ["<a href='/x'>", "<a href=''>", "<img alt='y'>", "<p hidden>", "<base href='//['>", "<!--", "-->", "&lt;"]
    ),
    st.text(max_size=8),
)


@given(st.lists(PIECES, max_size=60).map("".join))
def test_any_page_becomes_a_text(html: str) -> None:
    title, text, cut = page_html.read(html, "http://a.example/")
    assert isinstance(title, str) and "\n\n\n" not in text and not cut
