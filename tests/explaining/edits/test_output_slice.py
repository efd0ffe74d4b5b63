"""The lines on which an output depends, and the names that select a batch and a head."""

import ast

import torch

from flashlearn.exercise import Case
from flashlearn.explaining.edits import edits_of
from flashlearn.explaining.edits.head_names import head_names
from flashlearn.explaining.edits.output_slice import output_slices, suspect_lines
from flashlearn.outcome import Outcome, OutputCheck, Status
from flashlearn.running.answer_source import Section

KERNEL = """@triton.jit
def f_kernel(x_ptr, y_ptr, z_ptr, H, x_batch, x_head, y_batch, y_head, n, BLOCK: tl.constexpr):
    pair = tl.program_id(1)
    b, h = pair // H, pair % H
    x_ptr += b * x_batch + h * x_head
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs, mask=offs < n, other=0.0)
    twice = x * 2.0
    root = tl.sqrt(x)
    tl.store(y_ptr + offs, twice, mask=offs < n)
    tl.store(z_ptr + (h * H + b) * n + offs, root - x, mask=offs < n)
"""
LAUNCHER = """def f(x):
    B, H, n, D = x.shape
    y, z = torch.empty_like(x), torch.empty_like(x)
    f_kernel[(1, B * H)](x, y, z, H, *x.stride()[:2], *y.stride()[:2], n, BLOCK=16)
    return y, z.to(x.dtype)
"""
FOUND = [Section("f_kernel", "file", 11, KERNEL), Section("f", "file", 31, LAUNCHER)]
TREE = ast.parse(KERNEL).body[0]


def outcome(**ok: bool) -> Outcome:
    checks = tuple(OutputCheck(name, good, got=torch.zeros(1)) for name, good in ok.items())
    return Outcome(Case("a"), Status.PASS if all(ok.values()) else Status.WRONG, outputs=checks)


def test_the_lines_of_an_output_are_those_of_its_stores_and_of_what_is_stored():
    slices = output_slices(FOUND, ("y", "z"))
    assert {8, 10} <= slices["y"][0] and not {9, 11} & slices["y"][0]
    assert {9, 11} <= slices["z"][0] and not {8, 10} & slices["z"][0]
    assert {4, 5, 6, 7} <= slices["y"][0] & slices["z"][0]


def test_a_right_output_clears_the_lines_that_it_depends_on():
    kernel, launcher = suspect_lines(FOUND, ("y", "z"), [outcome(y=True, z=False)])
    assert kernel == {9, 11} and not launcher


def test_if_every_output_is_wrong_the_lines_that_all_depend_on_are_suspect():
    kernel, _ = suspect_lines(FOUND, ("y", "z"), [outcome(y=False, z=False)])
    assert {4, 5, 6, 7} <= kernel and not {8, 9, 10, 11} & kernel


def test_outputs_without_stores_of_their_own_clear_nothing():
    assert suspect_lines(FOUND, ("y", "w", "z"), [outcome(y=True, w=True, z=False)]) == [set(), set()]


def test_outputs_of_a_formula_have_slices():
    formula = "def f(a, b):\n    c = a * b\n    d = a - b\n    return (\n        c,\n        d,\n    )\n"
    kernel = suspect_lines([Section("f", "file", 1, formula)], ("c", "d"), [outcome(c=True, d=False)])
    assert kernel == [{3, 6}]


def test_outputs_that_a_function_returns_clear_it_and_the_functions_that_it_is_given():
    hook = "@triton.jit\ndef hook(x):\n    return x * 2.0\n"
    launcher = """def f(x):
    a, b = given(x, hook)
    *more, last = given(x, 1)
    z = torch.empty_like(x)
    f_kernel[(1,)](a, x, z, 1)
    return a, *more, z
"""
    sections = [Section("hook", "file", 1, hook), FOUND[0], Section("f", "file", 31, launcher)]
    outcomes = [outcome(a=True, b=True, c=True, z=False)]
    suspects = suspect_lines(sections, ("a", "b", "c", "z"), outcomes)
    assert suspects[0] == {0}, "no line of the hook"
    assert {9, 11} <= suspects[1]
    assert not {2, 3} & suspects[2] and {4, 5} <= suspects[2]


def test_names_of_batch_and_head_are_computed_from_a_program_and_no_lane():
    assert head_names(TREE) == {"pair", "b", "h", "H", "x_batch", "x_head"}


def test_edits_of_batch_and_head_are_marked():
    marked = {(edit.old, edit.new): edit.heads for edit in edits_of(KERNEL)}
    assert marked["h", "b"] and not marked["twice", "root"]


def test_two_names_of_batch_and_head_are_exchanged_throughout_an_expression():
    found = {(edit.old, edit.new, edit.kind.name) for edit in edits_of(KERNEL)}
    assert ("h * H + b", "b * H + h", "exchanged names") in found
    divided = ("b, h = pair // H, pair % H", "h, b = pair // H, pair % H", "exchanged divisions")
    assert divided in found


def test_a_pointer_whose_strides_are_unused_is_moved_as_its_neighbour_is():
    edit = next(edit for edit in edits_of(KERNEL) if edit.kind.name == "missing statement")
    assert edit.put == "x_ptr += b * x_batch + h * x_head; y_ptr += b * y_batch + h * y_head"
    assert edit.line == 5 and edit.applied(KERNEL).count("\n") == KERNEL.count("\n")


def test_a_missing_exponential_and_a_missing_term_are_tried():
    kernel = "@triton.jit\ndef k(s_ptr, m):\n    s = tl.load(s_ptr)\n    p = s - m\n    tl.store(s_ptr, p)\n"
    assert any(edit.new == "tl.exp(s - m)" for edit in edits_of(kernel))
    formula = "def f(d, q, total):\n    return [q * total for d, q in zip(d, q)]\n"
    assert any(edit.new == "(d - (q * total))" for edit in edits_of(formula))
