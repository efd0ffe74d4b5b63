# label: wrong
# title: q in every stage
# says: `tiles = stages * (block_q + 2 * block_k)` multiplies Q's tile by the stages too: it is loaded once,
#   only K and V are kept under way.
# names: Q in every stage

def forward_budget(block_q, block_k, D, size, stages, warps):
    tiles = stages * (block_q + 2 * block_k)
    threads = 32 * warps
    scores, out = block_q * block_k, block_q * D
    return tiles * D * size, sp.Rational(scores + out, threads)
