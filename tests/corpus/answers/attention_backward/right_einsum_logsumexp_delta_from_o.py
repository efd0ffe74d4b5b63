# label: right
# title: einsum, logsumexp, delta from O

def attention_backward(q, k, v, do, alpha):
    scores = torch.einsum("id,jd->ij", q, k).mul(alpha)
    lse = torch.logsumexp(scores, dim=-1)
    p = torch.exp(scores - lse[:, None])
    o = p @ v
    delta = torch.sum(do * o, dim=-1)
    d_scores = p * (do @ v.transpose(0, 1) - delta[:, None])
    dq = torch.einsum("ij,jd->id", d_scores, k) * alpha
    dk = torch.einsum("ij,id->jd", d_scores, q) * alpha
    dv = torch.einsum("ij,id->jd", p, do)
    return dq, dk, dv
