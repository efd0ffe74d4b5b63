"""What a beginner reads after a slip: the original message, what was found, and what to try."""

from __future__ import annotations

import inspect
import math

import numpy as np
import pytest
import sympy as sp
import torch

from flashlearn.course.answers import mistake_function, solution
from flashlearn.judging.cases import run as run_cases
from flashlearn.judging.cases import run_observed
from flashlearn.judging.symbolic.cases import run_symbolic
from flashlearn.lessons import all_exercises, find
from flashlearn.outcome import Outcome, Status
from flashlearn.running.answer import call_sentence
from flashlearn.running.error_advice import advice_sentence

LINEAR, SOFTMAX = find("linear_backward"), find("softmax_vjp")


def of_torch(function) -> Outcome:
    return run_observed(LINEAR, function, LINEAR.cases[0])


def of_sympy(function) -> Outcome:
    return run_symbolic(SOFTMAX, function)[0]


def shapes_do_not_fit(x, w, dy):
    dx = dy @ w
    return dx, dx


def capital_letter(x, w, dy):
    return dy @ W.mT, dy  # noqa: F821


def import_forgotten(x, w, dy):
    return dy / maths.sqrt(2), triton.cdiv(1, 2)  # noqa: F821


def two_shapes_meet(x, w, dy):
    scale = torch.ones(77)
    return dy * scale, dy


def number_in_quotes(x, w, dy):
    return dy * "2", dy


def other_dtype(x, w, dy):
    half = dy.half()
    return half @ w.mT, dy


def method_not_called(x, w, dy):
    return dy @ w.t, dy


def one_number_per_row(x, w, dy):
    largest = dy.sum(1)
    return dy - largest, x


def misspelt_method(x, w, dy):
    return dy.matmull(w), dy


def in_place_on_a_leaf(x, w, dy):
    with torch.enable_grad():
        x.requires_grad_()
        x += 1
    return x, x


NO_GPU = (
    "no NVIDIA driver" if torch.version.cuda and not torch.cuda.is_available() else "not compiled with CUDA"
)
"""What torch says without a GPU: its default build in other words than that for CPUs."""


def on_a_gpu(x, w, dy):
    if torch.cuda.is_available():
        raise AssertionError("Torch not compiled with CUDA enabled")
    return dy.to("cuda"), dy


def dimension_left_out(x, w, dy):
    return torch.softmax(dy), dy


def dimension_of_a_vector(x, w, dy):
    return dy[0].sum(dim=1), dy


def dimension_of_a_matrix(x, w, dy):
    return dy.sum(dim=2), dy


@pytest.mark.parametrize(
    ("slip", "original", "help_"),
    [
        (dimension_of_a_vector, "but got 1", "A tensor of one dimension has 0 alone, or −1"),
        (dimension_of_a_matrix, "but got 2", "A tensor of two dimensions has 0 and 1"),
        (shapes_do_not_fit, "cannot be multiplied (4x3 and 2x3)", "here dy is [4, 3] and w is [2, 3]"),
        (capital_letter, "name 'W' is not defined", "Did you mean w?"),
        (import_forgotten, "name 'maths' is not defined", "Is it misspelled"),
        (two_shapes_meet, "must match the size", "here dy is [4, 3] and scale is [77]"),
        (one_number_per_row, "must match the size", "a column, largest[:, None]"),
        (number_in_quotes, "TypeError", "Is a number written in quotes?"),
        (other_dtype, "same dtype", "here half is float16, w is float32"),
        (method_not_called, "unsupported operand", "are its parentheses missing?"),
        (misspelt_method, "no attribute 'matmull'", "Did you mean .matmul?"),
        (in_place_on_a_leaf, "leaf Variable", "make a new one, x = x + 1"),
        (on_a_gpu, NO_GPU, "device=x.device"),
        (dimension_left_out, "argument", "such as dim=-1"),
    ],
)
def test_a_slip_in_torch_is_met_with_what_was_found_and_what_to_try(slip, original, help_):
    outcome = of_torch(slip)
    assert outcome.status is Status.CRASHED
    assert original in outcome.message
    assert help_ in outcome.message
    assert outcome.place.function == slip.__name__, "and with the line"


def numpy_on_symbols(p, dp):
    return np.exp(p)


def torch_on_symbols(p, dp):
    return torch.exp(p)


def math_on_symbols(p, dp):
    return p * math.exp(sp.Symbol("t"))


def log_without_sp(p, dp):
    return p.applyfunc(log)  # noqa: F821


def unreadable_text(p, dp):
    return sp.sympify("p*(")


def columns_multiplied(p, dp):
    return p * dp


def power_of_a_column(p, dp):
    return p**2


def matrix_plus_number(p, dp):
    return p + 1


def past_the_end(p, dp):
    return p[5]


@pytest.mark.parametrize(
    ("slip", "help_"),
    [
        (numpy_on_symbols, "p.applyfunc(sp.exp)"),
        (torch_on_symbols, "its arguments are sympy's"),
        (math_on_symbols, "A symbol has no value yet"),
        (log_without_sp, "written sp.log"),
        (unreadable_text, "Build the formula from the function's arguments"),
        (columns_multiplied, "here p is 3×1 and dp is 3×1. p.T turns a column into a row"),
        (power_of_a_column, "For each entry by itself"),
        (matrix_plus_number, "sp.ones(rows, columns)"),
        (past_the_end, "Indices count from 0"),
    ],
)
def test_a_slip_in_sympy_is_met_with_what_was_found_and_what_to_try(slip, help_):
    outcome = of_sympy(slip)
    assert outcome.status is Status.CRASHED
    assert help_ in outcome.message
    assert "no message" not in outcome.message and ":." not in outcome.message
    assert outcome.place.function == slip.__name__


def test_an_import_that_is_missing_is_written_out():
    def uses_triton(x, w, dy):
        return triton.cdiv(1, 2), dy  # noqa: F821

    assert "Write import triton in a cell above" in of_torch(uses_triton).message


def test_a_return_that_is_missing_is_asked_for():
    assert "Is the return statement missing?" in of_torch(lambda x, w, dy: None).message
    assert "end with a return statement?" in of_sympy(lambda p, dp: None).message


@pytest.mark.parametrize("wrong", [lambda x, w: None, lambda x, w, dy, bias: None, lambda: None])
def test_a_function_with_other_parameters_is_told_which_it_needs(wrong):
    (outcome,) = run_cases(LINEAR, wrong)
    assert "cannot be called as linear_backward(x, w, dy): it needs 3 parameters" in outcome.message


def test_no_right_function_is_told_that_it_has_the_wrong_parameters():
    for exercise in all_exercises().values():
        functions = [
            solution(exercise),
            *(mistake_function(exercise, name) for name in exercise.explained.mistakes),
        ]
        for function in functions:
            assert call_sentence(exercise.name, function, exercise.parameters()) == "", exercise.name


def test_an_exception_of_the_learners_own_stays_as_it_is():
    def raises(x, w, dy):
        raise ValueError("alpha is negative")

    assert of_torch(raises).message == "ValueError: alpha is negative"


def test_objects_that_answer_with_exceptions_do_not_spoil_the_message():
    class Hostile:
        def __getattribute__(self, name):
            raise RuntimeError("no")

    def meets_it(x, w, dy):
        thing = Hostile()
        return dy @ w + (0 if thing is None else 1), dy

    assert "cannot be multiplied" in of_torch(meets_it).message


def assert_that_fails(x, w, dy):
    raise AssertionError(*[] if x.shape != w.shape else [0])  # pytest would put words into an assert


def gradients_forgotten(x, w, dy):
    class Twice(torch.autograd.Function):
        @staticmethod
        def forward(ctx, a, b):
            return a + b

        @staticmethod
        def backward(ctx, grad):
            return grad

    a = x.detach().clone().requires_grad_()
    with torch.enable_grad():
        Twice.apply(a, 2.0).sum().backward()
    return a.grad, w


def test_an_assert_without_words_is_told_with_what_its_names_hold():
    said = of_torch(assert_that_fails).message
    assert said.startswith("AssertionError. An assert of yours does not hold in this case: here x is [4, 2]")


def test_too_few_gradients_are_counted_by_forward_s_arguments():
    assert "one gradient for each argument of forward" in of_torch(gradients_forgotten).message


def torch_softmax(p, dp):
    return torch.softmax(p, 0)


def torch_method(p, dp):
    return p.mT * dp


def tensor_of_symbols(p, dp):
    return torch.tensor(list(p))


@pytest.mark.parametrize("slip", [torch_on_symbols, torch_softmax, torch_method, tensor_of_symbols])
def test_torch_in_a_formula_is_explained_before_python_s_own_words(slip):
    said = of_sympy(slip).message
    explanation, _, original = said.partition("Python's own words: ")
    assert "sympy" in explanation and "torch" in explanation, said
    assert "Matrix" in original or "Rational" in original or "Half" in original
    assert "DenseMatrix" not in explanation


def test_sympy_s_class_names_come_after_the_explanation():
    said = of_sympy(matrix_plus_number).message
    assert said.startswith("A number and a matrix cannot be added") and said.endswith("and 'int'.")


def maximum_with_its_indices(x, w, dy):
    return x - x.max(dim=1, keepdim=True), w


def indexed_pair(x, w, dy):
    return x - x.max(dim=1)[:, None], w


def multiplied_pair(x, w, dy):
    return x * x.max(dim=1), w


@pytest.mark.parametrize("slip", [maximum_with_its_indices, indexed_pair, multiplied_pair])
def test_a_maximum_that_comes_with_its_indices_is_said_to_be_a_pair(slip):
    assert "pair" in of_torch(slip).message


def transposed_entry(p, dp):
    return p * dp[0].T


def test_what_a_matrix_has_and_an_entry_has_not_is_no_matter_of_torch():
    message = of_sympy(transposed_entry).message
    assert "belongs to matrices, and here is a single expression" in message and "torch" not in message


def row_without_its_factor(p, dp):
    return p.multiply_elementwise(dp) - (p.T * dp)[0]


def test_a_number_that_is_added_to_a_matrix_may_lack_a_factor():
    assert "or is a matrix missing that it multiplies?" in of_sympy(row_without_its_factor).message


def sum_of_columns(p, dp):
    return sum(p * x for x in dp)


def one_over_a_matrix(p, dp):
    return dp / p


def list_and_matrix(p, dp):
    return p + list(dp)


@pytest.mark.parametrize(
    ("slip", "wanted", "unwanted"),
    [
        (sum_of_columns, "begins with the number 0", "divided"),
        (one_over_a_matrix, "Nothing can be divided by a matrix", "cannot be added"),
        (list_and_matrix, "A list and a matrix cannot be added", "A number and"),
        (row_without_its_factor, "A number and a matrix cannot be added", "begins with the number 0"),
    ],
)
def test_operations_that_a_matrix_does_not_have_are_told_apart(slip, wanted, unwanted):
    message = of_sympy(slip).message
    assert wanted in message and unwanted not in message


def test_a_crash_without_advice_says_what_the_line_s_values_are():
    def strange(x, w, dy):
        return x.nonsense_of_mine, w

    assert of_torch(strange).message.endswith("In the marked line x is [4, 2] and w is [2, 3].")


def test_an_index_beyond_its_dimension_is_told_with_the_dimension():
    def one_size_too_many(p, dp):
        return sp.Matrix([p[k, 0] * dp[k + 1, 0] for k in range(p.rows)])

    said = of_sympy(one_size_too_many).message
    assert "the index `k + 1` is 3, but dp is 3×1: it has 3 rows." in said
    assert "own dimension" not in said and "IndexError" in said

    def of_a_tensor(x, w, dy):
        i = x.shape[1] + x.shape[0]
        return x[0, i], w

    assert "dimension 1 has size" in of_torch(of_a_tensor).message


def choice(q, causal, k):
    return q if causal else k


def truth_asked(function) -> str:
    q = torch.ones(2, 2)
    try:
        function(q, q, False)
    except RuntimeError as error:
        frame = error.__traceback__.tb_next.tb_frame
        line = inspect.getsource(function).splitlines()[-1]
        return advice_sentence(error, f"RuntimeError: {error}", frame, line)
    return ""


def test_a_tensor_that_arrives_as_a_condition_is_told_from_one_that_is_compared():
    assert "causal, a parameter of choice, is a tensor of shape [2, 2] here" in truth_asked(choice)
    assert "torch.where" in truth_asked(lambda q, k, _: q if q > 0 else k)


def test_a_key_that_a_dictionary_lacks_is_said_to_be_one():
    assert advice_sentence(KeyError(True), "KeyError: True", None, "").endswith("which keys did it get?")
