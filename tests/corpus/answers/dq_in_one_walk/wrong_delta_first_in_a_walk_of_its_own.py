# label: wrong
# title: delta first, in a walk of its own
# says: The tiles are walked over twice.
# names: crashed

def dq_in_one_walk(q, do, lse, tiles, alpha):
    delta = torch.zeros_like(q[:, :1])
    for k, v in tiles:
        p = torch.exp(alpha * q @ k.T - lse[:, None])
        delta += (p * (do @ v.T)).sum(dim=1, keepdim=True)
    dq = torch.zeros_like(q)
    for k, v in tiles:
        p = torch.exp(alpha * q @ k.T - lse[:, None])
        dq += alpha * (p * (do @ v.T - delta)) @ k
    return dq
