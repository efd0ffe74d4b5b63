# part: a text that answers include

def tuned_forward(
    q: Tensor, k: Tensor, v: Tensor, causal: bool = False, alpha: float | None = None,
    shape: Shape | None = None,
) -> tuple[Tensor, Tensor]:
    """O [B, H, S_q, D] in q's dtype and LSE [B, H, S_q] in fp32; K and V are [B, H_k, S_k, D], H_k divides H.

    Any strides; `alpha` is 1/√D unless given, `shape` is `forward_shape(q, causal)`. Raises TypeError or
    ValueError for what does not go together.
    """
    refuse_misfits(q, k, v)
    q, k, v = complying(q), complying(k), complying(v)
    B, H, S_q, D = q.shape
    H_k, S_k = k.shape[1:3]
    alpha = 1 / math.sqrt(D) if alpha is None else alpha
    cut = shape or forward_shape(q, causal)
    o = like(q, q.shape)
    lse = torch.empty((B, H, S_q), dtype=torch.float32, device=q.device)
    tiles = triton.cdiv(S_q, cut.block_q)
    group = heads_together(B * H, tiles, 2 * S_k * D * k.element_size() * H_k // H, causal)
    edge = min(EDGE, cut.block_k)
    tuned_forward_kernel[(tiles * B * H,)](
        described(q, cut.block_q), described(k, cut.block_k), described(v, cut.block_k),
        described(k, edge), described(v, edge), described(o, cut.block_q), lse, alpha * LOG2_E,
        H, H_k, S_q, S_k, group, tiles,
        CAUSAL=causal, NEGATIVE=alpha < 0, RAGGED=S_k % cut.block_k != 0,
        BLOCK_Q=cut.block_q, BLOCK_K=cut.block_k, BLOCK_EDGE=edge, BLOCK_D=block_d(D), **cut.options,
    )
    return o, lse
