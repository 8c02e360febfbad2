"""The pages that are made from the program are as the program is."""

import attrs
import pytest

from dreamwalker.documents import FOLDER, pages
from tools.limits import Fixed, Limits


@pytest.mark.parametrize("name", pages())
def test_a_page_is_as_the_program_is(name: str) -> None:
    assert (FOLDER / name).read_text() == pages()[name], "make docs"


@pytest.mark.parametrize("of", [Limits, Fixed])
def test_every_limit_is_on_its_page_with_its_value(of: type) -> None:
    page = pages()["limits.md"]
    for field in attrs.fields(of):
        shown = f"{field.default:,}" if isinstance(field.default, int) else f"{field.default:,.10g}"
        assert f"| `{field.name}` | {shown} | " in page
