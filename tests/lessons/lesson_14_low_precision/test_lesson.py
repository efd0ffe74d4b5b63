"""Lesson 14: bits are read as the hardware reads them, formulas are right, and products have eight bits."""

from __future__ import annotations

import math

import pytest
import torch

from flashlearn.interpreter.route import observing
from flashlearn.kernels.fp8_forward import fp8_forward, keys_last
from flashlearn.kernels.low_precision import hadamard_rotate as hadamard_rotate_kernel
from flashlearn.kernels.low_precision import quantize_blocks as quantize_blocks_kernel
from flashlearn.kernels.shapes import Shape
from flashlearn.lessons.lesson_14_low_precision import (
    attention,
    eight_bits,
    gradients,
    hadamard_rotate,
    joined,
    measured,
    operand_order,
    orders,
    quantize_blocks,
    study,
    timed,
)
from flashlearn.lessons.lesson_14_low_precision import fp8_forward as exercise
from flashlearn.lessons.shared import reference
from tests.corpus import function_with_edits, right_entries
from tests.reviewing import reviewed


@pytest.mark.parametrize("of", [eight_bits.E4M3, eight_bits.E5M2], ids=lambda of: of.name)
def test_every_pattern_of_eight_bits_means_what_torch_says(of):
    patterns = torch.arange(256, dtype=torch.uint8)
    read = torch.tensor([eight_bits.parts(int(bits), of).value for bits in patterns], dtype=torch.float64)
    torch.testing.assert_close(read, patterns.view(of.dtype).double(), equal_nan=True, rtol=0, atol=0)


def test_the_largest_number_of_a_block_becomes_448_and_comes_back():
    x = torch.randn(40, 70, generator=torch.Generator().manual_seed(0))
    values, scales = eight_bits.quantized(x, 16, 32)
    back = eight_bits.dequantized(values, scales, 16, 32)
    assert values.float().abs().max() == 448 and scales.shape == (3, 3)
    torch.testing.assert_close(back.abs().max(), x.abs().max())
    assert study.relative_error(back, x.double()) < 0.04


@pytest.mark.parametrize("D", [1, 2, 16, 64])
def test_a_rotation_is_orthogonal_and_leaves_scores_alone(D):
    generator = torch.Generator().manual_seed(D)
    h = eight_bits.hadamard(D)
    torch.testing.assert_close(h @ h.T, D * torch.eye(D, dtype=torch.float64))
    signs = torch.randint(0, 2, (D,), generator=generator) * 2.0 - 1.0
    q, k = (torch.randn(5, D, generator=generator, dtype=torch.float64) for _ in range(2))
    turned = eight_bits.rotated(q, signs) @ eight_bits.rotated(k, signs).T
    torch.testing.assert_close(turned, q @ k.T)


def test_butterflies_make_the_same_rotation():
    given = hadamard_rotate.rows_and_signs(
        hadamard_rotate.hadamard_rotate.cases[1], torch.Generator().manual_seed(0)
    )
    torch.testing.assert_close(hadamard_rotate.by_butterflies(**given), eight_bits.rotated(**given))


def test_a_sum_in_fewer_bits_loses_with_its_length_unless_it_is_promoted():
    products = torch.rand(1024, 50, generator=torch.Generator().manual_seed(1))
    right = products.double().sum(0)
    kept, promoted = (study.relative_error(eight_bits.summed(products, n), right) for n in (0, 128))
    assert kept > 4 * promoted
    assert study.relative_error(eight_bits.summed(products, bits=40), right) < 1e-6


def test_keys_are_stored_last_in_the_order_in_which_p_comes():
    v = torch.arange(40.0).view(1, 1, 40, 1).expand(1, 1, 40, 16).to(torch.float8_e4m3fn)
    t = keys_last(v).float()
    assert t.shape == (1, 1, 16, 48)
    assert t[0, 0, 0, :8].tolist() == [0, 1, 8, 9, 2, 3, 10, 11]
    assert sorted(t[0, 0, 3].tolist()) == sorted([*v[0, 0, :, 0].tolist(), *[0.0] * 8])


@pytest.mark.parametrize("shape", [None, Shape(64, 64, 4, 1), Shape(32, 32, 4, 1), Shape(128, 32, 4, 1)])
@pytest.mark.parametrize("causal", [False, True])
def test_attention_is_right_for_every_tile_that_divides_a_scaled_block(shape, causal):
    case = exercise.masked_case(150, 290, 32, causal, data="blocks that differ", seed=5)
    given = exercise.quantized_inputs(case, case.generator())
    o, lse = fp8_forward(**given, shape=shape)
    wide = {n: t.double() if torch.is_tensor(t) else t for n, t in given.items()}
    right, right_lse = attention.attention(**wide)
    assert study.relative_error(o, right) < 0.03
    torch.testing.assert_close(lse.double(), right_lse, atol=1e-5, rtol=1e-5)


def test_the_truth_is_attention_over_what_the_numbers_stand_for():
    q, k, v = (torch.randn(1, 2, 200, 16, generator=torch.Generator().manual_seed(s)) for s in range(3))
    given = attention.quantized_heads(q, k, v)
    wide = {name: t.double() for name, t in given.items()}
    meant = [wide[n] * attention.per_row(wide[f"{n}_scale"], 200) for n in "qkv"]
    torch.testing.assert_close(
        attention.attention(**wide, causal=True, alpha=-0.3), reference.attention_forward(*meant, -0.3, True)
    )


def test_what_does_not_fit_is_refused_in_a_sentence():
    q = torch.zeros(1, 1, 16, 16)
    one = torch.ones(1, 1, 1)
    with pytest.raises(TypeError, match="expected float8_e4m3fn"):
        fp8_forward(q, q, q, one, one, one, False, 1.0)
    with pytest.raises(ValueError, match="divisors of 128"):
        q = q.to(torch.float8_e4m3fn)
        fp8_forward(q, q, q, one, one, one, False, 1.0, shape=Shape(64, 256, 4, 1))


@pytest.mark.parametrize("D", [64, 128])
def test_both_products_take_e4m3_on_an_h100_and_nothing_spills(D):
    made = attention.needs(D)
    assert made.operands == ("e4m3",) and made.tensor_cores == "wgmma"
    assert made.spill_bytes == 0 and made.tma


def test_the_order_in_which_threads_keep_their_keys_saves_the_exchange_between_threads():
    order = [orders.key_at(place) for place in range(16)]
    assert [orders.thread_with(key) for key in order] == [orders.thread_at(place) for place in range(16)]
    assert all(order[4 * t : 4 * t + 4] == sorted(order[4 * t : 4 * t + 4]) for t in range(4))
    inverse = sorted(range(16), key=lambda place: order[place])
    exchanged = [orders.shuffles(keys) for keys in (range(16), inverse, order)]
    assert exchanged[0] == exchanged[1] > exchanged[2]


def test_a_thread_s_keys_may_lie_in_any_order_within_it():
    unsorted = [orders.key_at(place // 4 * 4 + (0, 2, 1, 3)[place % 4]) for place in range(16)]
    assert orders.shuffles(unsorted) == orders.shuffles(map(orders.key_at, range(16)))


def test_the_course_s_order_is_renamed_as_the_package_does_it():
    assert orders.bits(map(orders.key_at, range(16))) == (0, 3, 1, 2)
    q = torch.randn(1, 1, 128, 32, generator=torch.Generator().manual_seed(0))
    given = attention.quantized_heads(q, q.flip(2), q.roll(1, 2))
    with observing():
        mine, _ = orders.renamed(map(orders.key_at, range(16)))(**given, causal=False, alpha=0.2)
        course, _ = fp8_forward(**given, causal=False, alpha=0.2)
    assert torch.equal(mine, course)


@pytest.mark.parametrize(
    ("order", "message"),
    [([0] * 16, "each once"), ([1, 0, *range(2, 16)], "exchanging bits"), ([0], "each once")],
)
def test_numbers_that_no_reshape_makes_are_refused(order, message):
    with pytest.raises(ValueError, match=message):
        orders.bits(order)


def test_a_tile_of_v_as_it_is_goes_through_registers():
    found = orders.tile_by_tile()
    assert found["V as it is"]["st.shared"] > 5 * found["V stored along the keys"]["st.shared"]


def test_eight_bits_are_refused_mn_major_by_the_compiler_and_the_assembler():
    made = {
        (dtype, k_major): operand_order.compiled(dtype, k_major)
        for dtype in (torch.bfloat16, torch.float8_e4m3fn)
        for k_major in (True, False)
    }
    assert [key for key, budget in made.items() if budget.error] == [(torch.float8_e4m3fn, False)]
    assert made[torch.float8_e4m3fn, True].operands == ("e4m3",)
    message = {(k, t): operand_order.assembled(k, t) for k in ("bf16", "e4m3") for t in (False, True)}
    assert [key for key, sentence in message.items() if sentence] == [("e4m3", True)]
    assert "FP8" in message["e4m3", True]


@pytest.mark.parametrize("k_major", [True, False])
def test_the_product_of_either_order_is_right_where_it_is_observed(k_major):
    a, b = torch.randn(2, 64, 64, generator=torch.Generator().manual_seed(2)).to(torch.float8_e4m3fn)
    c = torch.empty(64, 64)
    with observing():
        operand_order.one_product_kernel[(1,)](a, b, c, K_MAJOR=k_major, SIDE=64, num_warps=4)
    torch.testing.assert_close(c, a.float() @ (b.float().T if k_major else b.float()), atol=1e-3, rtol=1e-5)


@pytest.mark.parametrize("centred", [False, True])
def test_joined_exercises_prepare_what_the_formula_prepares(centred):
    q, k, v = (torch.randn(1, 2, 128, 32, generator=torch.Generator().manual_seed(s)) + s for s in range(3))
    signs = torch.ones(32)
    with observing():
        given = joined.prepared(q, k, v, signs, hadamard_rotate_kernel, quantize_blocks_kernel, centred)
    k = k - k.mean(2, keepdim=True) if centred else k
    right = attention.quantized_heads(eight_bits.rotated(q, signs), eight_bits.rotated(k, signs), v)
    for name, x in right.items():
        torch.testing.assert_close(given[name].float(), x.float(), rtol=0.13, atol=1e-3)
        assert given[name].shape == x.shape


def test_blocks_of_rows_that_would_belong_to_two_heads_are_refused():
    x = torch.zeros(1, 2, 100, 16)
    with pytest.raises(ValueError, match="multiple of 128"):
        joined.prepared(x, x, x, None, hadamard_rotate_kernel, quantize_blocks_kernel)


def test_dq_of_the_emulation_is_autograd_s():
    q, k, v, do = gradients.inputs("common part")
    leaf = q.clone().requires_grad_()
    o, _ = reference.attention_forward(leaf, k, v, study.D**-0.5, True)
    (right,) = torch.autograd.grad(o, leaf, do)
    torch.testing.assert_close(gradients.dq(q, k, v, do), right)
    torch.testing.assert_close(gradients.dq(q, k - k.mean(2, keepdim=True), v, do), right)


def test_steps_of_the_forward_pass_lose_independently():
    found = study.errors_by_step(*study.draw("normal"))
    assert math.hypot(found["Q and K"], found["P"], found["V"]) == pytest.approx(found["all"], rel=0.1)


def test_all_that_is_timed_computes_attention_over_the_same_tensors():
    q, k, v = torch.randn(3, 1, 1, 128, 64, generator=torch.Generator().manual_seed(0)).bfloat16()
    signs, functions = torch.ones(64), (hadamard_rotate_kernel, quantize_blocks_kernel)
    right, _ = reference.attention_forward(q.double(), k.double(), v.double(), 0.125, False)
    with observing():
        calls = timed.calls(q, k, v, fp8_forward, lambda *qkv: joined.prepared(*qkv, signs, *functions, True))
        found = {name: call() for name, call in calls.items()}
    assert {timed.EIGHT, timed.PREPARED, timed.TUNED, timed.WARP_SPECIALISED} <= found.keys()
    for name, outputs in found.items():
        o = outputs[0] if isinstance(outputs, tuple) else outputs
        assert study.relative_error(o, right) < (0.06 if name in (timed.EIGHT, timed.PREPARED) else 0.005)


def a_record(**ms):
    shape = {"B": 1, "H": 2, "S": 128, "D": 64, "ms": ms, "spread": dict.fromkeys(ms)}
    return {"device": "a GPU", "versions": {"torch": "1"}, "shapes": [shape]}


def test_times_stand_beside_what_was_predicted_and_what_was_not_timed_is_left_out():
    record = a_record(**{timed.EIGHT: 1.0, timed.PREPARED: 2.0, timed.TUNED: 1.5})
    assert timed.factor(record, 64, timed.EIGHT, timed.TUNED) == 1.5
    message = timed.comparison(record, {64: 1.4})
    assert "you predicted × 1.40; if nothing overlaps × 1.33" in message and "× 0.75" in message
    assert message.count("not timed") == 4
    assert "you predicted nothing" in timed.comparison(record, {64: None})
    assert "TFLOP/s" in timed.table(record)


def test_without_a_hopper_the_stored_times_are_shown_or_said_to_be_missing(monkeypatch, capsys):
    monkeypatch.setattr(timed, "on_hopper", lambda: False)
    monkeypatch.setattr(timed, "shipped", lambda: None)
    assert timed.kept() is None and "missing" in capsys.readouterr().out
    monkeypatch.setattr(timed, "shipped", lambda: a_record(**{timed.EIGHT: 1.0}))
    assert timed.kept() is not None and "Stored times: a GPU" in capsys.readouterr().out
    with pytest.raises(RuntimeError, match="here is none"):
        timed.measure()


def test_a_stored_record_of_times_has_every_contestant_and_its_device():
    if (record := timed.shipped()) is None:
        pytest.skip("no record of times is stored yet")
    assert "H200" in record["device"]
    for shape in record["shapes"]:
        assert {timed.EIGHT, timed.PREPARED, timed.TUNED, timed.CUDNN} <= shape["ms"].keys()


def test_the_baseline_s_casts_are_not_timed():
    case = exercise.masked_case(16, 32, 16, False, seed=1)
    given = exercise.quantized_inputs(case, case.generator())
    call = exercise.fp8_forward.timed.contestants["sdpa_bf16"].make(*given.values())
    assert all(x.dtype == torch.bfloat16 for x in call.args[:3]) and call().dtype == torch.bfloat16


def test_a_product_in_sixteen_bits_is_told_as_that():
    (entry,) = [e for e in right_entries() if e.exercise == "fp8_forward"]
    in_bf16 = function_with_edits(
        entry.text,
        ("p8 = (p * 448.0).to(V.dtype.element_ty)", "p8 = (p * 448.0).to(tl.bfloat16)"),
        ("tl.dot(p8, v)", "tl.dot(p8, v.to(tl.bfloat16))"),
    )
    small = function_with_edits(entry.text, ("BM, BN = 64, 64", "BM, BN = 16, 64"))
    assert "some operands of your products are bf16" in reviewed(exercise.fp8_forward, in_bf16)
    assert "no product of your kernel uses wgmma" in reviewed(exercise.fp8_forward, small)
    assert not reviewed(exercise.fp8_forward, fp8_forward)


def test_truncation_is_not_taken_for_rounding():
    case = quantize_blocks.quantize_blocks.cases[1]
    from flashlearn.judging.tolerance import Truth

    inputs = quantize_blocks.blocks(case, case.generator())
    truth = Truth(quantize_blocks.quantize_blocks, inputs)
    values, _ = eight_bits.quantized(**inputs)
    cut = values.view(torch.uint8).clone()
    up = values.double().abs() > truth.expected[0].abs()
    cut[up] -= 1  # the next number toward zero
    assert truth.judge(0, values).ok and not truth.judge(0, cut.view(torch.float8_e4m3fn)).ok
    assert math.isfinite(truth.allowed(0)[0])


def test_the_measured_sums_are_right_where_they_are_added_in_fp32():
    record = measured.shipped()
    assert "H200" in record["device"]
    assert max(record["ways"]["fp32 after 128"].values()) < 1e-3
    assert set(record["ways"]) == set(measured.WAYS)


def test_the_measuring_kernel_computes_a_product():
    a, b = torch.rand(2, measured.SIDE, 256, generator=torch.Generator().manual_seed(0)).to(
        eight_bits.E4M3.dtype
    )
    for apart in (False, True):
        c = torch.empty(measured.SIDE, measured.SIDE)
        with observing(seed=1):
            measured.long_sums_kernel[(1,)](a, b, c, 256, APART=apart, SIDE=measured.SIDE)
        torch.testing.assert_close(c, a.float() @ b.float().T, rtol=1e-5, atol=0)


def test_without_such_a_gpu_the_record_is_shown_and_says_so(monkeypatch, capsys):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    kept = measured.kept()
    assert "for this lesson: NVIDIA H200" in capsys.readouterr().out
    assert list(kept["in the tensor core"]) == list(measured.LENGTHS)
    with pytest.raises(RuntimeError, match="here is none"):
        measured.measure()
