# label: wrong
# title: fewer heads of K allowed
# says: Anticipating grouped-query attention, the guard accepts K and V with fewer heads, if their number
#   divides H. The kernel knows nothing of that and reads heads that do not exist; such inputs have to be
#   refused.
# names: review

from torch import Tensor
from flashlearn.kernels.flash_forward import flash_forward_kernel

def refuse_misfits(q: Tensor, k: Tensor, v: Tensor) -> None:
    problems = []
    allowed = (torch.float32, torch.float16, torch.bfloat16)
    for name, t in {"q": q, "k": k, "v": v}.items():
        if t.dim() != 4:
            raise ValueError(f"{name} is {tuple(t.shape)}; it should have four dimensions, B, H, S, D")
        if t.dtype not in allowed:
            raise TypeError(f"{name} is {t.dtype}; it should be one of {allowed}")
    for name, t in {"k": k, "v": v}.items():
        if t.dtype != q.dtype:
            raise TypeError(f"{name} is {t.dtype} but q is {q.dtype}; convert one of them")
        if t.device != q.device:
            raise ValueError(f"{name} is on {t.device} but q is on {q.device}; move one of them")
        if t.shape[0] != q.shape[0]:
            problems.append(f"{name} has batch {t.shape[0]}, q has {q.shape[0]}")
        if q.shape[1] % t.shape[1] != 0:  # heads of k may be shared
            problems.append(f"{name} has {t.shape[1]} heads, which do not divide q's {q.shape[1]}")
        if t.shape[3] != q.shape[3]:
            problems.append(f"{name} has D = {t.shape[3]}, q has D = {q.shape[3]}")
    if k.shape[2] != v.shape[2]:
        problems.append(f"k has {k.shape[2]} keys, v has {v.shape[2]} values")
    if problems:
        raise ValueError("; ".join(problems))


def strided_inputs(q: Tensor, k: Tensor, v: Tensor, alpha: float | None = None) -> tuple[Tensor, Tensor]:
    refuse_misfits(q, k, v)
    if alpha is None:
        alpha = 1.0 / math.sqrt(q.shape[3])
    B, H, S_q, D = q.shape
    o = torch.empty(B, H, S_q, D, dtype=q.dtype, device=q.device)
    lse = torch.empty(B, H, S_q, dtype=torch.float32, device=q.device)
    strides = [s for t in (q, k, v, o) for s in t.stride()]
    flash_forward_kernel[(triton.cdiv(S_q, 32), B * H)](
        q, k, v, o, lse, alpha, H, S_q, k.shape[2], D, *strides,
        BLOCK_Q=32, BLOCK_K=32, BLOCK_D=max(triton.next_power_of_2(D), 16),
    )
    return o, lse
