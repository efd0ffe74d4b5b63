# part: a text that answers change

from torch import Tensor
from flashlearn.kernels.flash_forward import flash_forward_kernel


def refuse_misfits(q: Tensor, k: Tensor, v: Tensor) -> None:
    """Raise TypeError or ValueError, in a sentence, for what no kernel here can compute."""
    named = {"q": q, "k": k, "v": v}
    for name, t in named.items():
        if t.ndim != 4:
            raise ValueError(f"{name} has shape {tuple(t.shape)}, expected four dimensions [B, H, S, D]")
        if t.dtype not in (torch.float32, torch.float16, torch.bfloat16):
            raise TypeError(f"{name} is {t.dtype}, expected float32, float16 or bfloat16")
    for name in ("k", "v"):
        t = named[name]
        if t.dtype != q.dtype:
            raise TypeError(f"{name} is {t.dtype} and q is {q.dtype}: convert one, q, k and v share a dtype")
        if t.device != q.device:
            raise ValueError(f"{name} is on {t.device} and q on {q.device}: move one, they share a device")
        expected = (q.shape[0], q.shape[1], k.shape[2], q.shape[3])
        if tuple(t.shape) != expected:
            raise ValueError(
                f"{name} has shape {tuple(t.shape)}, expected {expected}: only S may differ from q's"
            )


def strided_inputs(q: Tensor, k: Tensor, v: Tensor, alpha: float | None = None) -> tuple[Tensor, Tensor]:
    """O [B, H, S_q, D] and LSE [B, H, S_q] (fp32), both contiguous, from q, k and v of any strides."""
    refuse_misfits(q, k, v)
    B, H, S_q, D = q.shape
    S_k = k.shape[2]
    if alpha is None:
        alpha = 1 / math.sqrt(D)
    # not empty_like(q): that keeps the strides of a dense view, and o is promised to be contiguous
    o = torch.empty((B, H, S_q, D), dtype=q.dtype, device=q.device)
    lse = torch.empty((B, H, S_q), dtype=torch.float32, device=q.device)
    BLOCK = 64 if q.is_cuda and q.element_size() == 2 else 32
    flash_forward_kernel[(triton.cdiv(S_q, BLOCK), H, B)](
        q, k, v, o, lse, alpha, H, S_q, S_k, D, *q.stride(), *k.stride(), *v.stride(), *o.stride(),
        BLOCK_Q=BLOCK, BLOCK_K=BLOCK, BLOCK_D=max(16, triton.next_power_of_2(D)),
    )
    return o, lse
