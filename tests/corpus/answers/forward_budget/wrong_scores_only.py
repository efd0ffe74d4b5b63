# label: wrong
# title: scores only
# says: second value block_q * block_k / (32 * warps): the sum for O, block_q × D numbers, is left out of the
#   registers
# names: O is not counted

def forward_budget(block_q, block_k, D, size, stages, warps):
    q_tile = block_q * D * size
    kv_tiles = 2 * block_k * D * size
    return q_tile + stages * kv_tiles, sp.Rational(block_q * block_k, 32 * warps)
