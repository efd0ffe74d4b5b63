"""What an answer's own text shows: a TODO that is still there, a launch that is none."""

from __future__ import annotations

import pytest

from flashlearn import check
from flashlearn.course.stub_remnants import stub_remnants
from flashlearn.outcome import Status
from tests.corpus import function_from_text

KERNEL = """
@triton.jit
def sum_kernel(x_ptr, s_ptr, columns, stride, BLOCK: tl.constexpr):
    i = tl.program_id(0)
    j = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i * stride + j, mask=j < columns, other=0.0)
    tl.store(s_ptr + i, tl.sum(x.to(tl.float32), axis=0))


def row_sum(x):
    x = x.contiguous()
    s = torch.empty(x.shape[0], dtype=x.dtype)
    sum_kernel[(x.shape[0],)](x, s, x.shape[1], x.stride(0), BLOCK=triton.next_power_of_2(x.shape[1]))
    return s
"""
LOAD = "    x = tl.load(x_ptr + i * stride + j, mask=j < columns, other=0.0)"
STORE = "    tl.store(s_ptr + i, tl.sum(x.to(tl.float32), axis=0))"
RETURN = "    return s"
LAUNCH = (
    "    sum_kernel[(x.shape[0],)](x, s, x.shape[1], x.stride(0), BLOCK=triton.next_power_of_2(x.shape[1]))"
)


def notes(*changes: tuple[str, str], status: Status = Status.WRONG) -> str:
    text = KERNEL
    for old, new in changes:
        assert text.count(old) == 1
        text = text.replace(old, new)
    return " | ".join(stub_remnants(function_from_text(text, "row_sum"), status))


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (LOAD, f"    # TODO: mask the tail\n{LOAD}", "says `# TODO: mask the tail`: is that part written?"),
        (LOAD, "    x = ...", "of sum_kernel is still `x = ...`: replace the dots with your code"),
        (STORE, "    ...", "of sum_kernel is still `...`"),
        (LAUNCH, "    sum_kernel[(x.shape[0],)]", "sum_kernel[…] alone only names the grid"),
        (LAUNCH, LAUNCH.replace("    sum", "    s = sum"), "which is not a tensor"),
        (STORE, "    return tl.sum(x, axis=0)", "a kernel's return value is lost"),
    ],
)
def test_what_is_left_of_a_stub_is_said_beside_the_verdict(old, new, said):
    assert said in notes((old, new))


def test_a_todo_line_among_code_of_one_s_own_is_said_as_that():
    stub = '    raise NotImplementedError("TODO row_sum: launch, return s")'
    said = notes((RETURN, f"{stub}\n{RETURN}"), status=Status.TODO)
    assert said.startswith("Line 20 of row_sum is still the TODO line, and the check stops there.")
    in_kernel = f'    tl.static_assert(False, "TODO row_sum: load the row")\n{LOAD}'
    assert "of sum_kernel is still the TODO line" in notes((LOAD, in_kernel), status=Status.TODO)


def test_a_stub_that_nobody_has_touched_is_not_started_and_nothing_more():
    bare = 'def row_sum(x):\n    """A sum."""\n    raise NotImplementedError("TODO row_sum: launch")\n'
    assert stub_remnants(function_from_text(bare, "row_sum"), Status.TODO) == ()


def test_a_patient_of_the_clinic_says_itself_what_to_do_with_its_line():
    line = '    tl.static_assert(False, "TODO clinic_1: find the faulty line, fix it, remove this line")'
    assert notes((LOAD, f"{line}\n{LOAD}"), status=Status.TODO) == ""


def test_nothing_is_said_of_an_answer_that_passes_and_nothing_of_one_without_leftovers():
    assert notes((LOAD, f"    # TODO: faster\n{LOAD}"), status=Status.PASS) == ""
    assert notes() == ""


def test_dots_in_an_index_and_a_helper_s_return_are_no_leftovers():
    dots = KERNEL.replace("x = x.contiguous()", "x = x.contiguous()[...]")
    helper = "\n@triton.jit\ndef add(x):\n    return tl.sum(x, axis=0)\n"
    used = helper + dots.replace("tl.sum(x.to(tl.float32), axis=0)", "add(x)")
    assert stub_remnants(function_from_text(used, "row_sum"), Status.WRONG) == ()


def test_a_report_shows_them_in_text_and_on_the_card(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("FLASHLEARN_HOME", str(tmp_path))
    answer = function_from_text(KERNEL.replace(STORE, "    # TODO store\n    ..."), "row_sum")
    report = check("row_sum", answer)
    assert len(report.notes) == 2
    for shown in (report.text(width=300), report._repr_html_()):
        assert "still says" in shown and "replace the dots" in shown
    assert report.to_dict()["notes"] == list(report.notes)
