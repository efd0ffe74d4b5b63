# label: wrong
# title: same shape demanded
# says: refuse_misfits demands `t.shape == q.shape`: it refuses S_k ≠ S_q, which the kernel can compute.
# names: crashed

from torch import Tensor
from flashlearn.kernels.attention import refuse_misfits
from flashlearn.kernels.flash_forward import flash_forward_kernel


def refuse_misfits(q: Tensor, k: Tensor, v: Tensor) -> None:
    for name, t in (("q", q), ("k", k), ("v", v)):
        if t.dim() != 4:
            raise ValueError(f"{name} needs four dimensions [B, H, S, D], not {t.dim()}")
        if t.dtype not in {torch.float16, torch.bfloat16, torch.float32}:
            raise TypeError(f"{name} has dtype {t.dtype}, which the kernels do not take")
        if t.dtype != q.dtype:
            raise TypeError(f"{name} has dtype {t.dtype} but q has {q.dtype}")
        if t.device != q.device:
            raise ValueError(f"{name} lies on {t.device} but q on {q.device}")
        if t.shape != q.shape:
            raise ValueError(f"{name} has shape {tuple(t.shape)} but q has {tuple(q.shape)}")


def strided_inputs(q: Tensor, k: Tensor, v: Tensor, alpha: float | None = None) -> tuple[Tensor, Tensor]:
    refuse_misfits(q, k, v)
    B, H, S_q, D = q.shape
    if alpha is None:
        alpha = D**-0.5
    o = q.new_empty((B, H, S_q, D))
    lse = torch.empty((B, H, S_q), dtype=torch.float32, device=q.device)
    grid = (triton.cdiv(S_q, 32), H, B)
    flash_forward_kernel[grid](
        q, k, v, o, lse, alpha, H, S_q, k.shape[2], D,
        *q.stride(), *k.stride(), *v.stride(), *o.stride(),
        BLOCK_Q=32, BLOCK_K=32, BLOCK_D=max(16, triton.next_power_of_2(D)),
    )
    return o, lse
