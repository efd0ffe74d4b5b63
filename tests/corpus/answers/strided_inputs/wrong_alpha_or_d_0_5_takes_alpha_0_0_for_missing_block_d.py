# label: wrong
# title: two mistakes: alpha or ..., and BLOCK_D below 16
# says: `alpha or D ** -0.5` takes an alpha of 0.0 for missing; and `BLOCK_D=triton.next_power_of_2(D)` gives
#   less than 16 for D < 9, which tl.dot refuses.
# names: alpha = 0 taken for none

from flashlearn.kernels.flash_forward import flash_forward_kernel

_DTYPES = (torch.float32, torch.float16, torch.bfloat16)

def refuse_misfits(q, k, v):
    for name, t in {"q": q, "k": k, "v": v}.items():
        if t.ndim != 4:
            raise ValueError(f"{name} must be [B, H, S, D], but its shape is {tuple(t.shape)}")
        if t.dtype not in _DTYPES:
            raise TypeError(f"{name} is {t.dtype}; float32, float16 and bfloat16 are supported")
    for name, t in {"k": k, "v": v}.items():
        if t.dtype is not q.dtype:
            raise TypeError(f"{name} is {t.dtype} but q is {q.dtype}")
        if t.device != q.device:
            raise ValueError(f"{name} lives on {t.device}, q on {q.device}")
        if t.shape[:2] != q.shape[:2] or t.shape[3] != q.shape[3]:
            raise ValueError(f"{name} has shape {tuple(t.shape)}, which does not fit q's {tuple(q.shape)}")
    if k.shape[2] != v.shape[2]:
        raise ValueError(f"v has {v.shape[2]} rows, k has {k.shape[2]}: every key needs its value")

def strided_inputs(q, k, v, alpha = None):
    refuse_misfits(q, k, v)
    (B, H, S_q, D), S_k = q.shape, k.shape[2]
    o = torch.empty(B, H, S_q, D, dtype=q.dtype, device=q.device)
    lse = torch.empty(B, H, S_q, dtype=torch.float32, device=q.device)
    BLOCK = 32
    flash_forward_kernel[(triton.cdiv(S_q, BLOCK), B * H)](
        q, k, v, o, lse, alpha or D ** -0.5, H, S_q, S_k, D,
        *q.stride(), *k.stride(), *v.stride(), *o.stride(),
        BLOCK_Q=BLOCK, BLOCK_K=BLOCK, BLOCK_D=triton.next_power_of_2(D),
    )
    return o, lse
