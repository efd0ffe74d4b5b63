# label: right
# title: keys relative to the first one

def dq_in_one_walk(q, do, lse, tiles, alpha):
    base, total = None, q.new_zeros(q.shape[0], 1)
    weighted, plain = torch.zeros_like(q), torch.zeros_like(q)
    for k, v in tiles:
        base = k[0].clone() if base is None else base
        p = torch.exp(torch.addmm(-lse[:, None], q, k.T, alpha=alpha))
        w = p * (do @ v.T)
        total = total + w.sum(1, keepdim=True)
        plain = torch.addmm(plain, p, k - base)
        weighted = torch.addmm(weighted, w, k - base)
    return alpha * (weighted - total * plain)
