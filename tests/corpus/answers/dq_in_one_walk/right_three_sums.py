# label: right
# title: three sums

def dq_in_one_walk(q, do, lse, tiles, alpha):
    acc = torch.zeros_like(q)
    mean_key = torch.zeros_like(q)
    delta = torch.zeros(q.shape[0], 1, dtype=q.dtype)
    for k, v in tiles:
        p = (alpha * (q @ k.mT) - lse.unsqueeze(1)).exp()
        dp = do @ v.mT
        acc = acc + (p * dp) @ k
        mean_key = mean_key + p @ k
        delta = delta + (p * dp).sum(-1, keepdim=True)
    return alpha * acc - alpha * delta * mean_key
