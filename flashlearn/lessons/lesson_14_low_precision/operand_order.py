"""One `wgmma` whose second operand lies in shared memory in either order: which of them exists.

>>> compiled(torch.float8_e4m3fn, k_major=False).error != ""
True
>>> assembled("e4m3", transposed=True)               # NVIDIA's assembler, in its own words
"... Arguments mismatch for instruction 'wgmma.mma_async with FP8 types' ..."
"""

from __future__ import annotations

import torch
from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.hopper import fence_async_shared, warpgroup_mma

from flashlearn import compiler
from flashlearn.compiler import Budget
from flashlearn.compiler.listing import assemble
from flashlearn.interpreter.route import observing

SIDE = 64
PTX = """.version 8.4
.target sm_90a
.address_size 64
.visible .entry one_product() {{
  .reg .b64 a, b; .reg .f32 d<4>; .reg .pred keep;
  mov.u64 a, 0; mov.u64 b, 0; setp.eq.u64 keep, a, b;
  wgmma.fence.sync.aligned;
  wgmma.mma_async.sync.aligned.m64n8k{depth}.f32.{kind}.{kind} {{d0, d1, d2, d3}}, a, b, keep, 1, 1{order};
  ret;
}}
"""
"""A single instruction; the last two numbers, where there are any, say which operands are mn-major."""


@gluon.jit
def one_product_kernel(a_ptr, b_ptr, c_ptr, K_MAJOR: gl.constexpr, SIDE: gl.constexpr):
    # C = A Bᵀ if B is [N, K] in memory, its rows along the sum; C = A B if it is [K, N], its rows along N
    registers: gl.constexpr = gl.BlockedLayout([1, 1], [8, 4], [4, 1], [1, 0])
    rows = gl.arange(0, SIDE, gl.SliceLayout(1, registers))
    columns = gl.arange(0, SIDE, gl.SliceLayout(0, registers))
    at = rows[:, None] * SIDE + columns[None, :]
    a, b = gl.load(a_ptr + at), gl.load(b_ptr + at)
    width: gl.constexpr = a.dtype.primitive_bitwidth
    shared: gl.constexpr = gl.NVMMASharedLayout(SIDE * width // 8, width, 2)
    a_tile = gl.allocate_shared_memory(a.dtype, [SIDE, SIDE], shared, a)
    b_tile = gl.allocate_shared_memory(b.dtype, [SIDE, SIDE], shared, b)
    fence_async_shared()
    result: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [4, 1], [16, SIDE, 256 // width])
    acc = gl.zeros([SIDE, SIDE], gl.float32, result)
    if K_MAJOR:
        acc = warpgroup_mma(a_tile, b_tile.permute((1, 0)), acc)
    else:
        acc = warpgroup_mma(a_tile, b_tile, acc)
    gl.store(c_ptr + at, gl.convert_layout(acc, registers))


def compiled(dtype: torch.dtype, k_major: bool) -> Budget:
    """What Triton's compiler makes of that product for an H100."""
    a, b = torch.zeros(2, SIDE, SIDE).to(dtype)
    c = torch.zeros(SIDE, SIDE)
    with observing() as (session, _):
        one_product_kernel[(1,)](a, b, c, K_MAJOR=k_major, SIDE=SIDE, num_warps=4)
    (made,) = compiler.compile_launch(session.launches[-1], targets=(90,))
    return made


def assembled(kind: str, transposed: bool) -> str:
    """What NVIDIA's assembler objects to; "" if it accepts the instruction with B k-major, or mn-major."""
    order = f", 0, {int(transposed)}" if transposed or kind == "bf16" else ""
    message = assemble(PTX.format(kind=kind, depth=16 if kind == "bf16" else 32, order=order))
    return next((line.split("error   : ")[-1] for line in message.splitlines()), "")
