"""Labels: whether a text derives from outside, and since when.

One rule: taint is computed from stored labels, never kept as a flag. A label is 0 for what is the owner's own, else
the number of the commit with which the newest outside text that it derives from came in. Nothing makes one smaller.
"""

from collections.abc import Iterable

Label = int


def join(labels: Iterable[Label]) -> Label:
    """The label of what derives from all of these: the highest, 0 if there are none."""
    return max(labels, default=0)


def tainted(label: Label) -> bool:
    """Whether anything from outside went into it."""
    return label > 0


def freshly_tainted(label: Label, seen_no: int) -> bool:
    """Whether something from outside came in that the owner had not seen when he last wrote.

    `seen_no` is the newest commit number that his client had shown him then, 0 if he never wrote.
    """
    return label > seen_no
