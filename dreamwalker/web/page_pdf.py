"""Making text of a PDF. Runs only in the process for that.

One rule: page after page, until there is more than anybody reads.
"""

import codecs

import pypdfium2

from .child import Unreadable

codecs.lookup("utf-16-le")  # in which titles are written; later nothing can be loaded any more

PAGES_MAX = 1_000
TEXT_CHARACTERS_MAX = 2_000_000


def read(body: bytes) -> tuple[str, str, bool]:
    """Title and text of a PDF, and whether only its beginning was read. Raises Unreadable."""
    try:
        document = pypdfium2.PdfDocument(body)
        title = document.get_metadata_dict().get("Title", "")
        texts, size = list[str](), 0
        for number in range(len(document)):
            if number >= PAGES_MAX or size > TEXT_CHARACTERS_MAX:
                return title, "\n\n".join(texts), True
            text = document[number].get_textpage().get_text_range().replace("\r\n", "\n").strip()
            texts.append(f"[page {number + 1}]\n{text}")
            size += len(text)
    except pypdfium2.PdfiumError as error:
        raise Unreadable("encrypted" if "password" in str(error).lower() else "broken") from None
    if not size:
        return title, "", False
    return title, "\n\n".join(texts), False
