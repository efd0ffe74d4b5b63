"""Wrong one-pass kernels, as one edit or two of a right one makes them."""

# ruff: noqa: E501, RUF100
# fmt: off

from __future__ import annotations

import torch

from flashlearn.kernels.flash_backward_dkv import dkv_kernel, dkv_kernel_causal
from flashlearn.kernels.flash_backward_dq import dq_kernel, dq_kernel_causal
from flashlearn.kernels.fused_backward import fused_backward_atomic, fused_backward_rows
from flashlearn.kernels.repeatable_backward import determinism
from tests.corpus import edited, wrong

ADD = 'tl.atomic_add(dq_ptr + dq_tile, share, mask=in_tile, sem="relaxed")'
ADD_DV = 'tl.atomic_add(dv_ptr + dkv_tile, dv_share, mask=in_tile, sem="relaxed")'
ADD_DK = 'tl.atomic_add(dk_ptr + dkv_tile, dk_share, mask=in_tile, sem="relaxed")'
SEEN = "seen = in_keys[None, :]"
VISIBLE = "seen = seen & (columns[None, :] <= rows[:, None] + S_k - S_q)"


def keys(says, *names, edits):
    wrong("fused_backward_atomic", says, *names)(edited(fused_backward_atomic, *edits))


def rows(says, *names, edits):
    wrong("fused_backward_rows", says, *names)(edited(fused_backward_rows, *edits))


def repeated(says, *names, edits):
    wrong("determinism", says, *names)(edited(determinism, *edits))


# ---------------------------------------------------------------- a program owns keys

keys(
    "Programs load, add and store dQ: updates are lost.", "load, add, store", "race",
    edits=[(ADD, "so_far = tl.load(dq_ptr + dq_tile, mask=in_tile, other=0.0)\n        tl.store(dq_ptr + dq_tile, so_far + share, mask=in_tile)")],
)
keys(
    "Programs overwrite each other's shares of dQ.", "stored, not added", "race",
    edits=[(ADD, "tl.store(dq_ptr + dq_tile, share, mask=in_tile)")],
)
keys(
    "The buffer that programs add to is not zero in the beginning.", "uninitialised memory", "one edit",
    edits=[("dq = torch.zeros((B, H, S_q, D)", "dq = torch.empty((B, H, S_q, D)")],
)
keys(
    "dQ is summed in half precision.", "summed in half precision", "precision",
    edits=[("(B, H, S_q, D), dtype=torch.float32", "(B, H, S_q, D), dtype=q.dtype")],
)
keys(
    "The share of dQ lacks alpha.", "alpha is missing from dQ", "constant factor",
    edits=[("share = alpha * tl.dot(ds, k", "share = tl.dot(ds, k")],
)
keys(
    "alpha is in dS and once more in dQ and in dK.", "alpha twice in dQ and dK", "constant factor",
    edits=[("ds = (p * (dp", "ds = (alpha * p * (dp")],
)
keys(
    "A padded key's P is not masked, and infinity times zero reaches dQ.", "padded keys get a probability", "zero times inf",
    edits=[(SEEN, "seen = columns[None, :] >= 0")],
)
keys(
    "A query that sees nothing has LSE −inf, and nobody minds it.", "no guard for queries that see nothing", "inf minus inf",
    edits=[('lse_i = tl.where(lse_i == -float("inf"), float("inf"), lse_i)  # saw no key: P = 0 as well', "")],
)
keys(
    "The share of dQ is made from the transposed dS.", "dQ from dS transposed",
    edits=[("tl.dot(ds, k, ", "tl.dot(tl.trans(ds), k, ")],
)
keys(
    "The share of dQ is made with V.", "dQ from V",
    edits=[("tl.dot(ds, k, ", "tl.dot(ds, v, ")],
)
keys(
    "The share of dQ is added at the rows of the keys.", "out_of_bounds", "one edit", "first divergence",
    edits=[("dq_tile = rows[:, None] * D", "dq_tile = columns[:, None] * D")],
)
keys(
    "All heads add to the dQ of the first one.", "all heads add to one", "never written", "one edit",
    edits=[("dq_ptr += head * S_q * D  # fp32, zero before the first program runs", "")],
)
keys(
    "dQ is returned in fp32, whatever q is.", "shape", "launcher",
    edits=[("return dq.to(q.dtype), dk, dv", "return dq, dk, dv")],
)
keys(
    "The gradients are returned in the order dk, dv, dq.", "outputs exchanged", "shape",
    edits=[("return dq.to(q.dtype), dk, dv", "return dk, dv, dq.to(q.dtype)")],
)
keys(
    "The loop starts as if the diagonal began in the corner.", "loop start without S_k − S_q",
    edits=[("tl.program_id(0) * BLOCK_K - (S_k - S_q)) // BLOCK_Q", "tl.program_id(0) * BLOCK_K) // BLOCK_Q")],
)
keys(
    "The mask is always on.", "the causal mask is always on",
    edits=[("IS_CAUSAL=causal", "IS_CAUSAL=True")],
)
keys(
    "The mask is never on.", "mask forgotten", "leak from the future",
    edits=[("IS_CAUSAL=causal", "IS_CAUSAL=False")],
)
keys(
    "The mask is aligned top-left.", "mask aligned top-left", "one edit",
    edits=[(VISIBLE, "seen = seen & (columns[None, :] <= rows[:, None])")],
)
keys(
    "delta is forgotten.", "delta omitted",
    edits=[("(dp - delta_i[:, None])", "dp")],
)
keys(
    "Atomic, but a maximum.", "one edit", "first divergence",
    edits=[("tl.atomic_add(", "tl.atomic_max(")],
)
keys(
    "dv is overwritten in every step.", "only the last tile remains", "only the last tile",
    edits=[("dv += tl.dot(", "dv = tl.dot(")],
)
keys(
    "The loop over queries ends at S_k.", "loop over S_k",
    edits=[("BLOCK_Q * BLOCK_Q\n    for start in range(first, S_q, BLOCK_Q)", "BLOCK_Q * BLOCK_Q\n    for start in range(first, S_k, BLOCK_Q)")],
)
keys(
    "The share is added without a mask.", "shares added without a mask", "out_of_bounds",
    edits=[("share, mask=in_tile, sem", "share, sem")],
)

wrong("fused_backward_atomic", "Programs own queries, not keys.", "review")(fused_backward_rows)


@wrong("fused_backward_atomic", "Two kernels scan twice: seven products.", "review")
def two_kernels(q, k, v, o, do, lse, alpha, causal):
    given = (q, k, v, o, do, lse, alpha)
    if causal:
        return (dq_kernel_causal(*given), *dkv_kernel_causal(*given))
    return (dq_kernel(*given), *dkv_kernel(*given))


# ---------------------------------------------------------------- a program owns queries

rows(
    "dK's shares overwrite each other.", "race",
    edits=[(ADD_DK, "tl.store(dk_ptr + dkv_tile, dk_share, mask=in_tile)")],
)
rows(
    "Both sums are loaded, added to and stored.", "load, add, store", "race",
    edits=[
        (ADD_DK, "tl.store(dk_ptr + dkv_tile, dk_share + tl.load(dk_ptr + dkv_tile, mask=in_tile, other=0.0), mask=in_tile)"),
        (ADD_DV, "tl.store(dv_ptr + dkv_tile, dv_share + tl.load(dv_ptr + dkv_tile, mask=in_tile, other=0.0), mask=in_tile)"),
    ],
)
rows(
    "dK's share lacks alpha.", "alpha is missing from dK", "constant factor",
    edits=[("dk_share = alpha * tl.dot", "dk_share = tl.dot")],
)
rows(
    "dQ lacks alpha.", "alpha is missing from dQ", "constant factor",
    edits=[("(alpha * dq).to", "dq.to")],
)
rows(
    "dK's share is made without the transpose.", "dS not transposed in dK",
    edits=[("tl.dot(tl.trans(ds), q", "tl.dot(ds, q")],
)
rows(
    "Each of the two shares goes to the other one's sum.", "dK and dV exchanged", "outputs exchanged",
    edits=[(ADD_DV, ADD_DV.replace("dv_share", "dk_share")), (ADD_DK, ADD_DK.replace("dk_share", "dv_share"))],
)
rows(
    "The loop ends as if the diagonal began in the corner.", "loop end without S_k − S_q",
    edits=[("(tl.program_id(0) + 1) * BLOCK_Q + S_k - S_q)", "(tl.program_id(0) + 1) * BLOCK_Q)")],
)
rows(
    "The last, incomplete block of keys is left out.", "the last, incomplete block of keys is left out",
    edits=[("end = S_k\n", "end = S_k // BLOCK_K * BLOCK_K\n"), ("tl.minimum(S_k, (tl.p", "tl.minimum(end, (tl.p")],
)
rows(
    "dP is made with K.", "dP from K",
    edits=[("tl.dot(do, tl.trans(v)", "tl.dot(do, tl.trans(k)")],
)
wrong("fused_backward_rows", "Programs own keys, not queries.", "review")(fused_backward_atomic)

# ---------------------------------------------------------------- the same bits every time

wrong("determinism", "The order of the atomics is open.", "review")(fused_backward_atomic)
wrong("determinism", "Repeatable, but it scans twice.", "review")(two_kernels)
wrong("determinism", "Summed in fp64 the order matters more rarely, and it does matter.", "review")(
    edited(
        fused_backward_atomic,
        ("(B, H, S_q, D), dtype=torch.float32", "(B, H, S_q, D), dtype=torch.float64"),
        ("tl.atomic_add(dq_ptr + dq_tile, share,", "tl.atomic_add(dq_ptr + dq_tile, share.to(tl.float64),"),
    )
)
wrong("determinism", "dK and dV are added by atomics in an open order.", "review")(fused_backward_rows)


@wrong("determinism", "torch's switch is not about kernels of one's own.", "review")
def switched_on(q, k, v, o, do, lse, alpha, causal):
    torch.use_deterministic_algorithms(True)
    try:
        return fused_backward_atomic(q, k, v, o, do, lse, alpha, causal)
    finally:
        torch.use_deterministic_algorithms(False)


repeated(
    "All blocks of keys write their shares into one part.", "one part for all", "race",
    edits=[("(head * tl.num_programs(0) + tl.program_id(0)) * S_q * D", "head * tl.num_programs(0) * S_q * D")],
)
repeated(
    "The last part is not added.", "the last part is not added", "one edit",
    edits=[("range(0, wrote)", "range(0, wrote - 1)")],
)
repeated(
    "The first part is added again and again.", "only the first part is added", "one edit", "never read",
    edits=[("shares_ptr += S_q * D  # step by step: block · S_q · D may pass 2³¹", "")],
)
repeated(
    "Parts in which nobody has stored are added.", "uninitialised memory",
    edits=[("wrote = tl.minimum(blocks, tl.cdiv(unseen_from, BLOCK_K))", "wrote = blocks")],
)
repeated(
    "The sum over the parts is overwritten in every step.", "only the last part remains", "only the last tile",
    edits=[("dq += tl.load(shares_ptr", "dq = tl.load(shares_ptr")],
)
