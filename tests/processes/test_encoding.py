"""What travels between processes arrives as it was, and what is no message of ours does no harm."""

from __future__ import annotations

import json
import pickle
from fractions import Fraction

import numpy as np
import pytest
import sympy as sp
import torch

from flashlearn.interpreter.observers.assigned_values import ValueRecorder
from flashlearn.outcome import Place, Status
from flashlearn.processes.encoding import HEAD, MAGIC, Malformed, decode, encode, register
from flashlearn.running import records  # noqa: F401  registers what may travel
from flashlearn.running.evidence import Evidence, Foreign, Raised
from flashlearn.running.run_modes import Observed

x, y = sp.symbols("x y", real=True)
i, N = sp.Symbol("i", integer=True), sp.Symbol("N", integer=True, positive=True)
s, f = sp.IndexedBase("s"), sp.Function("f")


def there_and_back(value):
    return decode(encode(value))


@pytest.mark.parametrize(
    "value",
    [
        None,
        True,
        3,
        -(1 << 80),
        0.1,
        float("inf"),
        "ünïcode",
        b"\x00\xff",
        2 - 3j,
        Fraction(1, 3),
        [1, (2, "x")],
        {"a": {1, 2}, ("b", 1): frozenset({"c"})},
        Status.RACE,
        torch.float16,
        Place("cell", 3, "x = 1", "kernel", (1, 0, 0)),
    ],
    ids=repr,
)
def test_numbers_text_and_records_arrive_as_they_were(value):
    back = there_and_back(value)
    assert back == value and type(back) is type(value)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float16, torch.bfloat16, torch.int64, torch.bool])
def test_a_tensor_keeps_its_numbers_dtype_and_strides(dtype):
    sent = (torch.arange(24).reshape(2, 3, 4) % 5).to(dtype).transpose(0, 2)[1:]
    back = there_and_back(sent)
    assert torch.equal(back, sent) and back.stride() == sent.stride() and back.dtype == dtype


def test_an_expanded_and_an_empty_tensor_keep_their_shapes():
    assert there_and_back(torch.ones(1, 3).expand(4, 3)).stride() == (0, 1)
    assert there_and_back(torch.empty(0, 5)).shape == (0, 5)
    assert there_and_back(torch.empty(2, 3, device="meta")).device.type == "meta"


def test_the_bits_of_a_nan_survive():
    sent = torch.tensor([0x7FC30000], dtype=torch.int32).view(torch.float32)
    assert torch.equal(there_and_back(sent).view(torch.int32), sent.view(torch.int32))


def test_arrays_and_single_numbers_of_numpy_arrive():
    assert np.array_equal(there_and_back(np.eye(3, dtype=np.float16)), np.eye(3))
    assert there_and_back(np.float32(0.5)) == np.float32(0.5)


@pytest.mark.parametrize(
    "expression",
    [
        sp.Integer(3),
        sp.Rational(1, 3),
        sp.Float("0.1", 20),
        sp.pi * x**2 - sp.oo,
        sp.exp(x) / (sp.exp(x) + sp.exp(y)),
        sp.Sum(s[i] * f(i, N), (i, 1, N)),
        sp.KroneckerDelta(i, N),
        sp.Piecewise((x, x > 0), (sp.S.Zero, True)),
        sp.Matrix([[x, 1], [y, sp.sqrt(2)]]),
        sp.ImmutableMatrix([[x]]),
        sp.MatrixSymbol("A", N, 3).T * sp.MatrixSymbol("B", N, 2),
        sp.Array([[x, y], [1, 2]]),
        sp.Lambda((x, y), x + y),
        sp.Tuple(x, sp.S.true),
        sp.Mul(2, 3, evaluate=False),
        sp.exp(0, evaluate=False),
        sp.ceiling(x / 3),
        sp.Max(x, y),
        sp.Derivative(f(x), x),
    ],
    ids=str,
)
def test_an_expression_arrives_as_it_was_written(expression):
    back = there_and_back(expression)
    assert back == expression and sp.srepr(back) == sp.srepr(expression)


def test_a_dictionary_that_is_met_again_is_written_once():
    job = {"source": "x" * 1000}
    message = encode([job, job, {"job": job}])
    assert len(message) < 2000
    first, second, third = decode(message)
    assert first is second is third["job"] and first == job


def test_evidence_arrives_whole_and_pickles():
    error = Raised("ValueError", "no", Status.CRASHED, "ValueError: no", Place("f", 1, "x", "g"))
    evidence = Evidence(returned=(torch.ones(2), None), raised=error, seconds=0.5)
    for back in (there_and_back(evidence), pickle.loads(pickle.dumps(evidence))):
        assert torch.equal(back.returned[0], torch.ones(2)) and back.raised == error


def test_a_run_mode_arrives_with_the_arrays_that_replace_values():
    how = there_and_back(Observed(seed=3, observers=(ValueRecorder({7: np.ones((2, 2))}),)))
    assert how.seed == 3 and np.array_equal(how.observers[0].instead[7], np.ones((2, 2)))


def test_what_is_no_data_is_refused_by_name():
    with pytest.raises(TypeError, match="a function cannot be sent"):
        encode(lambda: None)


CODE = "open('/nowhere/at/all')"
"""Sympy would evaluate it, if it were given a text."""


def _message(tree: object, blobs: bytes = b"") -> bytes:
    text = json.dumps(tree).encode()
    return HEAD.pack(MAGIC, len(text) + len(blobs), len(text)) + text + blobs


@pytest.mark.parametrize(
    "message",
    [
        b"",
        b"not a message at all, but long enough for a head",
        pickle.dumps(Evidence()),
        _message({"r": ["Popen", {}]}),
        _message({"r": ["Evidence", {"surprise": 1}]}),
        _message({"x": 1}),
        _message({"s": ["expression", "os:system", ["ls"]]}),
        _message({"s": ["expression", "sympy.parsing.sympy_parser:parse_expr", ["1"]]}),
        _message({"s": ["expression", "sympy.core.containers:Tuple", [CODE]]}),
        _message({"s": ["matrix", "sympy.matrices.dense:MutableDenseMatrix", [1, 1], [CODE]]}),
        _message(
            {"s": ["array", "sympy.tensor.array.dense_ndim_array:ImmutableDenseNDimArray", [1], [CODE]]}
        ),
        _message({"s": ["applied", "f", [CODE]]}),
        _message({"y": "hub"}),
        _message({"r": ["Evidence", {"seconds": "soon"}]}),
        _message({"r": ["Evidence", {"outputs": {"t": [3]}}]}),
        _message({"r": ["Place", {"file": 3, "line": 1, "text": ""}]}),
        _message({"T": ["float32", [10], [1], [0, 40]]}),
        _message({"T": ["float32", [1000], [1000], [0, 4]]}, b"1234"),
        _message({"T": ["load", [1], [1], [0, 4]]}, b"1234"),
        _message({"A": ["O", [1], [0, 8]]}, b"12345678"),
        _message({"d": 5}),
        _message({"b": [-4, 8]}, b"12345678"),
        _message({"b": "all"}, b"1234"),
        HEAD.pack(MAGIC, 4, 400) + b"null",
    ],
)
def test_what_is_no_message_of_ours_is_refused(message):
    with pytest.raises(Malformed):
        decode(message)


def test_two_records_of_one_name_are_refused():
    class Foreign:
        pass

    with pytest.raises(ValueError, match="two records"):
        register(Foreign)


def test_what_is_no_data_travels_as_what_can_be_said_of_it():
    assert there_and_back(Foreign("generator", "builtins", "<generator>")).type == "generator"
