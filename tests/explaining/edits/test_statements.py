"""Edits of whole statements."""

from flashlearn.explaining.edits.generation import edits_of


def test_a_quotient_and_a_remainder_in_each_others_place_are_exchanged_where_they_are_computed():
    text = (
        "@triton.jit\ndef k(x_ptr, H, sb, sh):\n    n = tl.program_id(0)\n    b = n % H\n    h = n // H\n"
        "    tl.store(x_ptr + b * sb + h * sh, 0.0)"
    )
    (edit,) = [e for e in edits_of(text) if e.kind.name == "exchanged divisions"]
    assert "b = n // H\n    h = n % H" in edit.applied(text)
    assert (edit.line, edit.new) == (4, "b = n // H; h = n % H")
