from __future__ import annotations

from tests.readme import README, generated


def test_the_generated_parts_are_fresh() -> None:
    """`make readme` writes them anew."""
    text = README.read_text()
    assert generated(text) == text
