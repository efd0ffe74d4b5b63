# label: wrong
# title: q tile once per stage
# says: `size * D * stages * (block_q + 2 * block_k)` keeps Q's tile once per stage though it is loaded once
# names: Q in every stage

def forward_budget(block_q, block_k, D, size, stages, warps):
    q_tile = block_q * D
    kv_tiles = 2 * block_k * D
    shared = stages * (q_tile + kv_tiles) * size
    scores = block_q * block_k
    out = block_q * D
    return shared, sp.Rational(scores + out, warps * 32)
