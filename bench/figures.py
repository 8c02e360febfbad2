"""Figures: what was measured under one name, as a line of the table and a value of the JSON object."""

import statistics
from collections.abc import Sequence

import attrs


@attrs.frozen(kw_only=True)
class Figure:
    """Values measured under one name; it stands for their median. `bar`: what it should not be above."""

    name: str
    values: Sequence[float] = attrs.field(validator=attrs.validators.min_len(1))
    unit: str = ""
    bar: float | None = None
    digits: int = 0

    @property
    def median(self) -> float:
        """The median, rounded to `digits`."""
        middle = round(statistics.median(self.values), self.digits)
        return middle if self.digits else int(middle)

    def line(self) -> tuple[str, ...]:
        """Name, median, spread (the middle eight tenths), number of values, bar and verdict."""
        ordered = sorted(self.values)
        low, high = ordered[len(ordered) // 10], ordered[-1 - len(ordered) // 10]
        spread = "" if low == high else f"{self._said(low)} … {self._said(high)}"
        bar = "" if self.bar is None else f"≤ {self.bar:g}" + (" ✗" if self.median > self.bar else " ✓")
        return self.name, f"{self._said(self.median)} {self.unit}".strip(), spread, str(len(ordered)), bar

    def _said(self, value: float) -> str:
        return f"{value:,.{self.digits}f}"


def table(figures: Sequence[Figure]) -> str:
    """The figures as aligned columns."""
    rows = [("what", "median", "spread", "n", "bar"), *(figure.line() for figure in figures)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return "\n".join("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in rows)


def named(figures: Sequence[Figure]) -> dict[str, object]:
    """Medians by name; figures named `name[key]` become a map under `name`."""
    made: dict[str, object] = {}
    for figure in figures:
        name, _, key = figure.name.rstrip("]").partition("[")
        if key:
            inner = made.setdefault(name, {})
            assert isinstance(inner, dict)
            inner[key] = figure.median
        else:
            made[name] = figure.median
    return made
