# label: wrong
# title: two misfits let in
# says: two in refuse_misfits: is_floating_point() lets float64 through (only float32, float16 and bfloat16
#   are allowed), and the lengths of k and v are never compared, so fewer values than keys are read beyond the
#   end.
# names: review

from torch import Tensor
from flashlearn.kernels.attention import refuse_misfits
from flashlearn.kernels.flash_forward import flash_forward_kernel


def refuse_misfits(q: Tensor, k: Tensor, v: Tensor) -> None:
    """Raise TypeError or ValueError, in a sentence, for what no kernel here can compute."""
    for name, t in (("q", q), ("k", k), ("v", v)):
        if t.ndim != 4:
            raise ValueError(f"{name} should be [B, H, S, D], but its shape is {tuple(t.shape)}")
        if not t.is_floating_point():
            raise TypeError(f"{name} should be a floating point tensor, but is {t.dtype}")
    for name, t in (("k", k), ("v", v)):
        if t.dtype != q.dtype:
            raise TypeError(f"{name} is {t.dtype}, but q is {q.dtype}: they should be equal")
        if t.device != q.device:
            raise ValueError(f"{name} lives on {t.device}, but q on {q.device}: move it with .to()")
        if t.shape[:2] != q.shape[:2]:
            raise ValueError(f"{name} has B, H = {tuple(t.shape[:2])}, but q has {tuple(q.shape[:2])}")
        if t.shape[-1] != q.shape[-1]:
            raise ValueError(f"{name} has D = {t.shape[-1]}, but q has D = {q.shape[-1]}")
        # S may be anything: queries and keys need not be equally many


def strided_inputs(q: Tensor, k: Tensor, v: Tensor, alpha: float | None = None) -> tuple[Tensor, Tensor]:
    """O [B, H, S_q, D] and LSE [B, H, S_q] (fp32), both contiguous, from q, k and v of any strides."""
    refuse_misfits(q, k, v)
    B, H, S_q, D = q.shape
    S_k = k.shape[2]
    scale = 1.0 / math.sqrt(D) if alpha is None else alpha
    o = torch.empty(q.shape, dtype=q.dtype, device=q.device)
    lse = torch.empty(q.shape[:3], dtype=torch.float32, device=q.device)
    flash_forward_kernel[(triton.cdiv(S_q, 16), H, B)](
        q, k, v, o, lse, scale, H, S_q, S_k, D,
        *q.stride(), *k.stride(), *v.stride(), *o.stride(),
        BLOCK_Q=16, BLOCK_K=32, BLOCK_D=max(16, triton.next_power_of_2(D)),
    )
    return o, lse
