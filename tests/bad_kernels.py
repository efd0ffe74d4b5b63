"""Five launchers for `scaled_add`, each bad in its own way; what a check must answer to each."""

from __future__ import annotations

import torch
import triton
import triton.language as tl


@triton.jit
def _wild(x_ptr, z_ptr):
    tl.store(z_ptr + 12345678901234, tl.load(x_ptr))


@triton.jit
def _outside(x_ptr, y_ptr, z_ptr, a, n, step_x, step_y, BLOCK: tl.constexpr):
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + lanes * step_x, mask=lanes < n)
    y = tl.load(y_ptr + lanes * step_y, mask=lanes < n)
    tl.store(z_ptr + lanes, a * x + y)


@triton.jit
def _endless(x_ptr, z_ptr):
    i = tl.load(x_ptr) * 0
    while i < 1:
        tl.store(z_ptr, i)


@triton.jit
def _race(x_ptr, z_ptr, n, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + lanes, mask=lanes < n)
    tl.store(z_ptr + lanes, x + tl.program_id(0), mask=lanes < n)


@triton.jit
def _right(x_ptr, y_ptr, z_ptr, a, n, step_x, step_y, BLOCK: tl.constexpr):
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + lanes * step_x, mask=lanes < n)
    y = tl.load(y_ptr + lanes * step_y, mask=lanes < n)
    tl.store(z_ptr + lanes, a * x + y, mask=lanes < n)


def wild_pointer(a, x, y):
    z = torch.empty(x.shape, dtype=x.dtype, device=x.device)
    _wild[(1,)](x, z)
    return z


def writes_outside(a, x, y):
    z = torch.empty(x.shape, dtype=x.dtype, device=x.device)
    n = x.numel()
    _outside[(triton.cdiv(n, 64),)](x, y, z, a, n, x.stride(0), y.stride(0), BLOCK=64)
    return z


def loops_for_ever(a, x, y):
    z = torch.empty(x.shape, dtype=x.dtype, device=x.device)
    _endless[(1,)](x, z)
    return z


def races(a, x, y):
    x = x.contiguous()
    z = torch.zeros(x.shape, dtype=x.dtype, device=x.device)
    _race[(4,)](x, z, x.numel(), BLOCK=triton.next_power_of_2(x.numel()))
    return z


def calls_torch(a, x, y):
    scale = torch.full((1, 1), a, dtype=torch.float32, device=x.device)
    return torch.addmm(y[:, None].float(), x[:, None].float(), scale)[:, 0].to(x.dtype)


def right(a, x, y):
    z = torch.empty(x.shape, dtype=x.dtype, device=x.device)
    n = x.numel()
    _right[(triton.cdiv(n, 64),)](x, y, z, a, n, x.stride(0), y.stride(0), BLOCK=64)
    return z


BAD = {
    wild_pointer: ("OUT_OF_BOUNDS", "z_ptr[12345678901234]"),
    writes_outside: ("OUT_OF_BOUNDS", "The store has no mask"),
    loops_for_ever: ("TIMEOUT", "so it was stopped"),
    races: ("RACE", "on a GPU they run at the same time"),
    calls_torch: ("NOT_YOURS", "torch.addmm computed it"),
}
