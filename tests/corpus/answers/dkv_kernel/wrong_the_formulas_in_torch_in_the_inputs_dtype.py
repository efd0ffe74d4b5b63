# label: wrong
# title: the formulas in torch, in the inputs' dtype
# says: No kernel at all: torch builds the whole S x S matrix P, which is what the exercise is there to avoid.
#   And in fp16 and bf16 scores, P and dS are rounded to half precision at every step, so for scores in the
#   hundreds P is far off.
# names: not_yours; nothing launched; precision

def dkv_kernel(
    q, k, v, o, do, lse, alpha, block = 0
):
    s = alpha * torch.matmul(q, k.transpose(-1, -2))
    p = torch.exp(s - lse.to(s.dtype).unsqueeze(-1))
    dv = torch.matmul(p.transpose(-1, -2), do)
    dp = torch.matmul(do, v.transpose(-1, -2))
    delta = (o * do).sum(dim=-1, keepdim=True)
    ds = p * (dp - delta)
    dk = alpha * torch.matmul(ds.transpose(-1, -2), q)
    return dk, dv
