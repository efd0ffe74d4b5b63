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


TWO_LOOPS = """@triton.jit
def k(x_ptr, y_ptr, N, B: tl.constexpr):
    lanes = tl.arange(0, B)
    total = 0.0
    for first in range(0, N, B):
        at = first + lanes
        total += tl.sum(tl.load(x_ptr + at, mask=at < N, other=0.0))
    for first in range(0, N, B):
        at = first
        tl.store(y_ptr + at, total)
"""


def changes_of(text: str, line: int) -> list[tuple[str, str]]:
    """The kind and the new text of each edit of a line."""
    return [(e.kind.name, e.new) for e in edits_of(text) if e.line == line]


def test_an_assignment_is_not_deleted_where_its_name_would_hold_what_an_earlier_loop_has_left():
    kinds = {kind for kind, _ in changes_of(TWO_LOOPS, 9)}
    assert not kinds & {"redundant statement", "assignment"}
    reset = TWO_LOOPS.replace("    total = 0.0\n", "    total = 0.0\n    at = lanes\n")
    assert "redundant statement" in {kind for kind, _ in changes_of(reset, 10)}


def test_what_an_input_holds_is_not_given_the_opposite_sign():
    loaded = "@triton.jit\ndef k(x_ptr, y_ptr):\n    x = tl.load(x_ptr).to(tl.float32)\n"
    text = loaded + "    z = x * tl.exp(x)\n    tl.store(y_ptr, z)\n"
    assert not [new for kind, new in changes_of(text, 3) if kind == "sign"]
    assert ("sign", "-(x * tl.exp(x))") in changes_of(text, 4)


def test_what_another_loop_computes_for_the_same_name_is_tried_where_a_term_is_missing():
    assert ("other loop's value", "first + lanes") in changes_of(TWO_LOOPS, 9)
    assert "other loop's value" not in {kind for kind, _ in changes_of(TWO_LOOPS, 6)}


def test_a_value_that_is_only_a_term_of_one_sum_is_not_given_the_opposite_sign_itself():
    head = "def f(p, dp, o, do):\n    delta = (o * do).sum(dim=1)[:, None]\n"
    text = head + "    ds = p * (dp + delta)\n    return ds"
    assert not [new for kind, new in changes_of(text, 2) if kind == "sign" and new.startswith("-")]
    twice = text.replace("return ds", "return ds, delta")
    assert [new for kind, new in changes_of(twice, 2) if kind == "sign" and new.startswith("-")]


def test_a_quotient_and_a_remainder_in_one_line_exchange_their_names():
    head = "@triton.jit\ndef f(x, H, sb, sh):\n    n = tl.program_id(0)\n"
    text = f"{head}    h, b = n // H, n % H\n    return x + b * sb + h * sh\n"
    found = {(e.old, e.new) for e in edits_of(text) if e.kind.name == "exchanged divisions"}
    assert found == {("h, b = n // H, n % H", "b, h = n // H, n % H")}
