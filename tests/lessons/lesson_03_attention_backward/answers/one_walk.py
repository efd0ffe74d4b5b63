"""Lesson 03: answers to `dq_in_one_walk`."""

from __future__ import annotations

from tests.corpus import edited, right, written, wrong

SUMS = """
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
"""

BESIDE_A_ONE = """
def dq_in_one_walk(q, do, lse, tiles, alpha):
    # a column of ones beside the keys: one product gives sums with and without K
    worth, plain = 0, 0
    for k, v in tiles:
        keys = torch.cat([k, torch.ones_like(k[:, :1])], dim=1)
        p = torch.exp2((q @ k.T * alpha - lse[:, None]) * 1.4426950408889634)
        worth = worth + (p * (do @ v.T)) @ keys
        plain = plain + p @ keys
    return alpha * (worth[:, :-1] - worth[:, -1:] * plain[:, :-1])
"""

FROM_ITS_OWN_OUTPUT = """
def dq_in_one_walk(q, do, lse, tiles, alpha):
    # delta by way of O, which is summed in the same walk
    o, worth, plain = torch.zeros_like(do), torch.zeros_like(q), torch.zeros_like(q)
    for k, v in tiles:
        p = torch.exp(alpha * q @ k.T - lse[:, None])
        o += p @ v
        worth += (p * (do @ v.T)) @ k
        plain += p @ k
    return alpha * (worth - (o * do).sum(dim=1, keepdim=True) * plain)
"""

right("dq_in_one_walk", "three sums")(written(SUMS))
right("dq_in_one_walk", "a column of ones beside the keys, powers of two")(written(BESIDE_A_ONE))
right("dq_in_one_walk", "delta from an O of its own")(written(FROM_ITS_OWN_OUTPUT))

wrong("dq_in_one_walk", "delta is left out.", "delta forgotten", title="three sums, one returned")(
    edited(SUMS, ("return alpha * acc - alpha * delta * mean_key", "return alpha * acc"))
)

wrong("dq_in_one_walk", "The second sum is not multiplied by delta.", "delta not multiplied in")(
    edited(SUMS, ("alpha * delta * mean_key", "alpha * mean_key"), title="mean_key without delta")
)

wrong("dq_in_one_walk", "dS is made with the delta of the tiles so far.", "delta so far")(
    written(
        """
def dq_in_one_walk(q, do, lse, tiles, alpha):
    dq = torch.zeros_like(q)
    delta = torch.zeros_like(lse)
    for k, v in tiles:
        p = torch.exp(alpha * q @ k.T - lse[:, None])
        dp = do @ v.T
        delta += (p * dp).sum(dim=1)
        dq += alpha * (p * (dp - delta[:, None])) @ k
    return dq
""",
        title="a running delta",
    )
)

wrong("dq_in_one_walk", "The tiles are kept, and joined when the walk is over.", "tiles kept")(
    written(
        """
def dq_in_one_walk(q, do, lse, tiles, alpha):
    pairs = list(tiles)
    k = torch.cat([pair[0] for pair in pairs])
    v = torch.cat([pair[1] for pair in pairs])
    p = torch.exp(alpha * q @ k.T - lse[:, None])
    dp = do @ v.T
    return alpha * (p * (dp - (p * dp).sum(dim=1, keepdim=True))) @ k
""",
        title="all tiles in a list",
    )
)

wrong("dq_in_one_walk", "The tiles are walked over twice.", "crashed")(
    written(
        """
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
""",
        title="delta first, in a walk of its own",
    )
)
