# label: right
# title: a column of ones beside the keys, powers of two

def dq_in_one_walk(q, do, lse, tiles, alpha):
    # a column of ones beside the keys: one product gives sums with and without K
    worth, plain = 0, 0
    for k, v in tiles:
        keys = torch.cat([k, torch.ones_like(k[:, :1])], dim=1)
        p = torch.exp2((q @ k.T * alpha - lse[:, None]) * 1.4426950408889634)
        worth = worth + (p * (do @ v.T)) @ keys
        plain = plain + p @ keys
    return alpha * (worth[:, :-1] - worth[:, -1:] * plain[:, :-1])
