"""The course's running example is what every lesson says it is."""

import math

import sympy as sp
import torch

from flashlearn.lessons.shared import example


def test_the_sizes_differ_so_that_a_transposed_operand_does_not_fit():
    assert example.Q.shape == example.dO.shape == (4, 2)
    assert example.K.shape == example.V.shape == (3, 2)
    assert {t.dtype for t in (example.Q, example.K, example.V, example.dO)} == {torch.float64}
    assert math.isclose(example.ALPHA**2, 1 / 2)


def test_row_0_has_the_scores_and_the_gradient_that_lessons_work_with_by_hand():
    S = example.ALPHA * example.Q @ example.K.T
    torch.testing.assert_close(S[0], torch.tensor([1.0, 2.0, 3.0], dtype=torch.float64) / math.sqrt(2))
    assert (example.dO @ example.V.T)[0].tolist() == [1, -2, 0]


def test_the_matrices_of_sympy_hold_the_same_numbers_exactly():
    exact = example.symbolic()
    assert exact.alpha**2 == sp.Rational(1, 2)
    for name in ("Q", "K", "V", "dO"):
        assert getattr(exact, name).tolist() == getattr(example, name).int().tolist()
        assert all(x.is_Integer for x in getattr(exact, name))


def test_what_a_caller_does_to_a_copy_stays_with_the_caller():
    example.symbolic().Q[0, 0] = 99
    q, k, v, do = example.tensors(dtype=torch.float64)
    for t in (q, k, v, do):
        t += 1
    assert example.symbolic().Q[0, 0] == 1
    assert example.Q[0, 0] == 1 and example.dO[0, 1] == -1


def test_a_kernel_s_copies_have_the_dtype_asked_for():
    assert {t.dtype for t in example.tensors(dtype=torch.bfloat16)} == {torch.bfloat16}
    assert all(t.is_contiguous() for t in example.tensors())
