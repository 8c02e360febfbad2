"""Prices: whole nano-dollars, the step of Haiku 5.5, unknown models, and a bound that holds."""

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dreamwalker.prices import DEAREST, PRICES, Rates, price, price_of, worst_case
from tools.model import Usage

MILLION = 1_000_000
DOLLAR = 1_000_000_000

tokens = st.integers(min_value=0, max_value=200_000)


@pytest.mark.parametrize(
    ("model", "usage", "dollars"),
    [
        ("claude-haiku-5-5", Usage(input_tokens=100_000), 0.01),
        ("claude-haiku-5-5", Usage(input_tokens=100_001), 0.0500005),
        ("claude-haiku-5-5", Usage(input_tokens=1, cache_read_tokens=99_999), 0.00100009),
        ("claude-haiku-5-5", Usage(input_tokens=1, cache_write_tokens=50_000, cache_read_tokens=50_000), 0.0337505),
        ("claude-haiku-5-5", Usage(input_tokens=10, output_tokens=MILLION), 0.500001),
        ("claude-haiku-5-5", Usage(input_tokens=200_000, output_tokens=MILLION), 2.6),
        ("claude-sonnet-5-5", Usage(input_tokens=MILLION, output_tokens=MILLION), 12),
        ("claude-sonnet-5-5", Usage(cache_write_tokens=MILLION, cache_read_tokens=MILLION), 2.6),
        ("claude-opus-5-5", Usage(cache_read_tokens=MILLION, output_tokens=MILLION), 20.2),
        ("claude-haiku-4-5-20251001", Usage(input_tokens=MILLION, output_tokens=MILLION), 6),
        ("practice", Usage(input_tokens=MILLION, output_tokens=MILLION), 0),
        ("claude-haiku-5-5", Usage(searches=3), 0.03),
    ],
)
def test_an_answer_costs_what_the_table_says(model: str, usage: Usage, dollars: float) -> None:
    assert price(model, usage) == round(dollars * DOLLAR)


@pytest.mark.parametrize("model", ["claude-something-9", "llama-local", "", "Claude-Haiku-5-5"])
def test_a_model_nobody_knows_costs_as_much_as_the_dearest(model: str) -> None:
    assert price_of(model) == DEAREST


@pytest.mark.parametrize("kind", [field.name for field in attrs.fields(Rates)])
def test_no_model_is_dearer_than_the_dearest(kind: str) -> None:
    dearest = getattr(DEAREST.rates, kind)
    for known in PRICES.values():
        assert getattr(known.rates, kind) <= dearest
        assert known.long_rates is None or getattr(known.long_rates, kind) <= dearest


def test_a_long_prompt_is_never_cheaper_than_a_short_one() -> None:
    for known in PRICES.values():
        if known.long_rates is not None:
            assert all(
                short <= long for short, long in zip(attrs.astuple(known.rates), attrs.astuple(known.long_rates))
            )


@given(
    model=st.sampled_from([*PRICES, "unknown"]),
    fresh=tokens,
    written=tokens,
    read=tokens,
    output=tokens,
    spare_bytes=tokens,
)
def test_no_bill_is_above_its_bound(
    model: str, fresh: int, written: int, read: int, output: int, spare_bytes: int
) -> None:
    usage = Usage(input_tokens=fresh, cache_write_tokens=written, cache_read_tokens=read, output_tokens=output)
    bound = worst_case(model, fresh + written + read + spare_bytes, output)
    assert price(model, usage) <= bound


@given(
    model=st.sampled_from([*PRICES, "unknown"]),
    prompt=tokens,
    found=st.lists(st.integers(min_value=0, max_value=40_000), max_size=6),
    output=tokens,
)
def test_a_bill_with_searches_is_within_its_bound_too(model: str, prompt: int, found: list[int], output: int) -> None:
    """Each search makes the model read everything again, with what was found until then."""
    read = sum(prompt + sum(found[:i]) for i in range(len(found) + 1))
    usage = Usage(input_tokens=read, output_tokens=output, searches=len(found))
    assert price(model, usage) <= worst_case(model, prompt, output, len(found))
