"""bf16 and fp8 arithmetic is right, in all operations; the oracle is torch."""

from __future__ import annotations

import pytest
import torch
import triton
import triton.language as tl
from triton.language.extra import libdevice

from flashlearn.interpreter.route import observing

HALF = [torch.float16, torch.bfloat16]


@triton.jit
def combine(x_ptr, y_ptr, z_ptr, OP: tl.constexpr, N: tl.constexpr):
    lanes = tl.arange(0, N)
    x = tl.load(x_ptr + lanes)
    y = tl.load(y_ptr + lanes)
    if OP == "add":
        z = x + y
    elif OP == "sub":
        z = x - y
    elif OP == "mul":
        z = x * y
    elif OP == "div":
        z = x / y
    elif OP == "neg":
        z = -x
    elif OP == "where":
        z = tl.where(x > y, x, y)
    elif OP == "maximum":
        z = tl.maximum(x, y)
    elif OP == "scalar":
        z = x * 2
    elif OP == "abs":
        z = tl.abs(x)
    else:
        z = tl.exp(x.to(tl.float32)) + y
    tl.store(z_ptr + lanes, z.to(z_ptr.dtype.element_ty))


@triton.jit
def product(a_ptr, b_ptr, c_ptr, N: tl.constexpr):
    at = tl.arange(0, N)[:, None] * N + tl.arange(0, N)[None, :]
    c = tl.dot(tl.load(a_ptr + at), tl.load(b_ptr + at))
    tl.store(c_ptr + at, c.to(c_ptr.dtype.element_ty))


@triton.jit
def cast(x_ptr, y_ptr, N: tl.constexpr):
    lanes = tl.arange(0, N)
    tl.store(y_ptr + lanes, tl.load(x_ptr + lanes).to(y_ptr.dtype.element_ty))


@triton.jit
def reduce(x_ptr, y_ptr, N: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, N))
    tl.store(y_ptr, tl.sum(x.to(tl.float32), axis=0))
    tl.store(y_ptr + 1, tl.max(x, axis=0).to(tl.float32))
    tl.store(y_ptr + 2, tl.min(x, axis=0).to(tl.float32))


def draw(dtype, n=64):
    generator = torch.Generator().manual_seed(0)
    return tuple(torch.randn(n, generator=generator).to(dtype) for _ in range(2))


EXPECTED = {
    "add": lambda x, y: x + y,
    "sub": lambda x, y: x - y,
    "mul": lambda x, y: x * y,
    "div": lambda x, y: (x.float() / y.float()).to(x.dtype),
    "neg": lambda x, y: -x,
    "where": lambda x, y: torch.where(x > y, x, y),
    "maximum": torch.maximum,
    "scalar": lambda x, y: x * 2,
    "abs": lambda x, y: x.abs(),
    "exp": lambda x, y: (x.float().exp() + y.float()).to(x.dtype),
}


@pytest.mark.parametrize("dtype", HALF)
@pytest.mark.parametrize("op", EXPECTED)
def test_element_wise_operations_round_as_torch_does(dtype, op):
    x, y = draw(dtype)
    z = torch.empty_like(x)
    with observing():
        combine[(1,)](x, y, z, OP=op, N=64)
    assert torch.equal(z, EXPECTED[op](x, y))


@pytest.mark.parametrize("dtype", [*HALF, torch.float32, torch.float8_e4m3fn, torch.float8_e5m2])
def test_products_accumulate_in_fp32(dtype):
    a, b = (t.reshape(32, 32) for t in (torch.randn(1024).to(dtype), torch.randn(1024).to(dtype)))
    c = torch.empty(32, 32)
    with observing():
        product[(1,)](a, b, c, N=32)
    torch.testing.assert_close(c, a.float() @ b.float(), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float8_e4m3fn, torch.float8_e5m2])
def test_casts_from_fp32_round_to_nearest_even(dtype):
    x = torch.cat([torch.randn(120) * 10, torch.tensor([0.0, -0.0, 1e-9, 1.0, 240.0, 17.0, 0.3, -447.0])])
    y = torch.empty(128, dtype=dtype)
    with observing():
        cast[(1,)](x, y, N=128)
    assert torch.equal(y.float(), x.to(dtype).float())


def test_a_cast_to_fp8_saturates_as_the_hardware_does():
    x = torch.tensor([1e6, -1e6, float("inf"), 448.0])
    y = torch.empty(4, dtype=torch.float8_e4m3fn)
    with observing():
        cast[(1,)](x, y, N=4)
    assert y.float().tolist() == [448.0, -448.0, 448.0, 448.0]


@pytest.mark.parametrize("dtype", HALF)
def test_a_half_precision_tile_widens_exactly(dtype):
    x, _ = draw(dtype)
    y = torch.empty(64)
    with observing():
        cast[(1,)](x, y, N=64)
    assert torch.equal(y, x.float())


@pytest.mark.parametrize("dtype", [*HALF, torch.float32])
def test_reductions_see_the_numbers_not_the_bits(dtype):
    x, _ = draw(dtype)
    y = torch.empty(3)
    with observing():
        reduce[(1,)](x, y, N=64)
    wide = x.float()
    torch.testing.assert_close(y, torch.stack([wide.sum(), wide.max(), wide.min()]))


@triton.jit
def half_sum(x_ptr, y_ptr, N: tl.constexpr):
    tl.store(y_ptr, tl.sum(tl.load(x_ptr + tl.arange(0, N)), axis=0).to(tl.float32))


def test_a_sum_in_half_precision_is_as_coarse_as_on_a_gpu():
    x = torch.full((4096,), 1.001, dtype=torch.float16)
    y = torch.empty(1)
    with observing():
        half_sum[(1,)](x, y, N=4096)
    assert y.item() == torch.tensor(y.item()).half().item()
    x = torch.ones(4096, dtype=torch.float16) * 17
    with observing():
        half_sum[(1,)](x, y, N=4096)
    assert y.item() == float("inf")  # 69632 is above fp16's 65504


@triton.jit
def device_functions(x_ptr, y_ptr, N: tl.constexpr):
    lanes = tl.arange(0, N)
    x = tl.load(x_ptr + lanes)
    tl.store(y_ptr + lanes, libdevice.tanh(x) + libdevice.pow(x, 2.0))


def test_libdevice_s_common_functions_are_known():
    x, y = torch.randn(64), torch.empty(64)
    with observing():
        device_functions[(1,)](x, y, N=64)
    torch.testing.assert_close(y, torch.tanh(x) + x**2)
