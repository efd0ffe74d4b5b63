"""Wrong answers to flash_forward, each a learner's kernel with a slip in it."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from tests.corpus import edited, wrong
from tests.lessons.lesson_06_flash_forward.answers.right import (
    fwd_tutorial,
    keys_as_rows,
    two_passes,
    with_block_pointers,
)
from tests.lessons.lesson_06_flash_forward.answers.right_more import (
    five_programs,
    flash_decoding,
    one_program_per_head,
)


def forward(says: str, *names: str):
    return wrong("flash_forward", says, *names)


# ---------------------------------------------------------------- the tutorial's kernel

forward(
    "exp2 of scores that were never multiplied by log2 e: a softmax of S ln 2.", "log2 e is missing from S"
)(
    edited(
        fwd_tutorial, ("qk_scale = sm_scale * 1.44269504", "qk_scale = sm_scale"), title="exp2 without log2 e"
    )
)
forward("LSE is left in base 2, as m and l are kept.", "LSE in base 2")(
    edited(fwd_tutorial, ("(m_i + tl.math.log2(l_i)) * 0.69314718", "m_i + tl.math.log2(l_i)"))
)
forward("m is in base 2 and log l is natural: LSE adds two units.", "LSE's maximum is in base 2")(
    edited(fwd_tutorial, ("(m_i + tl.math.log2(l_i)) * 0.69314718", "m_i + tl.log(l_i)"))
)
forward("The exponent of the rescale factor has the wrong sign: new − old.", "rescale with the wrong sign")(
    edited(fwd_tutorial, ("alpha = tl.math.exp2(m_i - m_ij)", "alpha = tl.math.exp2(m_ij - m_i)"))
)
forward("acc is multiplied by the rescale factor twice in each step.", "acc rescaled twice")(
    edited(
        fwd_tutorial,
        (
            "tl.dot(p.to(v.dtype), v, acc, input_precision=",
            "acc * alpha[:, None] + tl.dot(p.to(v.dtype), v, input_precision=",
        ),
        title="acc times alpha, and once more",
    )
)
forward(
    "m_i is overwritten before the rescale factor is computed, which is therefore always 1.",
    "nothing rescaled",
)(
    edited(
        fwd_tutorial, ("        l_ij = tl.sum(p, 1)\n", "        m_i = m_ij\n        l_ij = tl.sum(p, 1)\n")
    )
)
forward("acc is divided by l in every step, and the divided sum is carried on.", "divided in every step")(
    edited(
        fwd_tutorial,
        ("        m_i = m_ij\n", "        acc = acc / l_i[:, None]\n        m_i = m_ij\n"),
        ("    acc = acc / l_i[:, None]\n    tl.store(L", "    tl.store(L"),
        title="normalised in the loop",
    )
)
forward("O is divided by l twice.", "divided by l twice")(
    edited(fwd_tutorial, ("tl.store(o_ptrs, acc.to(", "tl.store(o_ptrs, (acc / l_i[:, None]).to("))
)
forward(
    "K's pointer is advanced by the stride of its columns, not of its rows.",
    "out_of_bounds",
    "never read",
)(edited(fwd_tutorial, ("k_ptrs += BLOCK_N * stride_kn", "k_ptrs += BLOCK_N * stride_kk")))
forward(
    "V's pointer is never advanced: every step multiplies with the first tile of V.",
    "V's pointer is not advanced",
)(edited(fwd_tutorial, ("        v_ptrs += BLOCK_N * stride_vn\n", ""), title="v_ptrs stays where it is"))
forward("Batch and head come out of the program id the wrong way round.", "permuted heads", "out_of_bounds")(
    edited(
        fwd_tutorial,
        ("off_z = off_hz // H", "off_z = off_hz % H"),
        ("off_h = off_hz % H", "off_h = off_hz // H"),
    )
)
forward("Padded keys get the score 0 instead of −∞ and are counted in l.", "padded keys are not masked")(
    edited(
        fwd_tutorial,
        (
            'tl.where(offs_n[None, :] < n_left, qk, float("-inf"))',
            "tl.where(offs_n[None, :] < n_left, qk, 0.0)",
        ),
    )
)
forward("l is summed in half precision: P is rounded before the sum.", "precision", "one edit")(
    edited(fwd_tutorial, ("l_ij = tl.sum(p, 1)", "p = p.to(v.dtype)\n        l_ij = tl.sum(p, 1)"))
)
forward("O comes out in float32 whatever q is.", "shape")(
    edited(fwd_tutorial, ("torch.empty(q.shape, dtype=q.dtype", "torch.empty(q.shape, dtype=torch.float32"))
)
forward("Two mistakes: acc is not rescaled, and LSE stays in base 2.", "acc not rescaled + LSE in base 2")(
    edited(
        fwd_tutorial,
        ("        acc = acc * alpha[:, None]\n", ""),
        ("(m_i + tl.math.log2(l_i)) * 0.69314718", "m_i + tl.math.log2(l_i)"),
    )
)
forward("The last tile is visited only if it is full.", "loop ends one tile early", "last tile missing")(
    edited(fwd_tutorial, ("range(0, N_KV, BLOCK_N)", "range(0, N_KV - BLOCK_N + 1, BLOCK_N)"))
)

# ---------------------------------------------------------------- keys as rows

forward(
    "l sums over the queries: axis 1 of a tile whose rows are keys.", "l sums over the queries", "crashed"
)(edited(keys_as_rows, ("tl.sum(pt, axis=0)", "tl.sum(pt, axis=1)")))
forward("The numerator is not rescaled when the maximum moves.", "acc not rescaled")(
    edited(keys_as_rows, ("numer = numer * correction[None, :] + ", "numer += "))
)
forward("Two mistakes: l is not rescaled, and LSE lacks m.", "l not rescaled + LSE without m")(
    edited(
        keys_as_rows,
        ("denom = denom * correction + tl.sum", "denom += tl.sum"),
        ("running_max + tl.log(denom)", "tl.log(denom)"),
    )
)
forward("O and LSE are written as if batch and head changed places.", "permuted heads")(
    edited(keys_as_rows, ("(b * n_heads + h) * Sq", "(h * tl.num_programs(2) + b) * Sq"))
)
forward("Two mistakes: alpha is missing, and LSE is m + l.", "alpha forgotten + LSE is m + l")(
    edited(
        keys_as_rows,
        ('input_precision="ieee") * scale', 'input_precision="ieee")'),
        ("running_max + tl.log(denom)", "running_max + denom"),
    )
)
forward(
    "The store of LSE has no mask: rows beyond S_q go to the next head, or outside.", "out_of_bounds", "race"
)(edited(keys_as_rows, (", running_max + tl.log(denom), mask=qi < Sq)", ", running_max + tl.log(denom))")))
forward(
    "Two mistakes: alpha is squared, and padded keys are counted.",
    "alpha applied twice + padded keys are not masked",
)(
    edited(
        keys_as_rows,
        ('input_precision="ieee") * scale', 'input_precision="ieee") * scale * scale'),
        ('        st = tl.where(kj[:, None] < Sk, st, float("-inf"))\n', ""),
    )
)
forward(
    "The maximum is taken over the tile alone: the running one is forgotten where it is larger.",
    "the maximum of one tile",
)(
    edited(
        keys_as_rows,
        ("tl.maximum(running_max, tl.max(st, axis=0))", "tl.max(st, axis=0)"),
        title="max of this tile only",
    )
)

# ---------------------------------------------------------------- other kernels

forward(
    "The last tile of K is read beyond S_k: its columns are not checked.",
    "out_of_bounds",
    "keys loaded without a mask",
)(edited(with_block_pointers, ("tl.load(Kb, boundary_check=(0, 1)", "tl.load(Kb, boundary_check=(0,)")))
forward(
    "V's block pointer moves along D instead of along the keys.",
    "V's pointer is not advanced",
    "only the first tile",
)(edited(with_block_pointers, ("tl.advance(Vb, (BN, 0))", "tl.advance(Vb, (0, BN))")))
forward("The padding of V is undefined; 0 times whatever is there may be NaN.", "masked load without other")(
    edited(
        with_block_pointers,
        ('tl.load(Vb, boundary_check=(0, 1), padding_option="zero")', "tl.load(Vb, boundary_check=(0, 1))"),
    )
)
forward(
    "The persistent loop stops one tile early: the last block of queries is never written.", "never written"
)(edited(five_programs, ("range(tl.program_id(0), tiles,", "range(tl.program_id(0), tiles - 1,")))
forward(
    "m, l and acc are not reset for the next block of queries that the program takes.", "state not reset"
)(
    edited(
        five_programs,
        ('        m = tl.full((BLOCK,), -float("inf"), tl.float32)\n', ""),
        ("        l = tl.zeros((BLOCK,), tl.float32)\n", ""),
        ("        acc = tl.zeros((BLOCK, BD), tl.float32)\n", ""),
        (
            "    for tile in",
            '    m = tl.full((BLOCK,), -float("inf"), tl.float32)\n    l = tl.zeros((BLOCK,), tl.float32)\n'
            "    acc = tl.zeros((BLOCK, BD), tl.float32)\n    for tile in",
        ),
        title="state initialised before the loop over tiles",
    )
)
forward(
    "The shares of the splits are added as they are, not in units of the common maximum.",
    "nothing rescaled",
    "not rescaled",
)(edited(flash_decoding, ("w = tl.exp(m - top)", "w = tl.full((SPLITS,), 1.0, tl.float32)")))
forward(
    "Only O's shares are weighted by exp(m − max) when the splits are merged; l's are not.",
    "l not rescaled",
    "rows do not sum to 1",
)(edited(flash_decoding, ("tl.sum(w * tl.load(part_l + at), 0)", "tl.sum(tl.load(part_l + at), 0)")))
forward("Every head reads the K and V of head 0.", "permuted heads", "K and V of the first head")(
    edited(one_program_per_head, ("at = (head * S + tl.minimum(j, S - 1))", "at = tl.minimum(j, S - 1)"))
)
forward("The first tile of keys is skipped in the second pass.", "first tile missing")(
    edited(two_passes, ("range(tl.cdiv(Nk, BLOCK) - 1, -1, -1)", "range(tl.cdiv(Nk, BLOCK) - 1, 0, -1)"))
)
forward(
    "The maximum is that of the unscaled scores, the exponent has the scaled ones.", "the maximum lacks alpha"
)(
    edited(
        two_passes,
        (
            "q = load_2d(q_ptr, i, d, Nq, D, D, 1).to(tl.float32) * alpha",
            "q = load_2d(q_ptr, i, d, Nq, D, D, 1).to(tl.float32)",
        ),
        (
            '        s = tl.dot(q, tl.trans(k), input_precision="ieee")\n',
            '        s = alpha * tl.dot(q, tl.trans(k), input_precision="ieee")\n',
        ),
        title="alpha in the second pass only",
    )
)


@triton.jit
def normalised_kernel(
    q_ptr, k_ptr, v_ptr, o_ptr, lse_ptr, alpha, S_q, S_k, D, BLOCK: tl.constexpr, BD: tl.constexpr
):
    # as in the first FlashAttention paper: acc is kept normalised
    bh = tl.program_id(1)
    i, d = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK), tl.arange(0, BD)
    tile = (bh * S_q + i)[:, None] * D + d[None, :]
    ok = (i < S_q)[:, None] & (d < D)[None, :]
    q = tl.load(q_ptr + tile, mask=ok, other=0.0)
    m = tl.full((BLOCK,), -float("inf"), tl.float32)
    ell = tl.zeros((BLOCK,), tl.float32)
    acc = tl.zeros((BLOCK, BD), tl.float32)
    for start in range(0, S_k, BLOCK):
        j = start + tl.arange(0, BLOCK)
        ok_j = (j < S_k)[:, None] & (d < D)[None, :]
        k = tl.load(k_ptr + (bh * S_k + j)[:, None] * D + d[None, :], mask=ok_j, other=0.0)
        v = tl.load(v_ptr + (bh * S_k + j)[:, None] * D + d[None, :], mask=ok_j, other=0.0)
        s = tl.where(
            (j < S_k)[None, :], tl.dot(q, tl.trans(k), input_precision="ieee") * alpha, -float("inf")
        )
        m_new = tl.maximum(m, tl.max(s, 1))
        beta = tl.exp(m - m_new)
        p = tl.exp(s - m_new[:, None])
        ell_new = beta * ell + tl.sum(p, 1)
        acc = acc * (beta / ell_new)[:, None]  # the old l is missing here
        acc += tl.dot((p / ell_new[:, None]).to(v.dtype), v, input_precision="ieee")
        m, ell = m_new, ell_new
    tl.store(o_ptr + tile, acc, mask=ok)
    tl.store(lse_ptr + bh * S_q + i, m + tl.log(ell), mask=i < S_q)


@wrong(
    "flash_forward",
    "acc is kept normalised, but the old sum is not multiplied by the old l before it is divided by the new.",
    "divided in every step",
)
def normalised_as_in_the_first_paper(q, k, v, alpha):
    q, k, v = (t.contiguous() for t in (q, k, v))
    B, H, S_q, D = q.shape
    o, lse = torch.empty_like(q), torch.empty(B, H, S_q)
    grid = (triton.cdiv(S_q, 16), B * H)
    BD = max(16, triton.next_power_of_2(D))
    normalised_kernel[grid](q, k, v, o, lse, alpha, S_q, k.shape[2], D, BLOCK=16, BD=BD)
    return o, lse


forward("LSE has no offset of its head: all heads write the same rows.", "race")(
    edited(
        normalised_as_in_the_first_paper,
        ("lse_ptr + bh * S_q + i", "lse_ptr + i"),
        ("(beta / ell_new)", "(beta * ell / ell_new)"),
        title="lse_ptr + i for every head",
    )
)

# ---------------------------------------------------------------- sizes written down

forward(
    "BLOCK_D is 64 whatever D is: the components beyond are neither read nor written.",
    "never written",
    "only the first tile",
    "the first tile again and again",
    "last tile missing",
)(edited(fwd_tutorial, ("max(16, triton.next_power_of_2(HEAD_DIM))", "64"), title="BLOCK_D = 64"))
forward(
    "BLOCK_D is 128 whatever D is: the components beyond are neither read nor written.",
    "never written",
    "only the first tile",
    "the first tile again and again",
    "last tile missing",
)(edited(fwd_tutorial, ("max(16, triton.next_power_of_2(HEAD_DIM))", "128"), title="BLOCK_D = 128"))
forward("The loop ends after 1024 keys: the rest are left out.", "last tile missing", "only the first tile")(
    edited(fwd_tutorial, ("range(0, N_KV, BLOCK_N)", "range(0, min(N_KV, 1024), BLOCK_N)"))
)
forward("Two programs for each head: queries from 128 on have none.", "never written")(
    edited(fwd_tutorial, ("grid = (triton.cdiv(N_Q, 64), Z * H, 1)", "grid = (2, Z * H, 1)"))
)
forward("q is rounded to the inputs' half precision after it was multiplied by alpha.", "precision")(
    edited(
        fwd_tutorial,
        (
            "q = tl.load(q_ptrs, mask=(offs_m[:, None] < N_Q) & (offs_d[None, :] < HEAD_DIM), other=0.0)\n",
            "q = tl.load(q_ptrs, mask=(offs_m[:, None] < N_Q) & (offs_d[None, :] < HEAD_DIM), "
            "other=0.0)\n    q = (q * qk_scale).to(q.dtype)\n    qk_scale = 1.0\n",
        ),
        title="q = (q * qk_scale).to(q.dtype)",
    )
)
for says, name, old, new in (
    (
        "1/√D stands where alpha belongs.",
        "alpha's sign is lost",
        "qk_scale = sm_scale * 1.44269504",
        "qk_scale = 1.44269504 / tl.sqrt(HEAD_DIM.to(tl.float32))",
    ),
    (
        "The scores carry |alpha|.",
        "alpha's sign is lost",
        "qk_scale = sm_scale * 1.44269504",
        "qk_scale = tl.abs(sm_scale) * 1.44269504",
    ),
    ("LSE is m − log l.", "log l is subtracted", "(m_i + tl.math.log2(l_i))", "(m_i - tl.math.log2(l_i))"),
    (
        "One key too many gets through: ≤ for <.",
        "one padded key is not masked",
        "tl.where(offs_n[None, :] < n_left, qk",
        "tl.where(offs_n[None, :] <= n_left, qk",
    ),
):
    forward(says, name)(edited(fwd_tutorial, (old, new)))
