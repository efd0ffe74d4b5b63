# label: wrong
# title: torch formula
# says: the whole pass is torch: right numbers, but there is no kernel that uses wgmma and keeps to the
#   budget, and a causal mask by tril is aligned top-left
# names: top-left alignment

from torch import Tensor
from flashlearn.machine import device


H100 = device.GPUS["H100"]


def lean_forward(q: Tensor, k: Tensor, v: Tensor, causal: bool, alpha: float) -> tuple[Tensor, Tensor]:
    groups = q.shape[1] // k.shape[1]
    k, v = k.repeat_interleave(groups, 1), v.repeat_interleave(groups, 1)
    s = alpha * (q.float() @ k.float().mT)
    if causal:
        keep = torch.ones(s.shape[-2:], dtype=torch.bool, device=s.device).tril()
        s = s.masked_fill(~keep, -math.inf)
    lse = torch.logsumexp(s, dim=-1)
    p = (s - lse.unsqueeze(-1)).exp()
    return (p.to(q.dtype) @ v), lse
