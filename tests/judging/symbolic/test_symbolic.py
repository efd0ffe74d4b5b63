"""The judge of sympy answers: right ones in any spelling, wrong ones with an example that separates them."""

import random
from fractions import Fraction

import numpy as np
import pytest
import sympy as sp
import torch

from flashlearn.exercise import Case, Kind, Mistake, make_exercise
from flashlearn.explaining.symbolic import name_mistake
from flashlearn.judging.symbolic import judge, proofs, run_symbolic
from flashlearn.outcome import Status

x, y = sp.symbols("x y", real=True)
XY = {"x": x, "y": y}

# ---------------------------------------------------------------- softmax, as the lesson asks for it

S = sp.symbols("s1:4", real=True)
Z = sum(map(sp.exp, S))
P = sp.Matrix([sp.exp(s) / Z for s in S])
JACOBIAN = sp.diag(*P) - P * P.T
DP = sp.Matrix(sp.symbols("dp1:4", real=True))
W = sp.symbols("w1:4", positive=True)
PW = sp.Matrix([w / sum(W) for w in W])  # probabilities that sum to one, without exponentials
VJP = PW.multiply_elementwise(DP - sp.ones(3, 1) * PW.dot(DP))


def by_entries(entry):
    return sp.Matrix(3, 3, lambda k, j: entry(int(k), int(j)))


def delta(k, j):
    return int(k == j)


MAXIMUM = sp.Max(*S)
LSE = sp.log(Z)

JACOBIANS = {
    "a list of rows": [[P[k] * (delta(k, j) - P[j]) for j in range(3)] for k in range(3)],
    "KroneckerDelta": by_entries(lambda k, j: P[k] * (sp.KroneckerDelta(k, j) - P[j])),
    "differentiated": by_entries(lambda k, j: sp.diff(sp.exp(S[k]) / Z, S[j])),
    "Matrix.jacobian": P.jacobian(list(S)),
    "one unsimplified quotient": by_entries(
        lambda k, j: (delta(k, j) * sp.exp(S[k]) * Z - sp.exp(S[k]) * sp.exp(S[j])) / Z**2
    ),
    "exp(s − LSE)": by_entries(lambda k, j: sp.exp(S[k] - LSE) * delta(k, j) - sp.exp(S[k] + S[j] - 2 * LSE)),
    "maximum subtracted": by_entries(
        lambda k, j: sp.exp(S[k] - MAXIMUM) / sum(sp.exp(s - MAXIMUM) for s in S) * (delta(k, j) - P[j])
    ),
    "reciprocals of sums": by_entries(
        lambda k, j: (delta(k, j) - P[j]) / sum(sp.exp(s - S[k]) for s in S),
    ),
    "two cases": by_entries(lambda k, j: P[k] - P[k] ** 2 if k == j else -P[k] * P[j]),
    "derivative of the logarithm": by_entries(lambda k, j: P[k] * sp.diff(S[k] - LSE, S[j])),
    "unevaluated product": sp.MatAdd(sp.diag(*P), sp.MatMul(-1, P, P.T)),
}


@pytest.mark.parametrize("spelling", JACOBIANS)
def test_the_softmax_jacobian_is_accepted_in_any_spelling(spelling):
    verdict = judge(JACOBIAN, JACOBIANS[spelling], {"s": S})
    assert verdict.ok, verdict.sentence


S2 = S[:2]
J2 = sp.Matrix([sp.exp(s) / (sp.exp(S2[0]) + sp.exp(S2[1])) for s in S2]).jacobian(S2)
SIGN = sp.Matrix([[1, -1], [-1, 1]])
HALF = (S2[0] - S2[1]) / 2


@pytest.mark.parametrize(
    "form",
    [
        (1 - sp.tanh(HALF) ** 2) / 4,
        1 / (2 * sp.cosh(HALF)) ** 2,
        1 / (2 + 2 * sp.cosh(2 * HALF)),
        (1 / sp.sinh(2 * HALF) * sp.tanh(HALF)) / 2,
        sp.exp(-sp.log(1 + sp.exp(2 * HALF)) - sp.log(1 + sp.exp(-2 * HALF))),
    ],
    ids=["tanh", "cosh of halves", "cosh", "sinh and tanh", "logarithms"],
)
def test_hyperbolic_spellings_are_equal_to_exponentials(form):
    assert judge(J2, SIGN * form, {"s": S2}).ok
    assert not judge(J2, sp.Matrix([[form, form], [-form, form]]), {"s": S2}).ok


VJPS = {
    "J times dp": (sp.diag(*PW) - PW * PW.T) * DP,
    "a list, entry by entry": [
        p * (d - sum(q * e for q, e in zip(PW, DP, strict=True))) for p, d in zip(PW, DP, strict=True)
    ],
    "competition, pair by pair": [sum(PW[j] * PW[k] * (DP[j] - DP[k]) for k in range(3)) for j in range(3)],
    "expanded": VJP.applyfunc(sp.expand),
    "one matrix product less": PW.multiply_elementwise(DP) - PW * (PW.T * DP)[0, 0],
    "HadamardProduct": sp.HadamardProduct(PW, DP - sp.ones(3, 1) * (PW.T * DP)[0]),
    "over a common denominator": VJP.applyfunc(sp.together),
}


@pytest.mark.parametrize("spelling", VJPS)
def test_the_softmax_vjp_is_accepted_in_any_spelling(spelling):
    verdict = judge(VJP, VJPS[spelling], {"p": PW, "dp": DP})
    assert verdict.ok, verdict.sentence


# ---------------------------------------------------------------- near misses

NEAR_MISSES = {
    "plus": (JACOBIAN, sp.diag(*P) + P * P.T, {"s": S}),
    "diagonal alone": (JACOBIAN, sp.diag(*[p * (1 - p) for p in P]), {"s": S}),
    "no diagonal term": (JACOBIAN, -P * P.T, {"s": S}),
    "sign": (JACOBIAN, -JACOBIAN, {"s": S}),
    "one entry": (
        JACOBIAN,
        JACOBIAN + sp.Matrix(3, 3, lambda k, j: int(k == 0 and j == 2) * P[0] * P[2]),
        {"s": S},
    ),
    "quotient rule without the square": (JACOBIAN, JACOBIAN * Z, {"s": S}),
    "⟨p, dp⟩ forgotten": (VJP, PW.multiply_elementwise(DP), {"p": PW, "dp": DP}),
    "unweighted sum": (VJP, PW.multiply_elementwise(DP - sp.ones(3, 1) * sum(DP)), {"p": PW, "dp": DP}),
    "p² for p": (VJP, VJP.multiply_elementwise(PW), {"p": PW, "dp": DP}),
}


@pytest.mark.parametrize("name", NEAR_MISSES)
def test_a_near_miss_gets_a_counterexample_that_separates(name):
    expected, got, given = NEAR_MISSES[name]
    verdict = judge(expected, got, given)
    assert not verdict.ok
    example = verdict.counterexample
    right, yours = (sp.Matrix(m)[example.label].subs(example.substitutions) for m in (expected, got))
    assert sp.simplify(right - example.expected) == 0
    assert sp.simplify(yours - example.got) == 0
    assert sp.simplify(right - yours) != 0
    assert example.got.is_Rational and example.expected.is_Rational
    assert example.sentence[1:] in verdict.sentence
    assert example.where in verdict.detail


def test_a_counterexample_is_small_and_reads_well():
    verdict = judge(JACOBIAN, -JACOBIAN, {"s": S})
    assert verdict.sentence == (
        "Every entry has the wrong sign. At s = (0, log 2, log 3), entry (1, 1) is −2/9, but it should be "
        "2/9."
    )


def test_probabilities_given_as_expressions_are_shown_as_numbers():
    verdict = judge(VJP, PW.multiply_elementwise(DP), {"p": PW, "dp": DP})
    assert "w1" not in verdict.sentence
    assert "p = (" in verdict.sentence and "dp = (" in verdict.sentence
    assert "entry 0" in verdict.sentence or "entry 1" in verdict.sentence or "entry 2" in verdict.sentence


SQUARE = sp.Matrix(2, 2, sp.symbols("a:d", real=True))
ENTRIES = {"A": SQUARE}


@pytest.mark.parametrize(
    ("got", "pattern", "sentence"),
    [
        (SQUARE.T, "transposed", "Your matrix is the transpose of the right one"),
        (-SQUARE.T, "transposed and sign", "with the opposite sign"),
        (2 * SQUARE, "constant factor", "Every entry is 2 times what it should be"),
        (SQUARE / 2, "constant factor", "1/2 times"),
        (SQUARE + 3 * sp.ones(2), "constant offset", "3 too large"),
        (sp.diag(SQUARE[0], SQUARE[3]), "missing off-diagonal", "Your matrix is diagonal"),
        (SQUARE - sp.diag(SQUARE[0], SQUARE[3]), "missing diagonal", "Your diagonal is zero"),
        (sp.zeros(2), "zero", "Every entry is zero"),
        (SQUARE[0] * SQUARE, "factor", "The factor a appears once too often"),
    ],
)
def test_a_pattern_is_named_when_it_holds_of_every_entry(got, pattern, sentence):
    verdict = judge(SQUARE, got, ENTRIES)
    assert verdict.pattern.name == pattern
    assert sentence in verdict.sentence


@pytest.mark.parametrize(
    ("place", "said"),
    [
        (lambda i, j: i == j, "Every entry on the diagonal is wrong; the others are right"),
        (lambda i, j: i != j, "Every entry off the diagonal is wrong; the diagonal is right"),
        (lambda i, j: i == 1, "Only row 1 is wrong"),
        (lambda i, j: j == 2, "Only column 2 is wrong"),
        (lambda i, j: i < j, "Only entries above the diagonal are wrong"),
        (lambda i, j: i > j, "Only entries below the diagonal are wrong"),
        (
            lambda i, j: (i, j) in ((0, 1), (2, 0)),
            "Entry (0, 1) and entry (2, 0) are wrong; the others are right",
        ),
        (lambda i, j: (i, j) != (0, 0), "8 of 9 entries are wrong"),
        (lambda i, j: True, "Every entry is wrong"),
    ],
)
def test_the_wrong_entries_are_named_by_their_place(place, said):
    right = sp.Matrix(3, 3, sp.symbols("m:9", real=True))
    wrong = sp.Matrix(3, 3, lambda i, j: right[i, j] ** 2 + i + 3 if place(i, j) else right[i, j])
    assert judge(right, wrong, {"M": right}).sentence.startswith(said)


def test_a_missing_argument_is_named_as_the_factor():
    alpha, q, k = sp.symbols("alpha q k", positive=True)
    verdict = judge(alpha * q * k, q * k, {"q": q, "k": k, "alpha": alpha})
    assert verdict.pattern.name == "factor"
    assert verdict.sentence.startswith("The factor alpha is missing. At q = ")


def test_one_coincidence_is_no_pattern():
    assert judge(sp.Integer(2), sp.Integer(4)).pattern is None
    assert (
        judge(sp.Integer(2), sp.Integer(4)).sentence == "Your answer is wrong. It is 4, but it should be 2."
    )


# ---------------------------------------------------------------- sums, indices and matrices of symbolic size

N, D, M = sp.symbols("N D M", integer=True, positive=True)
j, k, t, d, e = sp.symbols("j k t d e", integer=True)
s = sp.IndexedBase("s")
SUM = sp.Sum(sp.exp(s[t]), (t, 1, N))
ANY_N = {"s": s, "k": k, "j": j, "N": N}


def probability(index):
    return sp.exp(s[index]) / SUM


GENERAL = probability(k) * (sp.KroneckerDelta(k, j) - probability(j))


@pytest.mark.parametrize(
    "got",
    [
        sp.diff(probability(k), s[j]).doit(),
        probability(k) * sp.KroneckerDelta(k, j) - probability(k) * probability(j),
        sp.Piecewise(
            (probability(k) - probability(k) ** 2, sp.Eq(k, j)), (-probability(k) * probability(j), True)
        ),
        GENERAL.subs(SUM, sp.Sum(sp.exp(s[t + 1]), (t, 0, N - 1))),
    ],
    ids=["derivative", "expanded", "piecewise", "summed from 0"],
)
def test_the_jacobian_at_any_size_is_compared_at_small_sizes(got):
    verdict = judge(GENERAL, got, ANY_N)
    assert verdict.ok, verdict.sentence


def test_a_dropped_delta_shows_at_equal_indices():
    verdict = judge(GENERAL, -probability(k) * probability(j), ANY_N)
    example = verdict.counterexample
    assert example.substitutions[k] == example.substitutions[j]
    numbers = {symbol: value for symbol, value in example.substitutions.items() if symbol in (N, k, j)}
    values = {entry: v for entry, v in example.substitutions.items() if entry not in numbers}
    worked_out = (-probability(k) * probability(j)).subs(numbers).doit().subs(values)
    assert sp.simplify(worked_out - example.got) == 0
    assert "N = 2" in example.where and "s[1…2] = (" in example.where


def test_a_sum_from_zero_is_told_by_the_entry_it_reads():
    verdict = judge(GENERAL, GENERAL.subs(SUM, sp.Sum(sp.exp(s[t]), (t, 0, N - 1))), ANY_N)
    assert verdict.pattern.name == "index range"
    assert "reads s[0]" in verdict.sentence


def test_the_gradient_of_a_query_is_compared_with_exact_exponentials():
    alpha = sp.Symbol("alpha", positive=True)
    q, K, dP = map(sp.IndexedBase, ("q", "K", "dP"))
    given = {"q": q, "K": K, "dP": dP, "alpha": alpha, "N": N, "D": D, "d": d}

    def p(index):
        def score(i):
            return sp.exp(alpha * sp.Sum(q[e] * K[i, e], (e, 1, D)))

        return score(index) / sp.Sum(score(t), (t, 1, N))

    delta_i = sp.Sum(p(k) * dP[k], (k, 1, N))
    dq = alpha * sp.Sum(p(j) * (dP[j] - delta_i) * K[j, d], (j, 1, N))
    loss = sp.Sum(dP[j] * p(j), (j, 1, N))
    assert judge(dq, sp.diff(loss, q[d]).doit(), given).ok
    verdict = judge(dq, dq / alpha, given)
    assert verdict.pattern.name == "factor" and "alpha is missing" in verdict.sentence
    assert verdict.counterexample.got.is_Rational


def test_matrix_symbols_of_symbolic_size_are_compared_entry_by_entry():
    alpha = sp.Symbol("alpha", positive=True)
    dS, Q, K = sp.MatrixSymbol("dS", N, M), sp.MatrixSymbol("Q", N, D), sp.MatrixSymbol("K", M, D)
    given = {"dS": dS, "Q": Q, "K": K, "alpha": alpha}
    right = alpha * dS.T * Q
    assert judge(right, (alpha * sp.Trace(dS.T * Q * K.T)).diff(K), given).ok
    assert judge(right, (Q.T * dS * alpha).T, given).ok
    assert judge(right, dS.T * Q, given).pattern.name == "factor"
    assert "expected. Transposed, it is right." in judge(right, alpha * Q.T * dS, given).sentence
    wrong_size = judge(right, alpha * dS * K, given)
    assert wrong_size.rule == "wrong shape" and "N×D" in wrong_size.sentence and "M×D" in wrong_size.sentence


def test_the_delta_identity_holds_between_sums_and_matrices():
    P_, V, dO = sp.MatrixSymbol("P", N, M), sp.MatrixSymbol("V", M, D), sp.MatrixSymbol("dO", N, D)
    given = {"P": P_, "V": V, "dO": dO, "k": k}
    left = sp.Sum(P_[k, j] * sp.Sum(dO[k, d] * V[j, d], (d, 0, D - 1)), (j, 0, M - 1))
    assert judge(left, (P_ * V * dO.T)[k, k], given).ok
    assert not judge(left, (P_ * P_.T)[k, k], given).ok


def test_merging_partial_results_is_compared_in_every_order_of_the_maxima():
    names = sp.symbols("m1 m2 l1 l2", real=True)
    m1, m2, l1, l2 = names
    m = sp.Max(m1, m2)
    given = {str(symbol): symbol for symbol in names}
    right = (m, l1 * sp.exp(m1 - m) + l2 * sp.exp(m2 - m))
    larger_first = l1 + l2 * sp.exp(m2 - m1)
    by_cases = sp.Piecewise((larger_first, m1 > m2), (l1 * sp.exp(m1 - m2) + l2, True))
    assert judge(right, (m, by_cases), given).ok
    assert judge(right, (m, larger_first), given).sentence.startswith("Item 1 is wrong; the other is right")


def test_a_maximum_that_starts_at_zero_is_found_by_negative_values():
    verdict = judge(sp.Max(x, y), sp.Max(0, x, y), XY)
    assert not verdict.ok
    assert verdict.counterexample.expected < 0


def test_whole_numbers_under_a_ceiling_need_not_divide():
    blocks = sp.ceiling(N / D)
    assert judge(blocks, sp.floor((N + D - 1) / D), {"N": N, "D": D}).ok
    assert not judge(blocks, N / D, {"N": N, "D": D}).ok


def test_a_removable_gap_is_no_difference():
    assert judge(x + y, (x**2 - y**2) / (x - y), XY).ok


def random_expression(source, depth):
    """A tree of sums, products, quotients, exponentials, logarithms and maxima in x and y."""
    if depth == 0:
        return source.choice([x, y, sp.Integer(source.randint(1, 3)), sp.exp(x - y)])
    a, b = random_expression(source, depth - 1), random_expression(source, depth - 1)
    return source.choice([a + b, a * b, a - b, a / (1 + b**2), sp.Max(a, b), sp.log(1 + a**2)])


@pytest.mark.parametrize("seed", range(12))
def test_rewriting_changes_no_verdict_and_adding_a_term_does(seed):
    source = random.Random(seed)
    right = random_expression(source, 2)
    spelling = source.choice([sp.expand, sp.together, sp.factor, lambda e: e.rewrite(sp.Piecewise)])(right)
    assert judge(right, spelling, XY).ok
    assert not judge(right, spelling + source.choice([x, x * y / 7, sp.exp(y - x), 1]), XY).ok


# ---------------------------------------------------------------- answers that cannot be compared

COLUMN = sp.Matrix([x, y, x + y])

ILL_TYPED = {
    "nothing": (None, "You returned nothing (None); one expression is expected"),
    "a string": ("x*y", 'You returned a string, "x*y"'),
    "true": (True, "You returned the truth value True"),
    "sympy's true": (sp.true, "You returned the truth value True"),
    "float": (3.5, "You returned the number 3.5; an expression of the arguments is expected"),
    "nan": (float("nan"), "You returned the number nan"),
    "NumPy number": (np.float64(2), "You returned a NumPy number"),
    "NumPy array": (np.ones((2, 3)), "You returned a NumPy array of shape (2, 3)"),
    "tensor": (torch.ones(3), "You returned a torch Tensor of shape (3,)"),
    "equation": (
        sp.Eq(sp.Symbol("z"), x * y),
        "return its right-hand side alone. What is inside it is right",
    ),
    "condition": (x < y, "You returned a condition, x < y"),
    "function": (lambda a: a, "You returned the function <lambda> itself"),
    "sympy function": (sp.exp, "call exp with its arguments"),
    "class": (dict, "You returned the class dict"),
    "generator": ((i for i in (x, y)), "make it a tuple or a list"),
    "dictionary": ({x: 1}, "You returned a dictionary with 1 key"),
    "tuple of one": ((x * y,), "a comma at the end of a line makes a tuple). What is inside it is right"),
    "list": ([x, y], "You returned a list of 2 items; one expression is expected"),
    "1×1 matrix": (sp.Matrix([[x * y]]), "take its only entry with [0, 0]. What is inside it is right"),
    "Lambda": (sp.Lambda((x, y), x * y), "You returned a Lambda of (x, y)"),
    "derivative": (sp.Derivative(x**2 * y / 2, x), "unevaluated derivative"),
    "integral": (sp.Integral(x, (x, 0, y)), "unevaluated integral"),
    "limit": (sp.Limit(x * y, x, 0), "unevaluated limit"),
    "substitution": (sp.Subs(x * y, x, 2), "unevaluated substitution"),
    "sympy's nan": (sp.nan, "contains nan"),
    "a division by zero": (x * sp.zoo, "contains a division by 0 or a logarithm of 0"),
    "an object": (object(), "You returned an object"),
}


@pytest.mark.parametrize("kind", ILL_TYPED)
def test_an_answer_of_the_wrong_kind_gets_its_sentence(kind):
    got, sentence = ILL_TYPED[kind]
    verdict = judge(x * y, got, XY)
    assert not verdict.ok and verdict.rule
    assert sentence in verdict.sentence


def test_an_unevaluated_derivative_that_is_right_is_said_to_be_right():
    right, wrong = sp.Derivative(x**2 * y / 2, x), sp.Derivative(x**2 * y, x)
    assert "call .doit() on it. Once evaluated, it is right." in judge(x * y, right, XY).sentence
    assert "Worked out" not in judge(x * y, wrong, XY).sentence


def test_a_string_is_never_evaluated(tmp_path):
    seen = tmp_path / "seen"
    verdict = judge(x, f"open({str(seen)!r}, 'w')", XY)
    matrix = judge(COLUMN, [x, f"open({str(seen)!r}, 'w')", y], XY)
    assert not verdict.ok and not matrix.ok and not seen.exists()
    assert "entry 1" in matrix.sentence


@pytest.mark.parametrize(
    "got",
    [
        list(COLUMN),
        tuple(COLUMN),
        [[x], [y], [x + y]],
        sp.Array([x, y, x + y]),
        sp.ImmutableMatrix(COLUMN),
        sp.MatAdd(COLUMN, sp.zeros(3, 1)),
    ],
)
def test_a_column_may_come_as_a_list_or_an_array(got):
    assert judge(COLUMN, got, XY).ok


@pytest.mark.parametrize(
    ("got", "sentence"),
    [
        (COLUMN.T, "a 3×1 matrix is expected. Transposed, it is right."),
        (-COLUMN.T, "You returned a 1×3 matrix; a 3×1 matrix is expected."),
        ([[x, y, x + y]], "expected. Transposed, it is right."),
        (sp.eye(2), "You returned a 2×2 matrix; a 3×1 matrix is expected."),
        (x, "You returned one expression; a 3×1 matrix is expected."),
        ([x, y], "You returned a flat list of 2 entries; a 3×1 matrix is expected: a list of 3 rows."),
        ([[x], [y, x]], "You returned a list with rows of 1 and of 2 entries"),
        ([x, [y], y], "You returned a list of rows and single entries"),
        ([], "You returned a list of 0 items"),
        (sp.derive_by_array(COLUMN, sp.Matrix([x, y])), "You returned an array of shape 2×1×3×1"),
        (np.array([x, y, x]), "You returned a NumPy array of shape (3,)"),
        ([None, x, y], "For entry 0, you returned nothing (None)"),
    ],
)
def test_a_wrong_shape_is_named_with_the_right_one(got, sentence):
    verdict = judge(COLUMN, got, XY)
    assert not verdict.ok
    assert verdict.sentence.startswith(sentence) or sentence in verdict.sentence


def test_truth_values_in_a_matrix_are_no_numbers():
    with pytest.warns(sp.utilities.exceptions.SymPyDeprecationWarning):
        got = sp.Matrix(2, 2, lambda a, b: a == b)
    assert "For entry (0, 0), you returned the truth value True" in judge(sp.eye(2), got).sentence


def test_tuples_and_dictionaries_are_compared_item_by_item():
    pair = (x, sp.Matrix([[x, y]]))
    assert judge(pair, [x, [[x, y]]], XY).ok
    assert judge(pair, (x,), XY).sentence == "You returned a tuple of 1 item; a tuple of 2 items is expected."
    assert judge(pair, (x, x), XY).sentence.startswith("For item 1, you returned one expression")
    gradient = {x: y, y: x}
    assert judge(gradient, {"x": y, "y": x}, XY).ok
    assert judge(gradient, {x: y}, XY).sentence == "Your dictionary lacks y."
    assert judge(gradient, {x: y, y: y}, XY).sentence.startswith("The value under y is wrong")


def test_a_function_of_symbols_is_a_lambda_whatever_its_variables_are_called():
    a, b = sp.symbols("a b")
    product = sp.Lambda((x, y), x * y)
    assert judge(product, sp.Lambda((a, b), b * a)).ok
    assert not judge(product, sp.Lambda((a, b), a + b)).ok
    assert "takes 1 argument; it should take 2" in judge(product, sp.Lambda(a, a)).sentence
    assert "return sp.Lambda((x, y), …)" in judge(product, x * y).sentence
    assert "wrap its body as sp.Lambda" in judge(product, lambda a, b: a * b).sentence


@pytest.mark.parametrize("half", [Fraction(1, 2), sp.Rational(1, 2), 0.5])
def test_python_numbers_are_accepted_where_a_number_is_right(half):
    assert judge(sp.Rational(1, 2), half).ok
    assert judge(sp.Integer(2), 2).ok
    assert not judge(sp.Integer(2), 3).ok


def test_a_rounded_number_is_read_as_its_rational_with_a_warning():
    verdict = judge(x / 3, 0.3333333333333 * x, XY)
    assert verdict.ok and "read as 1/3" in verdict.warnings[0] and "sp.Rational" in verdict.warnings[0]
    assert not judge(x / 3, 0.33 * x, XY).ok


def test_a_symbol_of_the_same_name_is_taken_for_the_argument_with_a_warning():
    positive = sp.Symbol("p", positive=True)
    verdict = judge(positive, sp.sqrt(sp.Symbol("p") ** 2), {"p": positive})
    assert verdict.ok
    assert "the given one is positive, yours is without assumptions" in verdict.warnings[0]
    assert "Dummy" in judge(x, sp.Dummy("x"), XY).warnings[0]


def test_an_unknown_symbol_is_named():
    verdict = judge(x * y, x * sp.Symbol("Y"), XY)
    assert verdict.rule == "unknown symbol"
    assert verdict.sentence == (
        "Your answer contains Y, which your function was not given; the arguments contain x and y."
    )
    alpha = sp.Symbol("alpha")
    assert "Did you mean alpha?" in judge(alpha, sp.Symbol("alhpa"), {"alpha": alpha}).sentence
    assert "T" in judge(SUM, sp.Sum(sp.exp(sp.IndexedBase("T")[t]), (t, 1, N)), ANY_N).sentence


def test_an_unknown_symbol_that_cancels_is_only_a_warning():
    shift = sp.Symbol("m")
    shifted = sp.exp(S[0] - shift) / sum(sp.exp(score - shift) for score in S)
    verdict = judge(P[0], shifted, {"s": S})
    assert verdict.ok and "m, which cancels" in verdict.warnings[0]


# ---------------------------------------------------------------- no answer hangs the judge


def test_a_proof_that_does_not_end_is_given_up_and_the_points_decide(monkeypatch):
    def forever(difference):
        while True:
            pass

    monkeypatch.setattr(proofs, "STAGES", (forever,))
    monkeypatch.setattr(proofs, "PROOF_SECONDS", 0.05)
    verdict = judge(sp.sin(x) ** 2 + sp.cos(x) ** 2, sp.Integer(1), XY)
    assert verdict.ok and verdict.proof == "points" and verdict.points >= 5


def test_a_simplification_that_raises_is_no_verdict(monkeypatch):
    def raising(difference):
        raise StopIteration

    monkeypatch.setattr(proofs, "STAGES", (raising,))
    assert judge((x + y) ** 2, x**2 + 2 * x * y + y**2, XY).proof == "points"
    assert not judge((x + y) ** 2, x**2 + y**2, XY).ok


def test_a_comparison_that_takes_too_long_is_undecided(monkeypatch):
    def forever(*arguments, **options):
        while True:
            pass

    monkeypatch.setattr("flashlearn.judging.symbolic.comparison.compare", forever)
    verdict = judge(x, y, XY, seconds=0.1)
    assert not verdict.ok and verdict.undecided and "could not be compared within 0.1 s" in verdict.sentence


def test_numbers_that_would_fill_the_memory_are_not_worked_out():
    assert "too large" in judge(x, x ** (10**10), XY).sentence
    assert "too large" in judge(x, sp.Sum(x, (t, 1, 10**9)), XY).sentence


# ---------------------------------------------------------------- cases, statuses and mistakes


def exercise(**changes):
    fields = dict(
        name="product_rule",
        lesson="01",
        kind=Kind.SYMBOLIC,
        title="The product rule",
        signature="(f, g) -> derivative",
        outputs=("derivative",),
        inputs=lambda case, generator: {"f": x, "g": sp.Matrix([x, y]) if case.data == "matrix" else y},
        reference=lambda f, g: f * g,
        cases=(Case("plain"), Case("matrix", data="matrix")),
        mistakes={
            "added": Mistake("You added.", "Multiply.", wrong=lambda f, g: f + g),
            "plus one": Mistake("One too many.", wrong=lambda f, g: f * g + 1 if g == y else f * g),
        },
        time_limit=20.0,
    )
    return make_exercise(**fields | changes)


def test_a_right_function_passes_every_case_and_says_how_it_was_decided():
    outcomes = run_symbolic(exercise(), lambda f, g: g * f)
    assert [o.status for o in outcomes] == [Status.PASS, Status.PASS]
    assert outcomes[0].detail == "your answer evaluates to the expected expression"
    assert outcomes[0].outputs[0].got == x * y and outcomes[0].outputs[0].expected == x * y


def test_a_stub_is_not_started_and_its_message_is_kept():
    def stub(f, g):
        raise NotImplementedError("TODO product_rule: multiply")

    outcomes = run_symbolic(exercise(), stub)
    assert [o.status for o in outcomes] == [Status.TODO]
    assert outcomes[0].message == "product_rule: multiply"
    assert name_mistake(exercise(), outcomes) is None


def test_an_exception_is_shown_with_its_line():
    def learner(f, g):
        return f.no_such_thing(g)

    outcome = run_symbolic(exercise(), learner)[0]
    assert outcome.status is Status.CRASHED
    assert "no_such_thing" in outcome.message
    assert outcome.place.text.strip() == "return f.no_such_thing(g)"
    assert outcome.place.file == __file__


def test_an_error_deep_inside_sympy_points_to_the_learners_line():
    def learner(f, g):
        return sp.Matrix([[1, 2]]) * sp.Matrix([[1, 2]])

    outcome = run_symbolic(exercise(), learner)[0]
    assert outcome.status is Status.CRASHED
    assert "sp.Matrix([[1, 2]])" in outcome.place.text


def test_a_function_that_does_not_end_is_stopped():
    def learner(f, g):
        while True:
            pass

    outcomes = run_symbolic(exercise(time_limit=0.1), learner)
    assert [o.status for o in outcomes] == [Status.TIMEOUT]
    assert "Still running after 0." in outcomes[0].message


def test_a_function_with_other_parameters_is_told_what_it_is_called_with():
    outcome = run_symbolic(exercise(), lambda f: f)[0]
    assert outcome.status is Status.CRASHED
    assert "cannot be called as product_rule(f, g): it needs 2 parameters" in outcome.message


def test_an_expression_in_place_of_a_function_is_told_apart():
    outcome = run_symbolic(exercise(), x * y)[0]
    assert outcome.status is Status.CRASHED and 'check("product_rule", product_rule)' in outcome.message


def test_parameters_may_have_other_names_and_arguments_may_be_changed_in_place():
    def learner(a, b):
        if isinstance(b, sp.MatrixBase):
            b[0] = a * b[0]
            b[1] = a * b[1]
            return b
        return a * b

    shared = sp.Matrix([x, y])
    task = exercise(inputs=lambda case, generator: {"f": x, "g": shared})
    assert all(o.status is Status.PASS for o in run_symbolic(task, learner))
    assert shared == sp.Matrix([x, y])


def test_the_named_mistake_is_found_when_it_fits_every_case():
    outcomes = run_symbolic(exercise(), lambda f, g: f * g + 1 if g == y else f * g)
    finding = name_mistake(exercise(), outcomes)
    assert finding.mistake == "plus one" and finding.sentence == "One too many."
    assert (finding.fits, finding.of) == (2, 2)


def test_a_mistake_that_fits_only_some_cases_is_not_named():
    outcomes = run_symbolic(exercise(), lambda f, g: f + g if g == y else 2 * f * g)
    assert [o.status for o in outcomes] == [Status.WRONG, Status.WRONG]
    assert name_mistake(exercise(), outcomes) is None


def test_two_mistakes_that_fit_name_neither():
    twins = {name: Mistake(name, wrong=lambda f, g: f - g) for name in ("one", "other")}
    task = exercise(mistakes=twins, cases=(Case("plain"),))
    assert name_mistake(task, run_symbolic(task, lambda f, g: f - g)) is None


def test_without_a_named_mistake_a_certain_rule_is_the_finding():
    doubled = run_symbolic(exercise(), lambda f, g: 2 * f * g)
    finding = name_mistake(exercise(), doubled)
    assert finding.mistake == "constant factor" and finding.sentence.endswith("2 times what it should be.")
    nothing = name_mistake(exercise(), run_symbolic(exercise(), lambda f, g: None))
    assert nothing.mistake == "wrong type" and "return" in nothing.sentence


def two_outputs():
    return exercise(
        signature="(f, g) -> (dX, dW)",
        outputs=("dX", "dW"),
        reference=lambda f, g: (f * g, f + y),
        cases=(Case("plain"),),
        mistakes={},
    )


def test_several_outputs_are_checked_by_name():
    task = two_outputs()
    outcome = run_symbolic(task, lambda f, g: (f * g, f - y))[0]
    assert [(c.name, c.ok) for c in outcome.outputs] == [("dX", True), ("dW", False)]
    assert outcome.message.startswith("dW: your answer is wrong")
    assert run_symbolic(task, lambda f, g: {"dW": f + y, "dX": f * g})[0].status is Status.PASS
    alone = run_symbolic(task, lambda f, g: f * g)[0]
    assert alone.status is Status.WRONG
    assert alone.message == "You returned one expression; 2 values, dX and dW, are expected: return dX, dW."
    assert "a string" in run_symbolic(task, lambda f, g: "dX, dW")[0].message


def test_outputs_in_each_others_place_are_recognised():
    task = two_outputs()
    finding = name_mistake(task, run_symbolic(task, lambda f, g: (f + y, f * g)))
    assert finding.mistake == "swapped"
    assert finding.sentence == "dX and dW are swapped."


class Thing:
    pass


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ((n for n in range(2)), "You returned a generator; one expression is expected"),
        (print, "You returned the function print itself; one expression is expected: call print"),
        (Thing, "You returned the class Thing; one expression is expected: call it."),
        (Thing(), "You returned a Thing; one expression is expected."),
        ({1, 2}, "make it a tuple or a list, in order."),
        (torch.ones(2), "You returned a torch Tensor of shape (2,)"),
        (torch.eye(2).to_sparse(), "You returned a torch Tensor of shape (2, 2)"),
        (np.ones(3), "You returned a NumPy array of shape (3,)"),
        (np.float64(1.5), "You returned a NumPy number"),
        (sp.exp, "You returned the function exp itself; one expression is expected: call exp"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_is_no_expression_is_called_by_its_name(answer, said):
    (outcome, *_) = run_symbolic(exercise(), lambda f, g: answer)
    assert outcome.status is Status.WRONG and said in outcome.message


def test_an_entry_that_neither_answer_reads_needs_no_value_in_the_example():
    a, b = sp.symbols("a b")
    verdict = judge(sp.Matrix([[2 * a]]), sp.Matrix([[3 * a]]), {"W": sp.Matrix([[a], [b]])})
    assert not verdict.ok and "b" in verdict.counterexample.where
