# label: wrong
# title: naive softmax that overflows
# says: P is computed as exp(s) / sum(exp(s)): scores beyond 88 in fp32 (710 in fp64) are inf, and inf/inf is
#   NaN in all three gradients. Use torch.softmax or subtract the row's maximum.
# names: maximum not subtracted

def attention_backward(
    q, k, v, do, alpha
):
    e = torch.exp(alpha * torch.einsum("id,jd->ij", q, k))
    p = e / e.sum(dim=1, keepdim=True)
    dv = torch.einsum("ij,id->jd", p, do)
    dp = torch.einsum("id,jd->ij", do, v)
    ds = alpha * p * (dp - (p * dp).sum(dim=1, keepdim=True))
    return torch.einsum("ij,jd->id", ds, k), torch.einsum("ij,id->jd", ds, q), dv
