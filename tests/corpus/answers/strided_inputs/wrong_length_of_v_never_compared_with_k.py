# label: wrong
# title: length of V never compared with K
# says: refuse_misfits compares B, H and D of v with q, but never v.shape[2] with k.shape[2]: fewer values
#   than keys are accepted, and the kernel reads beyond the end of v.
# names: review

from flashlearn.kernels.flash_forward import flash_forward_kernel

def refuse_misfits(q, k, v):
    def complain(error, name, found, wanted):
        raise error(f"{name} has {found}, expected {wanted}")
    tensors = [("q", q), ("k", k), ("v", v)]
    for name, t in tensors:
        if len(t.shape) != 4:
            complain(ValueError, name, f"shape {tuple(t.shape)}", "four dimensions [B, H, S, D]")
    for name, t in tensors:
        if t.dtype not in (torch.float16, torch.bfloat16, torch.float32):
            complain(TypeError, name, f"dtype {t.dtype}", "float16, bfloat16 or float32")
        if t.dtype != q.dtype:
            complain(TypeError, name, f"dtype {t.dtype}", f"that of q, {q.dtype}")
        if t.device != q.device:
            complain(ValueError, name, f"device {t.device}", f"that of q, {q.device}")
        for axis, what in ((0, "batch"), (1, "heads"), (3, "head dimension")):
            if t.shape[axis] != q.shape[axis]:
                complain(ValueError, name, f"{what} {t.shape[axis]}", f"{q.shape[axis]} as in q")

def strided_inputs(q, k, v, alpha = None):
    refuse_misfits(q, k, v)
    B, H, S_q, D = q.shape
    S_k = k.size(2)
    if alpha is None:
        alpha = 1.0 / math.sqrt(D)
    o = torch.empty((B, H, S_q, D), dtype=q.dtype, device=q.device)
    lse = torch.empty((B, H, S_q), dtype=torch.float32, device=q.device)
    block_d = 16
    while block_d < D:
        block_d *= 2
    flash_forward_kernel[((S_q + 31) // 32, B * H)](
        q, k, v, o, lse, alpha, H, S_q, S_k, D,
        q.stride(0), q.stride(1), q.stride(2), q.stride(3),
        k.stride(0), k.stride(1), k.stride(2), k.stride(3),
        v.stride(0), v.stride(1), v.stride(2), v.stride(3),
        o.stride(0), o.stride(1), o.stride(2), o.stride(3),
        BLOCK_Q=32, BLOCK_K=32, BLOCK_D=block_d,
    )
    return o, lse
