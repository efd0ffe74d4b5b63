# label: wrong
# title: all tiles in a list
# says: The tiles are kept, and joined when the walk is over.
# names: tiles kept

def dq_in_one_walk(q, do, lse, tiles, alpha):
    pairs = list(tiles)
    k = torch.cat([pair[0] for pair in pairs])
    v = torch.cat([pair[1] for pair in pairs])
    p = torch.exp(alpha * q @ k.T - lse[:, None])
    dp = do @ v.T
    return alpha * (p * (dp - (p * dp).sum(dim=1, keepdim=True))) @ k
