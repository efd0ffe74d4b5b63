"""Edits of integers in loops, indices and sums, and what a run of a formula with loops costs."""

import pytest

import flashlearn
from flashlearn.explaining.edits import edits_of
from flashlearn.explaining.edits.formula_trial import QUICK_SECONDS, TURNS_OF_A_RUN, _runs
from flashlearn.running.evidence import Evidence

SHARE = """def fixed_share(pid, programs, blocks, heads):
    taken = tiles = 0
    number = pid
    while number < blocks * heads:
        taken += 1
        tiles += blocks - number // heads
        number += programs
    return taken, tiles
"""


def repaired(exercise: str, text: str, tmp_path) -> str:
    """What the report says of an answer's text."""
    names: dict = {}
    file = tmp_path / "answer.py"
    file.write_text(text)
    exec(compile(text, str(file), "exec"), names)
    return flashlearn.check(exercise, names[exercise], demo=True).sentence


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("blocks * heads", "blocks", "`number < blocks`; with `number < blocks * heads`"),
        ("number < blocks * heads", "number < heads * heads", "with `blocks * heads`"),
    ],
)
def test_the_bound_of_a_while_loop_is_among_what_is_edited(old, new, words, tmp_path):
    assert words in repaired("fixed_share", SHARE.replace(old, new, 1), tmp_path)


def test_a_range_may_lack_its_step_and_its_end_a_factor():
    new = {e.new for e in edits_of("def f(i, n, m):\n    return [k for k in range(i, n)]\n")}
    assert "range(i, n, m)" not in new
    new = {
        e.new for e in edits_of("def f(i, n, m):\n    for k in range(i, n):\n        i += k\n    return i\n")
    }
    assert {"range(i, n, m)", "n * m"} <= new


@pytest.mark.parametrize(
    ("value", "repair"),
    [
        ("a + b // c", "(a + b) // c"),
        ("a - b + a * c // b", "a - (b + a * c) // b"),
        ("a * b * c + d", "a * b * (c + d)"),
        ("a + 2 * c * b", "b + 2 * c * a"),
        ("x[1 - a]", "-1"),
        ("a // b + c", "(b * c)"),
        ("divmod(a, b)[0]", "b * c"),
    ],
)
def test_brackets_names_and_signs_of_an_expression_are_put_right(value, repair):
    assert repair in {edit.new for edit in edits_of(f"def f(a, b, c, d, x):\n    return {value}\n")}


def test_a_name_that_is_wrong_twice_in_a_line_is_changed_in_both_places():
    text = "def f(a, b, c):\n    d = a + b\n    return d // b * b\n"
    assert any(e.put == "c * c" for e in edits_of(text))


def test_a_factor_further_out_is_no_divisor():
    new = {edit.new for edit in edits_of("def f(a, b, c):\n    return (a + b) * c\n")}
    assert "a / c" not in new and "b / a" in new


def test_a_run_counts_by_the_turns_of_its_loops_and_a_slow_one_by_its_time():
    assert _runs(Evidence(turns=3, processor=QUICK_SECONDS / 2)) == 1.0
    assert _runs(Evidence(turns=5 * TURNS_OF_A_RUN)) == 5.0
    assert _runs(Evidence(processor=1.0)) > 100
