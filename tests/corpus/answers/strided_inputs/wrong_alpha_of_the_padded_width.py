# label: wrong
# title: alpha of the padded width
# says: alpha = BLOCK_D ** -0.5 takes the default scale from the padded width; it must be 1/sqrt(D), which
#   differs whenever D is no power of two or below 16.
# names: alpha from the padded D

from torch import Tensor
from flashlearn.kernels.attention import refuse_misfits
from flashlearn.kernels.flash_forward import flash_forward_kernel


def refuse_misfits(q: Tensor, k: Tensor, v: Tensor) -> None:
    """Raise TypeError or ValueError, in a sentence, for what no kernel here can compute."""
    allowed = {torch.float32, torch.float16, torch.bfloat16}
    for name, x in zip("qkv", (q, k, v)):
        if x.dim() != 4:
            raise ValueError(f"{name} has {x.dim()} dimensions, expected 4: [B, H, S, D]")
        if x.dtype not in allowed:
            raise TypeError(f"{name} has dtype {x.dtype}, expected float32, float16 or bfloat16")
        if x.dtype != q.dtype:
            raise TypeError(f"{name} has dtype {x.dtype}, but q has {q.dtype}; convert one of them")
        if x.device != q.device:
            raise ValueError(f"{name} is on {x.device}, but q is on {q.device}; move one of them")
    B, H, _, D = q.shape
    S_k = k.size(2)
    for name, x in (("k", k), ("v", v)):
        if x.shape != (B, H, S_k, D):
            raise ValueError(f"{name} has shape {tuple(x.shape)}, expected {(B, H, S_k, D)}")


def strided_inputs(q: Tensor, k: Tensor, v: Tensor, alpha: float | None = None) -> tuple[Tensor, Tensor]:
    """O [B, H, S_q, D] and LSE [B, H, S_q] (fp32), both contiguous, from q, k and v of any strides."""
    refuse_misfits(q, k, v)
    B, H, S_q, D = q.shape
    BLOCK_Q, BLOCK_K = 32, 32
    BLOCK_D = max(16, triton.next_power_of_2(D))
    if alpha is None:
        alpha = BLOCK_D ** -0.5
    o = q.new_empty((B, H, S_q, D))
    lse = torch.empty(B, H, S_q, dtype=torch.float32, device=q.device)
    grid = (triton.cdiv(S_q, BLOCK_Q), H, B)
    flash_forward_kernel[grid](
        q, k, v, o, lse, alpha, H, S_q, k.shape[2], D,
        *q.stride(), *k.stride(), *v.stride(), *o.stride(),
        BLOCK_Q=BLOCK_Q, BLOCK_K=BLOCK_K, BLOCK_D=BLOCK_D,
    )
    return o, lse
