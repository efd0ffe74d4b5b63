"""The grader is fair: room for every order of summing, names for mistakes, all of triton's functions."""

from __future__ import annotations

import dataclasses
import functools

import pytest
import torch
import triton
import triton.language as tl
from triton.language.extra import libdevice
from triton.language.extra.cuda.libdevice import fast_expf

from flashlearn.exercise import Kind
from flashlearn.interpreter.errors import LaunchError, NeedsGpu
from flashlearn.interpreter.route import observing
from flashlearn.judging.cases import run_observed
from flashlearn.judging.references import convert
from flashlearn.judging.tolerance import Truth
from flashlearn.lessons import all_exercises, find
from flashlearn.lessons.lesson_06_flash_forward.forward_cases import FALLING
from flashlearn.lessons.shared import reference
from flashlearn.lessons.shared.attention_cases import attention_case, backward_inputs, forward_inputs
from flashlearn.lessons.shared.faulty_formulas.forward import scan
from flashlearn.lessons.shared.tiled_twins import (
    forward_by_products,
    forward_from_lse,
    forward_in_tiles,
    gradients_in_tiles,
    in_halves,
    in_order,
    matrix_product_reversed,
)
from flashlearn.outcome import Status
from tests.corpus import right_entries

KERNELS = [e for e in all_exercises().values() if e.kind is Kind.KERNEL]


@pytest.mark.parametrize("exercise", KERNELS, ids=lambda e: e.name)
def test_a_kernel_exercise_knows_four_mistakes_by_name(exercise):
    assert len(exercise.explained.mistakes) >= 4
    assert len({mistake.sentence for mistake in exercise.explained.mistakes.values()}) == len(
        exercise.explained.mistakes
    )


# ---------------------------------------------------------------- twins that sum in tiles

SIZES = [(37, 64), (64, 20), (1, 37)]


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize(("S_q", "S_k"), SIZES)
def test_sums_in_tiles_are_the_formula_s_sums(S_q, S_k, causal):
    case = attention_case(S_q, S_k, 16, B=2, H=3)
    given = convert(backward_inputs(case, case.generator(), causal), torch.float64)
    forward = {name: given[name] for name in ("q", "k", "v", "alpha")}
    given |= dict(zip(("o", "lse"), reference.attention_forward(**forward, causal=causal), strict=True))
    pairs = [
        *zip(
            forward_in_tiles(**forward, causal=causal), reference.attention_forward(**forward, causal=causal),
            strict=True,
        ),
        *zip(
            gradients_in_tiles(**given, causal=causal), reference.attention_gradients(**given, causal=causal),
            strict=True,
        ),
    ]  # fmt: skip
    for tiled, formula in pairs:
        torch.testing.assert_close(tiled, formula, rtol=1e-10, atol=1e-10)


def test_a_twin_in_tiles_serves_one_head_without_batch_too():
    case = attention_case(40, 24, 16)
    given = forward_inputs(case, case.generator())
    one = {name: x[0, 0] if isinstance(x, torch.Tensor) else x for name, x in given.items()}
    assert torch.equal(forward_in_tiles(**one)[0], forward_in_tiles(**given)[0][0, 0])


TILED = [e for e in KERNELS if e.lesson in ("06", "07", "08", "09")]


@pytest.mark.parametrize("exercise", TILED, ids=lambda e: e.name)
def test_no_right_order_of_summing_leaves_the_allowed_error(exercise):
    """Draws that the exercise's own cases do not have, and sums from either end."""
    case = next(c for c in exercise.cases if c.dtype == torch.float32 and c.sizes["S_q"] > 16)
    for seed in range(5):
        drawn = dataclasses.replace(case, seed=500 + seed)
        inputs = exercise.inputs(drawn, drawn.generator())
        truth = Truth(exercise, inputs)
        for twin in (exercise.reference, *exercise.judged.twins):
            outputs = twin(**reversed_in_d(inputs))
            for i, out in enumerate(outputs if isinstance(outputs, tuple) else (outputs,)):
                out = out if exercise.outputs[i] == "lse" else out.flip(-1)
                check = truth.judge(i, out)
                assert check.ok, (exercise.outputs[i], seed, twin, check.error / check.allowed)


@pytest.mark.parametrize(("name", "seed"), [("×30", 2021), ("×10, negative alpha", 2062), ("×10", 1020)])
def test_a_first_pass_for_lse_is_as_right_as_the_online_scan(name, seed):
    """Draws of large values on which P = exp(S − LSE) strays furthest: LSE's rounding scales a whole row."""
    exercise = find("flash_forward_causal")
    case = next(c for c in exercise.cases if c.name.endswith("values " + name))
    entry = next(e for e in right_entries() if e.title.startswith("the logsumexp in a first pass"))
    found = run_observed(exercise, entry.function, dataclasses.replace(case, seed=seed))
    assert found.status is Status.PASS, found.message


@pytest.mark.parametrize("order", [in_order, in_halves, matrix_product_reversed], ids=lambda f: f.__name__)
def test_an_order_of_products_is_the_formula_s(order):
    case = attention_case(20, 37, 24, B=2, H=3)
    given = convert(forward_inputs(case, case.generator()), torch.float64)
    for spelling in (forward_by_products, forward_from_lse):
        for got, right in zip(spelling(**given, causal=True, products=order),
                              reference.attention_forward(**given, causal=True), strict=True):  # fmt: skip
            torch.testing.assert_close(got, right, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", ["flash_forward", "flash_forward_causal"])
@pytest.mark.parametrize("keys", [16, 32, 64, 128])
def test_falling_scores_overflow_where_the_maximum_is_one_tile_s(name, keys):
    exercise = find(name)
    case = next(c for c in exercise.cases if c.data == FALLING)
    inputs = exercise.inputs(case, case.generator())
    truth = Truth(exercise, inputs)
    made = functools.partial(scan, **inputs, causal="causal" in name, tile=(16, keys))
    wrong = made(faults=frozenset({"maximum of the tile alone"}))
    assert not all(truth.judge(i, out).ok for i, out in enumerate(wrong))
    for i, out in enumerate(made()):
        check = truth.judge(i, out)
        assert check.error <= 0.7 * check.allowed


@pytest.mark.parametrize("exercise", TILED, ids=lambda e: e.name)
def test_no_case_hangs_on_the_rounding_of_a_single_number(exercise):
    for case in exercise.cases:
        q = exercise.inputs(case, case.generator())["q"] if not case.gpu else None
        assert q is None or case.sizes["S_k"] > 1 or q.shape[:3].numel() >= 6


def reversed_in_d(inputs):
    return {n: x.flip(-1) if n != "lse" and torch.is_tensor(x) else x for n, x in inputs.items()}


# ---------------------------------------------------------------- libdevice, however it is named


@triton.jit
def device_functions(x_ptr, y_ptr, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + lanes)
    tl.store(y_ptr + lanes, libdevice.erf(x))
    tl.store(y_ptr + BLOCK + lanes, tl.extra.cuda.libdevice.rsqrt(x))
    tl.store(y_ptr + 2 * BLOCK + lanes, fast_expf(x))
    tl.store(y_ptr + 3 * BLOCK + lanes, x.exp2())
    tl.store(y_ptr + 4 * BLOCK + lanes, libdevice.fma(x, x, x))
    tl.store(y_ptr + 5 * BLOCK + lanes, libdevice.pow(x, 3))
    tl.store(y_ptr + 6 * BLOCK + lanes, tl.where(libdevice.isnan(x) | libdevice.isinf(x), 0.0, x))
    tl.store(y_ptr + 7 * BLOCK + lanes, libdevice.round(4 * x))


def test_libdevice_is_known_by_every_name_it_goes_by():
    x = torch.tensor([0.125, 0.5, 1.0, 2.625])
    y = torch.empty(8, 4)
    with observing():
        device_functions[(1,)](x, y, BLOCK=4)
    rounded = torch.tensor([1.0, 2.0, 4.0, 11.0])  # 10.5 goes away from zero
    expected = (x.erf(), x.rsqrt(), x.exp(), x.exp2(), x * x + x, x**3, x, rounded)
    torch.testing.assert_close(y, torch.stack(expected))


@triton.jit
def one_function(x_ptr, WHICH: tl.constexpr):
    x = tl.load(x_ptr)
    tl.store(x_ptr, libdevice.exp(x) if WHICH == "exp" else libdevice.erfcinv(x))


def test_a_type_that_libdevice_has_no_version_for_is_refused_as_the_compiler_does():
    with observing(), pytest.raises(LaunchError, match=r"no version for .*float16.*: convert first"):
        one_function[(1,)](torch.ones(1, dtype=torch.float16), "exp")


def test_what_cannot_be_interpreted_is_not_the_learner_s_fault():
    with observing(), pytest.raises(NeedsGpu, match="needs a GPU"):
        one_function[(1,)](torch.ones(1), "else")


def test_libdevice_is_itself_again_after_a_launch():
    before = libdevice.exp, fast_expf, functools.reduce(getattr, ["extra", "cuda", "libdevice", "exp"], tl)
    with observing():
        one_function[(1,)](torch.ones(1), "exp")
    after = libdevice.exp, fast_expf, functools.reduce(getattr, ["extra", "cuda", "libdevice", "exp"], tl)
    assert before == after


def test_row_sums_of_products_are_the_launcher_s_own_business_also_by_einsum():
    entry = next(
        e for e in right_entries() if e.exercise == "dq_kernel" and "atomic additions to dQ" in e.says
    )
    exercise = find(entry.exercise)
    assert run_observed(exercise, entry.function, exercise.cases[0]).status is Status.PASS


def test_a_matrix_product_in_the_launcher_is_not_the_learner_s_kernel_also_by_einsum():
    exercise = find("tiled_matmul")
    outcome = run_observed(exercise, lambda a, b: torch.einsum("mk,kn->mn", a, b), exercise.cases[0])
    assert outcome.status is Status.NOT_YOURS and "torch" in outcome.message
