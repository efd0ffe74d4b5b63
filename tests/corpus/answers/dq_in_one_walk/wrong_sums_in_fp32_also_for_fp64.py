# label: wrong
# title: sums in fp32, also where q is fp64
# says: dQ has to have q's dtype, and the sums must be at least as wide.
# names: shape
# base: right_a_column_of_ones_beside_the_keys_powers_of_two

# --- replace
    # a column of ones beside the keys: one product gives sums with and without K
    worth, plain = 0, 0
# --- with
    weighted, keys, delta = (torch.zeros(len(q), n) for n in (q.shape[1], q.shape[1], 1))

# --- replace
        keys = torch.cat([k, torch.ones_like(k[:, :1])], dim=1)
        p = torch.exp2((q @ k.T * alpha - lse[:, None]) * 1.4426950408889634)
        worth = worth + (p * (do @ v.T)) @ keys
        plain = plain + p @ keys
    return alpha * (worth[:, :-1] - worth[:, -1:] * plain[:, :-1])
# --- with
        p = (alpha * q @ k.T - lse[:, None]).exp()
        worth = p * (do @ v.T)
        weighted += worth @ k
        keys += p @ k
        delta += worth.sum(1, keepdim=True)
    return alpha * (weighted - delta * keys)
