# label: wrong
# title: one stride for k and v
# says: the launch passes `kv_strides` (k's strides) for v as well: right only while v lies in memory as k
#   does.
# names: v read with k's strides

from torch import Tensor
from flashlearn.kernels.flash_forward import flash_forward_kernel


def refuse_misfits(q: Tensor, k: Tensor, v: Tensor) -> None:
    """Raise TypeError or ValueError, in a sentence, for what no kernel here can compute."""
    for name, t in zip("qkv", (q, k, v)):
        if t.dim() != 4:
            raise ValueError(f"{name} has {t.dim()} dimensions and shape {tuple(t.shape)}: expected [B, H, S, D]")
        if t.dtype not in {torch.float32, torch.float16, torch.bfloat16}:
            raise TypeError(f"{name} has dtype {t.dtype}: float32, float16 and bfloat16 can be computed")
        if t.dtype != q.dtype:
            raise TypeError(f"{name} has dtype {t.dtype} but q has {q.dtype}: convert one of them")
        if t.device != q.device:
            raise ValueError(f"{name} lives on {t.device} but q on {q.device}: move one of them")
    B, H, _, D = q.shape
    for name, t in (("k", k), ("v", v)):
        if t.shape != (B, H, k.shape[2], D):
            raise ValueError(f"{name} has shape {tuple(t.shape)}: expected {(B, H, k.shape[2], D)}")


def strided_inputs(q: Tensor, k: Tensor, v: Tensor, alpha: float | None = None) -> tuple[Tensor, Tensor]:
    refuse_misfits(q, k, v)
    B, H, S_q, D = q.shape
    S_k = k.shape[2]
    alpha = D**-0.5 if alpha is None else alpha
    o = torch.empty(B, H, S_q, D, dtype=q.dtype, device=q.device)
    lse = torch.empty(B, H, S_q, dtype=torch.float32, device=q.device)
    kv_strides = k.stride()  # k and v have one shape
    flash_forward_kernel[(triton.cdiv(S_q, 32), H, B)](
        q, k, v, o, lse, alpha, H, S_q, S_k, D,
        *q.stride(), *kv_strides, *kv_strides, *o.stride(),
        BLOCK_Q=32, BLOCK_K=32, BLOCK_D=max(16, triton.next_power_of_2(D)),
    )
    return o, lse
