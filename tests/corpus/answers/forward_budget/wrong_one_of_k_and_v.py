# label: wrong
# title: one of k and v
# says: `stages * block_k` counts one tile per stage; K and V both are kept under way.
# names: V is not counted

def forward_budget(block_q, block_k, D, size, stages, warps):
    threads = 32 * warps
    shared = (block_q * D + stages * block_k * D) * size
    return shared, sp.Rational(block_q * block_k + block_q * D, threads)
