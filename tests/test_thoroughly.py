"""What is left out of a sample today comes another day."""

import pytest

from support.thoroughly import sample


@pytest.mark.parametrize("every", [1, 3, 16])
@pytest.mark.parametrize("tests", [[], list(range(5)), list(range(50))], ids=len)
def test_every_test_has_its_day(tests: list[int], every: int) -> None:
    """In so many days each test is chosen once, in its order, and what is not chosen is left out by name."""
    days = [sample(tests, every, day) for day in range(739_000, 739_000 + every)]
    assert sorted(test for chosen, _ in days for test in chosen) == tests
    assert all(chosen == sorted(chosen) and sorted([*chosen, *others]) == tests for chosen, others in days)
