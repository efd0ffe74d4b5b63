# label: wrong
# title: a running delta
# says: dS is made with the delta of the tiles so far.
# names: delta so far

def dq_in_one_walk(q, do, lse, tiles, alpha):
    dq = torch.zeros_like(q)
    delta = torch.zeros_like(lse)
    for k, v in tiles:
        p = torch.exp(alpha * q @ k.T - lse[:, None])
        dp = do @ v.T
        delta += (p * dp).sum(dim=1)
        dq += alpha * (p * (dp - delta[:, None])) @ k
    return dq
