"""A value that a later line masks may still be as it should be at its own line."""

from types import SimpleNamespace

import pytest

from flashlearn.explaining.divergence import masked_later
from flashlearn.outcome import Finding, Place

OWN = "    p = tl.exp(s)\n    p = tl.where(seen, p, 0.0)\n"
ANOTHER = "    p = tl.exp(s)\n    q = tl.where(seen, other, 0.0)\n"
OUTSIDE = "    p = tl.exp(s)\nr = 1\np = tl.where(seen, p, 0.0)\n"


@pytest.mark.parametrize(
    ("text", "instead", "masked"),
    [
        (OWN, "NaN", True),
        (ANOTHER, "NaN", False),
        (ANOTHER, "unmasked", True),
        (OUTSIDE, "unmasked", False),
        ("    p = tl.exp(s)\n    p = p * 2\n", "unmasked", False),
    ],
)
def test_a_mask_in_the_same_block_after_the_line_counts(text, instead, masked, tmp_path):
    file = tmp_path / "kernel.py"
    file.write_text(text)
    place = Place(str(file), 1, text.splitlines()[0], "kernel")
    kind = SimpleNamespace(variable="p", instead=SimpleNamespace(kind=instead))
    assert masked_later(Finding(kind, place)) is masked
