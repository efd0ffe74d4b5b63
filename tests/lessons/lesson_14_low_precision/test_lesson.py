"""Lesson 14: bits are read as the hardware reads them, formulas are right, and products have eight bits."""

from __future__ import annotations

import math

import pytest
import torch

from flashlearn.interpreter.route import observing
from flashlearn.kernels.fp8_forward import fp8_forward, keys_last
from flashlearn.kernels.shapes import Shape
from flashlearn.lessons.lesson_14_low_precision import (
    attention,
    eight_bits,
    hadamard_rotate,
    measured,
    quantize_blocks,
    study,
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


def test_renaming_p_s_columns_saves_the_exchange_between_threads():
    found = attention.shuffles()
    assert found["renamed"] < found["in order"]


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
