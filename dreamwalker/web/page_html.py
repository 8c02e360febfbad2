"""Making text of an HTML page: headings, lists, tables, code and links, as one writes them in Markdown.

One rule: no step goes deeper than the last one: however the tags stand in one another, there is one loop. What a
browser would not show (scripts, what is hidden) is not there.
"""

import io
import re
from collections.abc import Iterator
from itertools import islice
from typing import Literal
from urllib.parse import urljoin

import attrs
from selectolax.lexbor import LexborHTMLParser, LexborNode

HTML_CHARACTERS_MAX = 1_500_000
"""What is parsed of a page: a tree takes many times the memory of its text."""
TAGS_MAX = 220_000
"""How many tags of a page are parsed: each node of the tree takes some 160 bytes, however short it is, and between two
tags there may be a text, so that it takes 70 MB at most."""

_UNSHOWN = """
audio canvas datalist dialog embed head iframe math noscript object script select style svg template video
"""
_PARAGRAPHS = "article blockquote dl figure form h1 h2 h3 h4 h5 h6 ol p pre section table ul"
_LINES = """
address aside body caption center dd details div dt fieldset figcaption footer header hr html legend li main nav summary
tbody tfoot thead tr
"""
_UNSHOWN_TAGS, _PARAGRAPH_TAGS = frozenset(_UNSHOWN.split()), frozenset(_PARAGRAPHS.split())
_BLOCK_TAGS = _PARAGRAPH_TAGS | frozenset(_LINES.split())
_HIDDEN_STYLE = re.compile(r"(?:display\s*:\s*none|visibility\s*:\s*hidden)", re.IGNORECASE)
_MAIN_CHARACTERS_MIN = 300
_LINK_CHARACTERS_MAX = 2_000
_LIST_DEPTH_MAX = 8
_SPACE = re.compile(r"[ \t\n\r\f]+")
_PARTS_MAX = 4_096

Step = tuple[Literal["in", "out"], LexborNode]


def read(html: str, address: str) -> tuple[str, str, bool]:
    """Title and text of a page at an address, and whether only its beginning was read."""
    parsed_characters = _parsed_characters(html)
    parsed = LexborHTMLParser(html[:parsed_characters])
    cut = len(html) > parsed_characters
    del html
    title = parsed.css_first("title")
    base = parsed.css_first("base[href]")
    if base is not None:
        address = _joined(address, base.attributes.get("href") or "") or address
    root = _main(parsed)
    if root is None:
        return "", "", cut
    writer = _Writer(address=address)
    for what, node in _walk(root):
        if what == "in":
            writer.enter(node)
        else:
            writer.leave(node)
    return (title.text() if title is not None else ""), writer.text, cut


def _parsed_characters(html: str) -> int:
    """How much of a page is parsed."""
    if html.count("<", 0, HTML_CHARACTERS_MAX) <= TAGS_MAX:
        return HTML_CHARACTERS_MAX
    return next(islice(re.finditer("<", html), TAGS_MAX, None)).start()


def _main(parsed: LexborHTMLParser) -> LexborNode | None:
    """What a page says is its own part, if it says so and there is something in it; else all of it."""
    for selector in ("main", "[role=main]", "article"):
        found = parsed.css(selector)
        if len(found) == 1 and len(found[0].text(deep=True)) >= _MAIN_CHARACTERS_MIN:
            return found[0]
    return parsed.body or parsed.root


def _walk(root: LexborNode) -> Iterator[Step]:
    """Every node that is shown, as it opens and as it closes. Only what is open is held: many may lie side by side."""
    opened: list[LexborNode] = []
    node: LexborNode | None = root
    while node is not None or opened:
        if node is None:  # that was the last child of what was opened last
            node = opened.pop()
            yield "out", node
        elif not _unshown(node):
            yield "in", node
            if node.tag != "-text":
                opened.append(node)
                node = node.first_child
                continue
        node = node.next if opened else None


def _unshown(node: LexborNode) -> bool:
    tag = node.tag or ""
    if tag == "-text":
        return False
    if tag in _UNSHOWN_TAGS or tag.startswith(("-", "_")):
        return True
    attributes = node.attributes
    if not attributes:
        return False
    style = attributes.get("style")
    return "hidden" in attributes or (style is not None and _HIDDEN_STYLE.search(style) is not None)


def _joined(address: str, link: str) -> str | None:
    """Where a link leads, if that is a page somewhere."""
    link = link.strip()
    if not link or len(link) > _LINK_CHARACTERS_MAX or link.startswith("#"):
        return None
    try:
        joined = urljoin(address, link)
    except ValueError:
        return None
    return joined.replace(" ", "%20") if joined.startswith(("https://", "http://")) else None


@attrs.define(kw_only=True)
class _Writer:
    """Writes down what is walked through. `_pre`: how many of the open tags keep their spaces."""

    address: str
    _done: io.StringIO = attrs.field(factory=io.StringIO)
    """What nothing can change any more: as one text, since many small ones take many times its memory."""
    _parts: list[str] = attrs.field(factory=list)
    _lists: list[list[int]] = attrs.field(factory=list)
    """The open lists: 0 for one of points, else the number that comes next."""
    _links: list[tuple[int, str | None]] = attrs.field(factory=list)
    """Where each open link began, and where it leads."""
    _pre: int = 0
    _ends: int = 2
    """How many line ends it ends with, up to two."""
    _spaced: bool = True
    """Whether another space would be too much."""

    @property
    def text(self) -> str:
        made, empty = io.StringIO(), 0
        for line in io.StringIO(self._done.getvalue() + "".join(self._parts), newline="\n"):
            line = line.rstrip()
            empty = 0 if line else empty + 1
            if empty < 2:
                made.write(f"{line}\n")
        return made.getvalue().strip("\n")

    def enter(self, node: LexborNode) -> None:
        tag = node.tag or ""
        match tag:
            case "-text":
                self._say(node.text_content or "")
            case "br":
                self._put("\n")
                self._ends, self._spaced = min(self._ends + 1, 2), True
            case "hr":
                self._end_line(2)
                self._write("---")
                self._end_line(2)
            case "img" if alt := (node.attributes.get("alt") or "").strip():
                self._say(f"[picture: {alt}]")
            case "a":
                self._links.append((len(self._parts), _joined(self.address, node.attributes.get("href") or "")))
            case "td" | "th":
                self._write("| ")
            case _ if tag in _BLOCK_TAGS:
                self._open(tag)

    def _open(self, tag: str) -> None:
        self._end_line(2 if tag in _PARAGRAPH_TAGS and not self._lists else 1)
        if len(tag) == 2 and tag[0] == "h" and tag[1].isdigit():
            self._write(f"{'#' * int(tag[1])} ")
        elif tag == "pre":
            self._pre += 1
            self._write("```")
            self._end_line(1)
        elif tag in ("ul", "ol"):
            self._lists.append([int(tag == "ol")])
        elif tag == "li":
            count = self._lists[-1] if self._lists else [0]
            depth = min(max(len(self._lists) - 1, 0), _LIST_DEPTH_MAX)
            self._write(f"{'  ' * depth}{f'{count[0]}.' if count[0] else '-'} ")
            count[0] += bool(count[0])
        elif tag == "blockquote":
            self._write("> ")

    def leave(self, node: LexborNode) -> None:
        tag = node.tag or ""
        if tag == "a":
            self._link()
        elif tag in ("td", "th"):
            self._write(" ")
        elif tag == "pre":
            self._pre -= 1
            self._end_line(1)
            self._write("```")
            self._end_line(2)
        elif tag in _BLOCK_TAGS:
            if tag in ("ul", "ol"):
                self._lists.pop()
            self._end_line(2 if tag in _PARAGRAPH_TAGS and not self._lists else 1)

    def _link(self) -> None:
        start, leads_to = self._links.pop()
        said = "".join(self._parts[start:])
        if leads_to is None or not said.strip():
            return
        lead = len(said) - len(said.lstrip())
        self._parts[start:] = [said[:lead], f"[{said.strip()}]({leads_to})", said[len(said.rstrip()) :]]

    def _say(self, text: str) -> None:
        if not self._pre:
            text = _SPACE.sub(" ", text)
            if self._spaced:
                text = text.removeprefix(" ")
        if text:
            self._write(text)

    def _write(self, text: str) -> None:
        self._put(text)
        self._ends = min(len(text) - len(text.rstrip("\n")), 2)
        self._spaced = text[-1] in "\n "

    def _put(self, text: str) -> None:
        self._parts.append(text)
        if len(self._parts) >= _PARTS_MAX and not self._links:  # what a link holds is put into brackets as it closes
            self._done.write("".join(self._parts))
            self._parts.clear()

    def _end_line(self, ends: int) -> None:
        """End the line, and leave an empty one if `ends` is two, unless that is done."""
        if self._ends < ends:
            self._put("\n" * (ends - self._ends))
            self._ends, self._spaced = ends, True
