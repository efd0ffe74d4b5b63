# label: wrong
# title: lse keeps the eight
# says: `lse = (m_i + tl.log2(l_i)) * ln 2` forgets that l_i is 256 times the sum: LSE is too large by 8 ln 2
# names: 256 left in LSE

from torch import Tensor
from flashlearn.kernels.described import block_d, complying, described, heads_together
from flashlearn.kernels.fp8_forward import SCALED_ROWS, as_stored, fp8_shape, keys_last
from flashlearn.kernels.shapes import Shape
from flashlearn.kernels.tuned_forward import LOG2_E


@triton.jit
def scan_keys_fp8(
    q, k_desc, t_desc, k_scale_ptr, v_scale_ptr, m_i, l_i, acc, unit, scale, b, h, first, end, last_seen,
    S_k, MASKED: tl.constexpr, CAUSAL: tl.constexpr, NEGATIVE: tl.constexpr,
    BLOCK_K: tl.constexpr, BLOCK_D: tl.constexpr, ROWS: tl.constexpr,
):
    # scale is alpha · log₂e · q's scale; m_i is in base 2, l_i is 256 times the sum, and O so far is
    # acc · unit / l_i · 256. ROWS keys share a scale of K and one of V
    for start in tl.range(first, end, BLOCK_K):
        k = k_desc.load([b, h, start, 0]).reshape(BLOCK_K, BLOCK_D)
        s = tl.dot(q, k.T)
        c = scale * tl.load(k_scale_ptr + start // ROWS)
        v_scale = tl.load(v_scale_ptr + start // ROWS)
        if MASKED:
            columns = start + tl.arange(0, BLOCK_K)
            seen = (columns < S_k)[None, :]
            if CAUSAL:
                seen = seen & (columns[None, :] <= last_seen[:, None])
            s = tl.where(seen, s * c, -float("inf"))
            m_new = tl.maximum(m_i, tl.max(s, axis=1))
            shift = tl.where(m_new == -float("inf"), 0.0, m_new)  # nothing seen yet
            p = tl.exp2(s - (shift[:, None] - 8.0))  # 256 times P: small probabilities stay normal numbers
        else:
            best = tl.min(s, axis=1) if NEGATIVE else tl.max(s, axis=1)
            m_new = tl.maximum(m_i, best * c)
            shift = m_new
            p = tl.exp2(s * c - (shift[:, None] - 8.0))
        rescale = tl.exp2(m_i - shift)
        l_i = l_i * rescale + tl.sum(p, axis=1)  # before P is rounded
        t = t_desc.load([b, h, 0, start]).reshape(BLOCK_D, BLOCK_K)
        new = tl.dot(as_stored(p.to(t.dtype)), t.T)  # not into acc: too few bits would be kept
        acc = acc * (rescale * (unit / v_scale))[:, None] + new  # from the last block's unit into this one's
        unit = v_scale
        m_i = m_new
    return m_i, l_i, acc, unit


@triton.jit(do_not_specialize=["GROUP", "TILES"])
def fp8_forward_kernel(
    q_desc, k_desc, t_desc, o_ptr, lse_ptr, q_scale_ptr, k_scale_ptr, v_scale_ptr, alpha2, H, S_q, S_k, D,
    GROUP, TILES, CAUSAL: tl.constexpr, NEGATIVE: tl.constexpr, RAGGED: tl.constexpr,
    BLOCK_Q: tl.constexpr, BLOCK_K: tl.constexpr, BLOCK_D: tl.constexpr, ROWS: tl.constexpr,
):
    # program ids as in `tuned_forward_kernel`: the same block of GROUP heads in a row, heaviest first
    pid = tl.program_id(0)
    in_group = pid % (GROUP * TILES)
    bh = pid // (GROUP * TILES) * GROUP + in_group % GROUP
    block = in_group // GROUP
    if CAUSAL:
        block = TILES - 1 - block
    b, h = bh // H, bh % H
    first_row = block * BLOCK_Q
    rows = first_row + tl.arange(0, BLOCK_Q)
    q = q_desc.load([b, h, first_row, 0]).reshape(BLOCK_Q, BLOCK_D)
    scale = alpha2 * tl.load(q_scale_ptr + bh * tl.cdiv(S_q, ROWS) + first_row // ROWS)
    k_scale_ptr += bh * tl.cdiv(S_k, ROWS)
    v_scale_ptr += bh * tl.cdiv(S_k, ROWS)
    m_i = tl.full((BLOCK_Q,), -float("inf"), tl.float32)
    l_i = tl.zeros((BLOCK_Q,), tl.float32)
    acc = tl.zeros((BLOCK_Q, BLOCK_D), tl.float32)
    unit = 1.0
    last_seen = rows + S_k - S_q
    unmasked, end = S_k, S_k
    if CAUSAL:
        end = tl.minimum(S_k, first_row + BLOCK_Q + S_k - S_q)
        unmasked = tl.minimum(S_k, tl.maximum(first_row + S_k - S_q + 1, 0))
    if CAUSAL or RAGGED:
        unmasked = unmasked // BLOCK_K * BLOCK_K
    m_i, l_i, acc, unit = scan_keys_fp8(
        q, k_desc, t_desc, k_scale_ptr, v_scale_ptr, m_i, l_i, acc, unit, scale, b, h, 0, unmasked,
        last_seen, S_k, False, CAUSAL, NEGATIVE, BLOCK_K, BLOCK_D, ROWS,
    )
    if CAUSAL or RAGGED:
        m_i, l_i, acc, unit = scan_keys_fp8(
            q, k_desc, t_desc, k_scale_ptr, v_scale_ptr, m_i, l_i, acc, unit, scale, b, h, unmasked, end,
            last_seen, S_k, True, CAUSAL, NEGATIVE, BLOCK_K, BLOCK_D, ROWS,
        )
    l_i = tl.where(l_i == 0.0, 1.0, l_i)  # a query that saw nothing: 0 / 1
    o = acc * (unit / l_i)[:, None]  # acc and l_i both hold 256 times P
    lse = (m_i + tl.log2(l_i)) * 0.6931471805599453
    d = tl.arange(0, BLOCK_D)
    in_rows = rows < S_q
    o_at = o_ptr + (bh.to(tl.int64) * S_q + rows)[:, None] * D + d[None, :]
    tl.store(o_at, o.to(o_ptr.dtype.element_ty), mask=in_rows[:, None] & (d < D)[None, :])
    tl.store(lse_ptr + bh.to(tl.int64) * S_q + rows, lse, mask=in_rows)


def fp8_forward(
    q: Tensor, k: Tensor, v: Tensor, q_scale: Tensor, k_scale: Tensor, v_scale: Tensor, causal: bool,
    alpha: float, shape: Shape | None = None,
) -> tuple[Tensor, Tensor]:
    """O [B, H, S_q, D] in bf16 and LSE [B, H, S_q] in fp32 of attention over e4m3 tensors with scales.

    q [B, H, S_q, D], k and v [B, H, S_k, D] in e4m3, any strides; scales [B, H, ⌈S/128⌉] in fp32, contiguous,
    positive: row i of q stands for q · q_scale[.., i // 128]. A tile's sides must divide 128.
    Raises TypeError for another dtype, ValueError for tiles that would need two scales.
    """
    if not (q.dtype == k.dtype == v.dtype == torch.float8_e4m3fn):
        raise TypeError(f"q, k, v are {q.dtype}, {k.dtype}, {v.dtype}: expected float8_e4m3fn for each")
    B, H, S_q, D = q.shape
    S_k = k.shape[2]
    cut = shape or fp8_shape(D)
    if SCALED_ROWS % cut.block_q or SCALED_ROWS % cut.block_k:
        raise ValueError(f"tiles of {cut.block_q} × {cut.block_k} need several scales: take divisors of 128")
    q, k, t = complying(q), complying(k), keys_last(v)
    o = torch.empty((B, H, S_q, D), dtype=torch.bfloat16, device=q.device)
    lse = torch.empty((B, H, S_q), dtype=torch.float32, device=q.device)
    tiles = triton.cdiv(S_q, cut.block_q)
    group = heads_together(B * H, tiles, 2 * S_k * D, causal)
    wide = max(32, block_d(D))  # an eight-bit product sums over 32 at least
    q_desc, k_desc = described(q, cut.block_q, wide), described(k, cut.block_k, wide)
    t_desc = described(t, wide, cut.block_k)
    fp8_forward_kernel[(tiles * B * H,)](
        q_desc, k_desc, t_desc, o, lse, q_scale, k_scale, v_scale,
        alpha * LOG2_E, H, S_q, S_k, D, group, tiles,
        CAUSAL=causal, NEGATIVE=alpha < 0, RAGGED=S_k % cut.block_k != 0,
        BLOCK_Q=cut.block_q, BLOCK_K=cut.block_k, BLOCK_D=wide, ROWS=SCALED_ROWS, **cut.options,
    )
    return o, lse
