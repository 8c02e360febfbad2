"""What models cost, as data with its date and source, and the two sums that need it: a bill and its upper bound.

One rule: money is whole nano-dollars (a billionth of a dollar), and a doubt makes it dearer, never cheaper.
A price of $1 for a million tokens is 1,000 nano-dollars for one.
"""

import re
from datetime import date

import attrs

from tools.model import Usage

LISTED_ON = date(2026, 10, 24)
SOURCE = "https://platform.claude.com/docs/en/about-claude/pricing"

SEARCH_NANO_DOLLARS = 10_000_000
"""One server-side web search: $10 for a thousand (same source)."""
PROMPT_OVERHEAD_TOKENS = 2_000
"""What a provider adds to a prompt by itself: the instructions for tools, about 500 tokens, and room to spare."""
SEARCH_RESULT_TOKENS = 40_000
"""What one search is assumed to bring into the prompt at most: no limit is published."""


@attrs.frozen(kw_only=True)
class Rates:
    """Nano-dollars for one token of each kind. Cache writes are those that last five minutes."""

    input: int
    cache_write: int
    cache_read: int
    output: int


@attrs.frozen(kw_only=True)
class Price:
    """A model's rates; some models charge a whole request more once its prompt is longer than a threshold."""

    rates: Rates
    long_rates: Rates | None = None
    long_above_tokens: int = 0

    def for_prompt(self, prompt_tokens: int) -> Rates:
        if self.long_rates is not None and prompt_tokens > self.long_above_tokens:
            return self.long_rates
        return self.rates


def _per_million(input_dollars: float, output_dollars: float, cache_read_dollars: float) -> Rates:
    """Rates from dollars for a million tokens. Writing to the cache costs a quarter more than input, everywhere."""
    input = round(input_dollars * 1000)
    return Rates(
        input=input,
        cache_write=round(input * 1.25),
        cache_read=round(cache_read_dollars * 1000),
        output=round(output_dollars * 1000),
    )


_FABLE = Price(rates=_per_million(10, 50, 1))
_FABLE_CHEAP_READS = Price(rates=_per_million(10, 50, 0.25))
_OPUS = Price(rates=_per_million(5, 25, 0.5))
_SONNET_4 = Price(rates=_per_million(3, 15, 0.3))

PRICES: dict[str, Price] = {
    "claude-haiku-5-5": Price(
        rates=_per_million(0.1, 0.5, 0.01), long_rates=_per_million(0.5, 2.5, 0.05), long_above_tokens=100_000
    ),
    "claude-sonnet-5-5": Price(rates=_per_million(2, 10, 0.1)),
    "claude-opus-5-5": Price(rates=_per_million(4, 20, 0.2)),
    "claude-fable-5-1": _FABLE_CHEAP_READS,
    "claude-mythos-5-1": _FABLE_CHEAP_READS,
    "claude-fable-5": _FABLE,
    "claude-mythos-5": _FABLE,
    "claude-sonnet-5": Price(rates=_per_million(2, 10, 0.2)),
    "claude-opus-5": _OPUS,
    "claude-opus-4-8": _OPUS,
    "claude-opus-4-7": _OPUS,
    "claude-opus-4-6": _OPUS,
    "claude-opus-4-5": _OPUS,
    "claude-sonnet-4-6": _SONNET_4,
    "claude-sonnet-4-5": _SONNET_4,
    "claude-haiku-4-5": Price(rates=_per_million(1, 5, 0.1)),
    "practice": Price(rates=_per_million(0, 0, 0)),
}
"""Every model that the Claude API serves and lists a price for, and the practice model, which is free."""

DEAREST = _FABLE
"""What a model that is not in the table is taken to cost: as much as the dearest in it, in every kind of token."""

_DATED = re.compile(r"-\d{8}$")


def price_of(model: str) -> Price:
    """A model's price; a dated name (`…-20251001`) is the same model."""
    return PRICES.get(_DATED.sub("", model), DEAREST)


def price(model: str, usage: Usage) -> int:
    """What an answer cost by the usage that was reported, in nano-dollars."""
    prompt_tokens = usage.input_tokens + usage.cache_write_tokens + usage.cache_read_tokens
    rates = price_of(model).for_prompt(prompt_tokens)
    return (
        usage.input_tokens * rates.input
        + usage.cache_write_tokens * rates.cache_write
        + usage.cache_read_tokens * rates.cache_read
        + usage.output_tokens * rates.output
        + usage.searches * SEARCH_NANO_DOLLARS
    )


def worst_case(model: str, input_bytes: int, max_tokens: int, searches_max: int = 0) -> int:
    """The most that a request can cost, in nano-dollars, before it is sent.

    `input_bytes` is the size of the request's body as JSON in UTF-8. The bound is safe because a token stands for
    at least one byte of text, the JSON around a message is longer than the marks a provider puts in its place,
    what it adds beyond that is allowed for, and all of it is counted at the price of a cache write, the dearest
    way to be read. Nothing longer than `max_tokens` is ever written. Each search may make the model read the
    whole prompt again, with the results so far; that part is an allowance, as no limit is published.
    """
    prompt_tokens = input_bytes + PROMPT_OVERHEAD_TOKENS
    readings = searches_max + 1
    found_tokens = SEARCH_RESULT_TOKENS * searches_max * readings // 2
    read_tokens = prompt_tokens * readings + found_tokens
    rates = price_of(model).for_prompt(read_tokens)
    return read_tokens * rates.cache_write + max_tokens * rates.output + searches_max * SEARCH_NANO_DOLLARS
