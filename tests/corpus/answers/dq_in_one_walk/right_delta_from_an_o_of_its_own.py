# label: right
# title: delta from an O of its own

def dq_in_one_walk(q, do, lse, tiles, alpha):
    # delta by way of O, which is summed in the same walk
    o, worth, plain = torch.zeros_like(do), torch.zeros_like(q), torch.zeros_like(q)
    for k, v in tiles:
        p = torch.exp(alpha * q @ k.T - lse[:, None])
        o += p @ v
        worth += (p * (do @ v.T)) @ k
        plain += p @ k
    return alpha * (worth - (o * do).sum(dim=1, keepdim=True) * plain)
