"""Answers to flash_forward, written without a look at the mistakes that lesson 06 declares."""

from __future__ import annotations

from tests.corpus import edited, right, written, wrong
from tests.lessons.lesson_06_flash_forward.answers.unseen_kernels import TUTORIAL_BLOCKS

FIRST_FLASH = """
@triton.jit
def fa1(
    Q, K, V, O, LSE, softmax_scale, seqlen_q, seqlen_k, headdim,
    sQb, sQh, sQs, sQd, sKb, sKh, sKs, sKd, sVb, sVh, sVs, sVd, sOb, sOh, sOs, sOd,
    Br: tl.constexpr, Bc: tl.constexpr, d_pad: tl.constexpr,
):
    bx = tl.program_id(0).to(tl.int64)  # batch
    by = tl.program_id(1).to(tl.int64)  # head
    i = tl.program_id(2)  # which block of rows
    Q += bx * sQb + by * sQh
    K += bx * sKb + by * sKh
    V += bx * sVb + by * sVh
    O += bx * sOb + by * sOh
    LSE += (bx * tl.num_programs(1) + by) * seqlen_q

    tx = i * Br + tl.arange(0, Br)
    ty = tl.arange(0, Bc)
    td = tl.arange(0, d_pad)
    Qi = tl.load(
        Q + tx[:, None] * sQs + td[None, :] * sQd,
        mask=(tx[:, None] < seqlen_q) & (td[None, :] < headdim), other=0.0,
    )
    KjT_ptrs = K + td[:, None] * sKd + ty[None, :] * sKs
    Vj_ptrs = V + ty[:, None] * sVs + td[None, :] * sVd
    mi = tl.full([Br], float("-inf"), dtype=tl.float32)
    li = tl.full([Br], 0.0, dtype=tl.float32)
    Oi = tl.zeros([Br, d_pad], dtype=tl.float32)
    Tc = (seqlen_k + Bc - 1) // Bc
    for j in range(Tc):
        valid = j * Bc + ty < seqlen_k
        KjT = tl.load(KjT_ptrs, mask=(td[:, None] < headdim) & valid[None, :], other=0.0)
        Vj = tl.load(Vj_ptrs, mask=valid[:, None] & (td[None, :] < headdim), other=0.0)
        Sij = softmax_scale * tl.dot(Qi, KjT, input_precision="ieee")
        Sij = tl.where(valid[None, :], Sij, float("-inf"))
        mij = tl.max(Sij, 1)
        Pij = tl.exp(Sij - mij[:, None])
        lij = tl.sum(Pij, 1)
        mi_new = tl.maximum(mi, mij)
        a = tl.exp(mi - mi_new)
        b = tl.exp(mij - mi_new)
        li_new = a * li + b * lij
        PV = tl.dot(Pij.to(Vj.dtype), Vj, input_precision="ieee")
        Oi = ((li * a)[:, None] * Oi + b[:, None] * PV) / li_new[:, None]
        mi = mi_new
        li = li_new
        KjT_ptrs += Bc * sKs
        Vj_ptrs += Bc * sVs
    tl.store(
        O + tx[:, None] * sOs + td[None, :] * sOd, Oi.to(O.dtype.element_ty),
        mask=(tx[:, None] < seqlen_q) & (td[None, :] < headdim),
    )
    tl.store(LSE + tx, mi + tl.log(li), mask=tx < seqlen_q)


def flash_forward(q, k, v, alpha):
    nb, nh, N, d = q.shape
    Br, Bc = 16, 32
    O = torch.empty(nb, nh, N, d, dtype=q.dtype, device=q.device)
    LSE = torch.empty(nb, nh, N, dtype=torch.float32, device=q.device)
    grid = (nb, nh, triton.cdiv(N, Br))
    fa1[grid](
        q, k, v, O, LSE, alpha, N, k.size(2), d,
        *q.stride(), *k.stride(), *v.stride(), *O.stride(),
        Br=Br, Bc=Bc, d_pad=max(16, triton.next_power_of_2(d)),
    )
    return O, LSE
"""

FLATTENED = """
@triton.jit
def attention_forward_kernel(
    query, key, value, output, logsumexp, scale, num_queries, num_keys, head_dim, num_blocks,
    BLOCK_Q: tl.constexpr, BLOCK_K: tl.constexpr, BLOCK_D: tl.constexpr,
):
    # One program handles one block of queries of one (batch, head) pair
    pid = tl.program_id(0)
    head = (pid // num_blocks).to(tl.int64)
    block = pid % num_blocks

    q_idx = block * BLOCK_Q + tl.arange(0, BLOCK_Q)
    d_idx = tl.arange(0, BLOCK_D)
    q_mask = (q_idx < num_queries)[:, None] & (d_idx < head_dim)[None, :]
    q_offsets = head * num_queries * head_dim + q_idx[:, None] * head_dim + d_idx[None, :]
    q_block = tl.load(query + q_offsets, mask=q_mask, other=0.0).to(tl.float32) * scale

    running_max = tl.full((BLOCK_Q,), -float("inf"), dtype=tl.float32)
    running_sum = tl.zeros((BLOCK_Q,), dtype=tl.float32)
    accumulator = tl.zeros((BLOCK_Q, BLOCK_D), dtype=tl.float32)

    for k_start in tl.range(0, num_keys, BLOCK_K):
        k_idx = k_start + tl.arange(0, BLOCK_K)
        k_valid = k_idx < num_keys
        kv_mask = k_valid[:, None] & (d_idx < head_dim)[None, :]
        kv_offsets = head * num_keys * head_dim + k_idx[:, None] * head_dim + d_idx[None, :]
        k_block = tl.load(key + kv_offsets, mask=kv_mask, other=0.0).to(tl.float32)
        v_block = tl.load(value + kv_offsets, mask=kv_mask, other=0.0).to(tl.float32)

        # Attention scores, with invalid keys at -inf
        scores = tl.dot(q_block, tl.trans(k_block), input_precision="ieee")
        scores += tl.where(k_valid, 0.0, -float("inf"))[None, :]

        # Online softmax update
        new_max = tl.maximum(running_max, tl.max(scores, axis=1))
        correction = tl.exp(running_max - new_max)
        weights = tl.exp(scores - new_max[:, None])
        running_sum = running_sum * correction + tl.sum(weights, axis=1)
        accumulator *= correction[:, None]
        accumulator += tl.dot(weights, v_block, input_precision="ieee")
        running_max = new_max

    # Final normalization
    accumulator = accumulator / running_sum[:, None]
    tl.store(output + q_offsets, accumulator.to(output.dtype.element_ty), mask=q_mask)
    lse = running_max + tl.log(running_sum)
    tl.store(logsumexp + head * num_queries + q_idx, lse, mask=q_idx < num_queries)


def flash_forward(q, k, v, alpha):
    batch, heads, num_queries, head_dim = q.shape
    num_keys = k.shape[2]
    q_flat = q.contiguous().view(batch * heads, num_queries, head_dim)
    k_flat = k.contiguous().view(batch * heads, num_keys, head_dim)
    v_flat = v.contiguous().view(batch * heads, num_keys, head_dim)
    output = torch.empty_like(q_flat)
    lse = torch.empty(batch * heads, num_queries, device=q.device, dtype=torch.float32)
    num_blocks = triton.cdiv(num_queries, 32)
    scale = alpha
    attention_forward_kernel[(num_blocks * batch * heads,)](
        q_flat, k_flat, v_flat, output, lse, scale, num_queries, num_keys, head_dim, num_blocks,
        BLOCK_Q=32, BLOCK_K=16, BLOCK_D=max(16, triton.next_power_of_2(head_dim)),
    )
    return output.view(batch, heads, num_queries, head_dim), lse.view(batch, heads, num_queries)
"""

right(
    "flash_forward",
    "unseen: FlashAttention-1, O kept normalised, K loaded transposed, batch first in the grid",
)(written(FIRST_FLASH))

wrong(
    "flash_forward",
    "V's block pointer is never advanced: every tile of P meets the first tile of V.",
    "V's pointer is not advanced",
)(
    edited(
        TUTORIAL_BLOCKS,
        ("        V_block_ptr = tl.advance(V_block_ptr, (BLOCK_N, 0))\n", ""),
        title="unseen: V's block pointer stays",
        launcher="flash_forward",
    )
)

wrong(
    "flash_forward",
    "m_i is never set to the new maximum: it stays -inf, so each tile wipes out what came before it, "
    "and the LSE is -inf.",
    "m is never updated",
    "only the last tile",
)(
    edited(
        TUTORIAL_BLOCKS,
        ("        m_i = m_ij\n", ""),
        title="unseen: m_i is not carried on",
        launcher="flash_forward",
    )
)

wrong(
    "flash_forward",
    "O is kept divided by l, and must be multiplied by the old l before the new tile is added; it is not.",
    "divided in every step",
)(
    edited(
        FIRST_FLASH,
        ("((li * a)[:, None] * Oi + b[:, None] * PV)", "(a[:, None] * Oi + b[:, None] * PV)"),
        title="unseen: a normalised O without its old l",
    )
)

wrong(
    "flash_forward",
    "Keys beyond S_k get the score 0, not -inf, and are counted in l and in the LSE.",
    "padded keys are not masked",
)(
    edited(
        FIRST_FLASH,
        ('Sij = tl.where(valid[None, :], Sij, float("-inf"))', "Sij = tl.where(valid[None, :], Sij, 0.0)"),
        title="unseen: padded keys have score 0",
    )
)

wrong(
    "flash_forward",
    "Two mistakes: the launcher takes 1/sqrt(D) and ignores alpha, and the LSE is log l without the maximum.",
    "LSE without m",
    "alpha's sign is lost + LSE without m",
)(
    edited(
        FLATTENED,
        ("    scale = alpha\n", "    scale = 1.0 / math.sqrt(head_dim)\n"),
        ("lse = running_max + tl.log(running_sum)", "lse = tl.log(running_sum)"),
        title="unseen: 1/sqrt(D) for alpha, LSE without m",
    )
)

wrong(
    "flash_forward",
    "The launcher scales q in place, and so changes the caller's tensor.",
    "changed input",
)(
    edited(
        FLATTENED,
        ("    scale = alpha\n", "    q_flat.mul_(alpha)\n    scale = 1.0\n"),
        title="unseen: q scaled in place",
    )
)
