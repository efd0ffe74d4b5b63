# label: wrong
# title: o allocated with empty_like(q)
# says: `o = torch.empty_like(q)` keeps the strides of a dense view: for a q that a projection left as [B, S,
#   H, D] in memory, o is not contiguous, as the text promises. Allocate from the shape.
# names: review; o's layout

from flashlearn.kernels.flash_forward import flash_forward_kernel

def refuse_misfits(q, k, v):
    allowed = {torch.float32, torch.float16, torch.bfloat16}
    for name, tensor in zip("qkv", (q, k, v)):
        if tensor.dim() != 4:
            raise ValueError(f"{name}: expected [B, H, S, D], got {list(tensor.shape)}")
        if tensor.dtype not in allowed:
            raise TypeError(f"{name}: dtype {tensor.dtype} is not supported: float32, float16, bfloat16")
    if k.dtype != q.dtype:
        raise TypeError(f"k: dtype {k.dtype} differs from q's {q.dtype}")
    if v.dtype != q.dtype:
        raise TypeError(f"v: dtype {v.dtype} differs from q's {q.dtype}")
    if k.device != q.device:
        raise ValueError(f"k: on {k.device}, but q is on {q.device}")
    if v.device != q.device:
        raise ValueError(f"v: on {v.device}, but q is on {q.device}")
    B, H, _, D = q.shape
    if (k.shape[0], k.shape[1], k.shape[3]) != (B, H, D):
        raise ValueError(f"k: shape {list(k.shape)} does not fit q's {list(q.shape)} (only S may differ)")
    if v.shape != k.shape:
        raise ValueError(f"v: shape {list(v.shape)} differs from k's {list(k.shape)}")

def strided_inputs(q, k, v, alpha = None):
    refuse_misfits(q, k, v)
    B, H, S_q, D = q.shape
    S_k = k.shape[2]
    scale = D ** -0.5 if alpha is None else alpha
    o = torch.empty_like(q)
    lse = torch.empty(B, H, S_q, device=q.device, dtype=torch.float32)
    grid = (triton.cdiv(S_q, 32), B * H)
    flash_forward_kernel[grid](
        q, k, v, o, lse, scale, H, S_q, S_k, D,
        *q.stride(), *k.stride(), *v.stride(), *o.stride(),
        BLOCK_Q=32, BLOCK_K=32, BLOCK_D=max(16, triton.next_power_of_2(D)),
    )
    return o, lse
