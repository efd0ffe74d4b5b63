# label: wrong
# title: empty_like(q), and strides by hand
# says: empty_like gives o the layout of q, and the kernel is told contiguous strides: where q is laid out
#   otherwise, o's elements end up in each other's places.
# names: o's layout

from flashlearn.kernels.flash_forward import flash_forward_kernel


def check_args(q, k, v):
    args = dict(q=q, k=k, v=v)
    for name, t in args.items():
        if t.ndim != 4:
            raise ValueError(f"{name} should be [B, H, S, D], but its shape is {tuple(t.shape)}")
        if t.dtype not in {torch.float32, torch.float16, torch.bfloat16}:
            raise TypeError(f"{name} is {t.dtype}; float32, float16 and bfloat16 are supported")
        if t.dtype != q.dtype:
            raise TypeError(f"{name} is {t.dtype}, but q is {q.dtype}")
        if t.device != q.device:
            raise ValueError(f"{name} is on {t.device}, but q is on {q.device}")
    B, H, _, D = q.shape
    wanted = (B, H, k.shape[2], D)
    for name in ("k", "v"):
        if tuple(args[name].shape) != wanted:
            raise ValueError(f"{name} has shape {tuple(args[name].shape)}, wanted {wanted} to go with q")


def launcher(q, k, v, alpha=None):
    check_args(q, k, v)
    B, H, N, D = q.shape
    scale = D**-0.5 if alpha is None else alpha
    out = torch.empty_like(q)
    lse = torch.empty((B, H, N), dtype=torch.float32, device=q.device)
    grid = (triton.cdiv(N, 32), B * H)
    flash_forward_kernel[grid](
        q, k, v, out, lse, scale, H, N, k.size(2), D,
        *q.stride(), *k.stride(), *v.stride(), H * N * D, N * D, D, 1,
        BLOCK_Q=32, BLOCK_K=32, BLOCK_D=max(16, triton.next_power_of_2(D)),
    )
    return out, lse
