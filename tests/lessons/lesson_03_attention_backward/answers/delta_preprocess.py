"""Lesson 03: answers to `delta_preprocess`."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from tests.corpus import edited, right, written, wrong

GRID_3D = """
@triton.jit
def preprocess(Out, DO, Delta, so_b, so_h, so_m, so_d, sd_b, sd_h, sd_m, sd_d, H, N_CTX, D_HEAD,
               BLOCK_M: tl.constexpr, BLOCK_D: tl.constexpr):
    off_m = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    off_h = tl.program_id(1)
    off_b = tl.program_id(2)
    off_d = tl.arange(0, BLOCK_D)
    mask_m = off_m < N_CTX
    mask = mask_m[:, None] & (off_d[None, :] < D_HEAD)
    o = tl.load(Out + off_b * so_b + off_h * so_h + off_m[:, None] * so_m + off_d[None, :] * so_d,
                mask=mask, other=0.0).to(tl.float32)
    do = tl.load(DO + off_b * sd_b + off_h * sd_h + off_m[:, None] * sd_m + off_d[None, :] * sd_d,
                 mask=mask, other=0.0).to(tl.float32)
    tl.store(Delta + (off_b * H + off_h) * N_CTX + off_m, tl.sum(o * do, axis=1), mask=mask_m)


def delta_preprocess(o, do):
    B, H, S, D = o.shape
    delta = torch.empty(B, H, S)
    preprocess[(triton.cdiv(S, 16), H, B)](
        o, do, delta, *o.stride(), *do.stride(), H, S, D, BLOCK_M=16, BLOCK_D=triton.next_power_of_2(D))
    return delta
"""

PER_QUERY = """
@triton.jit
def delta_of_query(o_ptr, do_ptr, delta_ptr, S, D, o_s, o_d, do_s, do_d, CHUNK: tl.constexpr):
    # one program per query of one head; the launcher moves the pointers to the head
    i = tl.program_id(0)
    acc = tl.zeros([CHUNK], tl.float32)
    for start in range(0, D, CHUNK):
        d = start + tl.arange(0, CHUNK)
        o = tl.load(o_ptr + i * o_s + d * o_d, mask=d < D, other=0.0)
        g = tl.load(do_ptr + i * do_s + d * do_d, mask=d < D, other=0.0)
        acc += o.to(tl.float32) * g.to(tl.float32)
    tl.store(delta_ptr + i, tl.sum(acc))


def delta_preprocess(o, do):
    B, H, S, D = o.shape
    delta = torch.empty((B, H, S), dtype=torch.float32)
    for b in range(B):
        for h in range(H):
            delta_of_query[(S,)](
                o[b, h], do[b, h], delta[b, h], S, D, *o.stride()[2:], *do.stride()[2:], CHUNK=8
            )
    return delta
"""


@triton.jit
def _flat_rows(o_ptr, do_ptr, out_ptr, rows, D, BR: tl.constexpr, BD: tl.constexpr):
    r = tl.program_id(0) * BR + tl.arange(0, BR)
    d = tl.arange(0, BD)
    at = r[None, :] * D + d[:, None]  # [BD, BR]: components down
    ok = (r[None, :] < rows) & (d[:, None] < D)
    o = tl.load(o_ptr + at, mask=ok, other=0.0).to(tl.float32)
    do = tl.load(do_ptr + at, mask=ok, other=0.0).to(tl.float32)
    tl.store(out_ptr + r, tl.sum(o * do, axis=0), mask=r < rows)


@right("delta_preprocess", "contiguous copies, all heads as one list of rows, tiles transposed")
def rows_of_all_heads(o, do):
    o, do = o.contiguous(), do.contiguous()
    delta = torch.empty(o.shape[:3])
    rows = delta.numel()
    _flat_rows[(triton.cdiv(rows, 32),)](
        o, do, delta, rows, o.shape[3], BR=32, BD=triton.next_power_of_2(o.shape[3])
    )
    return delta


right("delta_preprocess", "a three-dimensional grid")(written(GRID_3D))
right("delta_preprocess", "a launch per head, a program per query, D in chunks of 8")(written(PER_QUERY))

wrong(
    "delta_preprocess",
    "Products and sum are computed in half precision.",
    "in half precision",
    "precision",
    title="3-D grid, no conversion",
)(
    edited(
        GRID_3D,
        ("mask=mask, other=0.0).to(tl.float32)\n    do", "mask=mask, other=0.0)\n    do"),
        ("mask=mask, other=0.0).to(tl.float32)\n    tl.store", "mask=mask, other=0.0)\n    tl.store"),
    )
)

wrong(
    "delta_preprocess",
    "Both loads use the strides of o.",
    "strides of o used for do",
    "out_of_bounds",
    title="3-D grid, strides of o for do",
)(edited(GRID_3D, ("*o.stride(), *do.stride()", "*o.stride(), *o.stride()")))

wrong(
    "delta_preprocess",
    "do comes in twice; o is never read.",
    "do times itself",
    title="3-D grid, DO in place of Out",
)(
    edited(
        GRID_3D,
        (
            "tl.load(Out + off_b * so_b + off_h * so_h + off_m[:, None] * so_m + off_d[None, :] * so_d",
            "tl.load(DO + off_b * sd_b + off_h * sd_h + off_m[:, None] * sd_m + off_d[None, :] * sd_d",
        ),
    )
)

wrong(
    "delta_preprocess",
    "The batch is left out of delta's address: all batches write to the first one's slots.",
    "race",
    "one delta for all heads",
    title="3-D grid, delta without the batch",
)(edited(GRID_3D, ("(off_b * H + off_h) * N_CTX", "off_h * N_CTX")))

wrong(
    "delta_preprocess",
    "Batch and head are exchanged in the grid: heads beyond the batch size have no program.",
    "permuted heads",
    "out_of_bounds",
    "never written",
    title="3-D grid, H and B exchanged in the launch",
)(edited(GRID_3D, ("(triton.cdiv(S, 16), H, B)", "(triton.cdiv(S, 16), B, H)")))

wrong(
    "delta_preprocess",
    "delta of head h lies at h * B + b here: heads and batches are exchanged in the output.",
    "permuted heads",
    title="3-D grid, delta at h * B + b",
)(
    edited(
        GRID_3D,
        ("(off_b * H + off_h) * N_CTX", "(off_h * tl.num_programs(2) + off_b) * N_CTX"),
    )
)

wrong(
    "delta_preprocess",
    "The mask in d is missing: from D on these are the next query's components.",
    "no mask in d",
    "out_of_bounds",
    title="3-D grid, queries masked only",
)(
    edited(
        GRID_3D,
        (
            "mask = mask_m[:, None] & (off_d[None, :] < D_HEAD)",
            "mask = mask_m[:, None] & (off_d[None, :] >= 0)",
        ),
    )
)

wrong(
    "delta_preprocess",
    "The rows beyond S belong to the next head, or to nobody: they are loaded without a mask.",
    "no mask in s",
    "out_of_bounds",
    title="3-D grid, components masked only",
)(edited(GRID_3D, ("mask = mask_m[:, None] & (off_d[None, :] < D_HEAD)", "mask = off_d[None, :] < D_HEAD")))

wrong(
    "delta_preprocess",
    "A sum of products was taken apart into a product of sums.",
    "a sum of products taken apart",
    title="3-D grid, sums multiplied",
)(edited(GRID_3D, ("tl.sum(o * do, axis=1)", "tl.sum(o, axis=1) * tl.sum(do, axis=1)")))

wrong(
    "delta_preprocess",
    "delta is divided by √D; it has no scale.",
    "divided by √D",
    title="per query, scaled by 1/√D",
)(edited(PER_QUERY, ("tl.sum(acc))", "tl.sum(acc) / tl.sqrt(D.to(tl.float32)))")))

wrong(
    "delta_preprocess",
    "The last chunk of components is left out.",
    "last tile missing",
    "the last components left out",
    title="per query, the last chunk left out",
)(edited(PER_QUERY, ("range(0, D, CHUNK)", "range(0, D - CHUNK, CHUNK)")))

wrong(
    "delta_preprocess",
    "delta is stored in o's dtype; fp32 was asked for.",
    "shape",
    title="per query, delta like o",
)(edited(PER_QUERY, ("dtype=torch.float32", "dtype=o.dtype")))

wrong(
    "delta_preprocess",
    "Every launch works on the first head: all heads get its delta.",
    "permuted heads",
    title="per query, always head 0 loaded",
)(edited(PER_QUERY, ("o[b, h], do[b, h], delta[b, h]", "o[b, 0], do[b, 0], delta[b, h]")))

wrong(
    "delta_preprocess",
    "The mean over D, and the last chunk missing: two mistakes.",
    "mean over D + last tile missing",
    "mean over D + the last components left out",
    title="per query, a mean without the last chunk",
)(
    edited(
        PER_QUERY, ("range(0, D, CHUNK)", "range(0, D - CHUNK, CHUNK)"), ("tl.sum(acc))", "tl.sum(acc) / D)")
    )
)

wrong(
    "delta_preprocess",
    "BLOCK_D is 64 whatever D is: the components beyond are left out of the sum.",
    "only the first tile",
    "last tile missing",
)(edited(GRID_3D, ("BLOCK_D=triton.next_power_of_2(D)", "BLOCK_D=64"), title="BLOCK_D = 64"))
wrong(
    "delta_preprocess",
    "BLOCK_D is 128 whatever D is: the components beyond are left out of the sum.",
    "only the first tile",
    "last tile missing",
)(edited(GRID_3D, ("BLOCK_D=triton.next_power_of_2(D)", "BLOCK_D=128"), title="BLOCK_D = 128"))
