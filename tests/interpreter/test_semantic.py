"""What is made once in a launch is what Triton would have made each time."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import triton.language as tl
from triton.language import core
from triton.language.semantic import IncompatibleTypeErrorImpl, TritonSemantic
from triton.runtime.interpreter import TensorHandle

from flashlearn.interpreter.builder import ObservedBuilder
from flashlearn.interpreter.language import interpreted
from flashlearn.interpreter.low_precision import numpy_dtype
from flashlearn.interpreter.memory import Memory

SHAPES = [(), (16,), (1,), (16, 1), (1, 32), (16, 32), (1, 1), (2, 16, 32), (2, 1, 32)]
KINDS = [tl.int1, tl.int32, tl.int64, tl.float16, tl.float32, tl.pointer_type(tl.float32)]


@pytest.fixture
def lent():
    """The semantic of a launch, and Triton's own for the same builder."""
    builder = ObservedBuilder(Memory(place=lambda: None))
    with interpreted(builder, lambda *_: None) as semantic:
        yield semantic, TritonSemantic(builder)


def tile(kind: tl.dtype, sizes: tuple[int, ...], fill: int = 1) -> tl.tensor:
    held = np.uint64 if kind.is_ptr() else numpy_dtype(kind)
    handle = TensorHandle(np.full(sizes or (1,), fill, held), kind)
    return tl.tensor(handle, tl.block_type(kind, list(sizes)) if sizes else kind)


def facts(value: tl.tensor) -> tuple:
    data = value.handle.data
    shape = [n.value for n in value.shape]
    return shape, value.numel.value, str(value.type), str(value.dtype), data.dtype, data.tolist()


def told(operation, *arguments) -> list[tuple] | str:
    """Each result's facts, or the exception's sentence."""
    try:
        return [facts(one) for one in operation(*arguments)]
    except (TypeError, ValueError, AssertionError, IncompatibleTypeErrorImpl) as error:
        return f"{type(error).__name__}: {error}"


def test_a_type_and_a_shape_are_those_that_triton_makes():
    sizes, plain = [16, 32], core.block_type(tl.float16, [16, 32])
    with interpreted(ObservedBuilder(Memory(place=lambda: None)), lambda *_: None):
        for shape in (sizes, [tl.constexpr(n) for n in sizes], core.tuple(sizes)):
            made = core.block_type(tl.float16, shape)
            assert made == plain and made.name == plain.name and made.numel == plain.numel == 512
            assert [*made.shape] == sizes and made.scalar is tl.float16
        other = made.with_element_ty(tl.int32)
        assert other == core.block_type(tl.int32, sizes) and other is made.with_element_ty(tl.int32)
        assert made.with_element_ty(tl.float16) == made
        assert core.tuple([1, 2]).type == core.tuple_type([core.constexpr_type(1), core.constexpr_type(2)])
        value = tile(tl.float16, (16, 32))
        assert [*value.shape] == [tl.constexpr(16), tl.constexpr(32)] and value.numel.value == 512
        with pytest.raises(ValueError, match="power of 2"):
            core.block_type(tl.float16, [3])
        with pytest.raises(TypeError, match="0d block_type"):
            core.block_type(tl.float16, [])


@pytest.mark.parametrize("left", SHAPES, ids=str)
def test_operands_are_broadcast_as_triton_does_it(lent, left):
    observed, plain = lent
    kinds = [(tl.float32, tl.float32), (tl.pointer_type(tl.float32), tl.int32)]
    for right, (a, b) in itertools.product(SHAPES, kinds):
        given = tile(a, left, 3), tile(b, right, 5)
        assert told(observed.broadcast_impl_value, *given) == told(plain.broadcast_impl_value, *given)


@pytest.mark.parametrize("left", KINDS, ids=str)
def test_operands_are_promoted_as_triton_does_it(lent, left):
    observed, plain = lent
    options = [(False, False), (True, False), (False, True)]
    for right, (pointers, division) in itertools.product(KINDS, options):
        given = tile(left, (16,)), tile(right, (16,)), pointers, pointers, True, division
        ours = told(observed.binary_op_type_checking_impl, *given)
        assert ours == told(plain.binary_op_type_checking_impl, *given)
