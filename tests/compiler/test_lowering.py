"""What Python has and triton's compiler does not take: each construct in a kernel, and what is said of it."""

from __future__ import annotations

import functools
import logging
import os

import pytest
import torch
from triton.runtime.jit import JITFunction

from flashlearn.compiler import lowering, parallel_lowering
from flashlearn.compiler.lowering import FrontEndRefusal, Lowering
from flashlearn.compiler.parallel_lowering import ParallelLowering
from flashlearn.interpreter.specialization import specialize
from flashlearn.processes.forked import Forked
from tests.compiler import python_kernels

TAKEN = ""
SAID = {
    "reads_a_closure": "`factor = tl.constexpr(2.0)`",
    "reads_a_constant_closure": TAKEN,
    "uses_break": "has no `break`",
    "uses_continue": "has no `continue`",
    "returns_in_a_loop": "no `return` in it",
    "returns_early": TAKEN,
    "returns_at_once_in_a_loop": "no `return` in it",
    "returns_in_a_while": "no `return` in it",
    "returns_in_a_helpers_loop": "no `return` in it",
    "calls_a_helper_of_two_returns": TAKEN,
    "uses_try": "has no `try`",
    "uses_with": "has no `with`",
    "uses_lambda": "cannot define a function inside",
    "uses_a_dict": "has no dictionaries",
    "uses_a_set": "has no sets",
    "uses_a_walrus": "has no `:=`",
    "uses_a_list_comprehension": "over `range(...)` write a `for`",
    "uses_a_comprehension_of_a_tuple": TAKEN,
    "appends_to_a_list": "it has no `append`",
    "loops_over_a_list": "A compiled loop counts",
    "loops_over_a_name": "A compiled loop counts",
    "loops_over_a_tuple_by_index": TAKEN,
    "loops_with_enumerate": "`enumerate` is Python's",
    "assigns_in_one_branch": "`x` gets its value only inside an `if` or a loop",
    "assigns_in_a_loop_alone": "`x` gets its value only inside an `if` or a loop",
    "reads_a_global": "`FACTOR = tl.constexpr(2.0)`",
    "reads_a_constant_global": TAKEN,
    "reads_a_table": "reads `TABLE` from outside, a dict",
    "calls_a_plain_helper": "decorate it with `@triton.jit` too",
    "calls_a_helper_that_calls_python": "calls `double`, a Python function",
    "calls_a_jitted_helper": TAKEN,
    "calls_torch": "`torch.tensor` runs in Python",
    "reads_torch": TAKEN,
    "names_a_torch_dtype": "dtypes such as `tl.float32`",
    "calls_numpy": "NumPy runs in Python",
    "calls_math": TAKEN,
    "calls_math_on_an_argument": "`math` take constants",
    "asks_a_tile": "`if` asks a whole tile",
    "asks_a_tile_of_one": TAKEN,
    "asks_a_tile_in_a_while": "`while` asks a whole tile",
    "chooses_by_a_tile": "fp32 (16,) and fp32",
    "joins_masks_with_and": TAKEN,
    "multiplies_a_narrow_tile": "inner dimension K >= 16",
    "multiplies_mixed_types": "fp32 and fp16",
    "deletes_a_name": "has no `del`",
    "raises": "Nothing can be raised",
    "asserts": TAKEN,
    "defines_a_function": "cannot define a function inside",
    "imports": "Import above the kernel",
    "declares_a_global": "cannot change what is outside",
    "uses_else_after_a_loop": "has no `else`",
    "chains_comparisons": "write `(0 < n) & (n < 100)`",
    "assigns_twice_at_once": "write two lines",
    "asks_for_membership": "`in` is not compiled",
    "uses_a_matrix_product_sign": "`tl.dot(a, b)` multiplies",
    "takes_a_power": "`**` is not compiled",
    "sums_in_python": "`sum` is Python's",
    "takes_abs": "Use `tl.abs`",
    "takes_round": "`round` is Python's",
    "takes_max_of_numbers": TAKEN,
    "zips": "index both tuples",
    "formats_text": "cannot put numbers into text",
    "prints": TAKEN,
    "reads_a_size": TAKEN,
    "slices_a_tile": "cannot be indexed by a number",
    "reassigns_a_constant_in_a_loop": "`k` is a constant",
    "sizes_a_tile_with_an_argument": "known at compile time",
    "unpacks_with_a_star": "`*` on the left of `=`",
    "stores_the_end_of_a_while": TAKEN,
    "loops_for_ever": "the loop never ends or never begins",
    "loops_for_ever_until_a_break": "has no `break`",
    "counts_with_a_float_step": "all must be integers",
    "calls_itself": "cannot call itself",
    "calls_itself_with_new_constants": "does a function always call itself",
    "calls_a_method_of_torch": "A tile has no `float`",
    "yields": "`sum` is Python's",
    "matches": "has no `match`",
    "uses_a_docstring": TAKEN,
    "uses_not_on_a_tile": TAKEN,
    "mixes_types_in_a_choice": "int32 and fp32",
}


def bound(name: str):
    kernel = getattr(python_kernels, name)
    return specialize(kernel, (torch.ones(1024), torch.zeros(1024), 16), {"N": 16})


@functools.cache
def refusals() -> dict[str, FrontEndRefusal]:
    """What is refused of the table, all of it in one process."""
    names = list(SAID)
    with Lowering([bound(name) for name in names]) as front_end:
        found = front_end.refusals()
        assert front_end.forked.ended == 0
    return {names[refusal.variant]: refusal for refusal in found}


def test_the_table_has_every_kernel():
    kernels = {
        name
        for name, value in vars(python_kernels).items()
        if isinstance(value, JITFunction) and value.arg_names[:2] == ["x_ptr", "y_ptr"]
    }
    assert kernels == set(SAID)


@pytest.mark.parametrize("name", SAID)
def test_a_construct_is_refused_in_words_and_with_its_line_or_taken(name: str):
    found = refusals().get(name)
    if SAID[name] == TAKEN:
        assert found is None, found.sentence
        return
    assert found is not None, "the front end takes it"
    assert SAID[name] in found.sentence
    assert "refuses this" not in found.sentence and "Error" not in found.sentence
    assert found.place.file == python_kernels.__file__ and found.place.text.strip()


def test_the_line_is_the_helpers_where_the_helper_is_refused():
    place = refusals()["returns_in_a_helpers_loop"].place
    assert (place.function, place.text.strip()) == ("return_in_a_loop", "if i == 1:")


def test_several_front_ends_refuse_what_one_refuses_in_the_order_of_the_launches():
    names = list(SAID)
    with ParallelLowering([bound(name) for name in names], processes=3) as front_ends:
        assert len(front_ends.parts) == 3
        found = {names[refusal.variant]: refusal.sentence for refusal in front_ends.refusals()}
    assert found == {name: refusal.sentence for name, refusal in refusals().items()}
    assert list(found) == [name for name in names if name in found]
    with ParallelLowering([]) as none:
        assert none.refusals() == ()


def test_a_front_end_that_fails_refuses_nothing_and_is_logged(monkeypatch, caplog):
    def fails(launch):
        raise ImportError("no dialect")

    monkeypatch.setattr(lowering, "lower", fails)
    with caplog.at_level(logging.WARNING), Lowering([bound("uses_break")]) as front_end:
        assert front_end.refusals() == ()
    assert "no dialect" in caplog.text


def test_a_front_end_that_dies_refuses_nothing_of_what_it_did_not_come_to(monkeypatch, caplog):
    first = bound("uses_break")
    honest = lowering.lower
    monkeypatch.setattr(lowering, "lower", lambda one: honest(one) if one is first else os.abort())
    with caplog.at_level(logging.WARNING), Lowering([first, bound("uses_try")]) as front_end:
        assert [refusal.variant for refusal in front_end.refusals()] == [0]
    assert "ended with -6" in caplog.text


def test_a_forked_process_that_takes_too_long_is_ended():
    with Forked(lambda send: [send(1), os.read(os.pipe()[0], 1)], seconds=60) as forked:
        answers = forked.answers(patience=60.0)
        assert next(answers) == 1
        assert list(forked.answers(patience=0.0)) == []
        number = forked.number
    assert forked.ended == -9
    with pytest.raises(ProcessLookupError):
        os.kill(number, 0)


def test_launches_that_compile_to_one_kernel_have_one_key():
    kernel, x, y = python_kernels.returns_early, torch.ones(64), torch.zeros(64)
    one, other = specialize(kernel, (x, y, 32), {"N": 16}), specialize(kernel, (x[1:], y, 7), {"N": 16})
    assert one.key == other.key
    for arguments, options in (
        ((x, y, 1), {"N": 16}),
        ((x.half(), y, 32), {"N": 16}),
        ((x, y, 32), {"N": 32}),
    ):
        assert specialize(kernel, arguments, options).key != one.key


def test_what_the_front_end_has_accepted_is_not_lowered_again_and_what_it_refused_is(monkeypatch):
    monkeypatch.setattr(parallel_lowering, "_accepted", {})
    launches = [bound("calls_a_jitted_helper"), bound("uses_break")]
    for lowered in ([0, 1], [1]):
        with ParallelLowering(launches, processes=1) as front_end:
            assert front_end.shares == [lowered]
            assert [refusal.variant for refusal in front_end.refusals()] == [1]


def test_a_launch_with_other_types_is_another_text():
    kernel = python_kernels.reads_a_constant_global
    before = bound("reads_a_constant_global").text_key
    assert before == bound("reads_a_constant_global").text_key
    assert (
        before
        != specialize(kernel, (torch.ones(8, dtype=torch.float16), torch.zeros(8), 16), {"N": 16}).text_key
    )
