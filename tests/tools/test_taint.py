"""The algebra of labels: they only grow, and only what the owner had seen is not fresh."""

from hypothesis import given
from hypothesis import strategies as st

from tools.taint import freshly_tainted, join, tainted

LABELS = st.integers(0, 2**62)


def test_nothing_joined_is_the_owners_own() -> None:
    assert join([]) == 0
    assert not tainted(join([]))


@given(st.lists(LABELS))
def test_a_join_is_the_newest_of_its_labels(labels: list[int]) -> None:
    assert join(labels) in (*labels, 0)
    assert all(join(labels) >= label for label in labels)


@given(st.lists(LABELS), st.lists(LABELS))
def test_joining_in_parts_or_in_another_order_is_the_same(some: list[int], others: list[int]) -> None:
    assert join([join(some), join(others)]) == join(iter(others + some))


@given(st.lists(LABELS))
def test_one_outside_text_taints_the_whole(labels: list[int]) -> None:
    assert tainted(join(labels)) == any(tainted(label) for label in labels)


@given(LABELS, LABELS)
def test_what_the_owner_had_seen_is_tainted_but_not_freshly(label: int, seen_no: int) -> None:
    assert freshly_tainted(label, seen_no) == (label > seen_no)
    assert not freshly_tainted(label, label)
    assert tainted(label) or not freshly_tainted(label, seen_no)


def test_an_owner_who_never_wrote_has_seen_nothing() -> None:
    assert freshly_tainted(1, 0)
    assert not freshly_tainted(0, 0)
