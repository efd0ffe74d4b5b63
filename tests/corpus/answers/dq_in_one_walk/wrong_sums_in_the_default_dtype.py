# label: wrong
# title: sums in the default dtype
# says: The three sums are made without a dtype, so they are fp32 whatever q is, and so is the result.
# names: shape

def dq_in_one_walk(q, do, lse, tiles, alpha):
    rows, D = q.shape
    pk = torch.zeros(rows, D, device=q.device)
    pdpk = torch.zeros(rows, D, device=q.device)
    delta = torch.zeros(rows, 1, device=q.device)
    for k, v in tiles:
        p = torch.exp(alpha * q @ k.T - lse[:, None])
        w = p * (do @ v.T)
        delta += w.sum(1, keepdim=True)
        pdpk += w @ k
        pk += p @ k
    return alpha * (pdpk - delta * pk)
