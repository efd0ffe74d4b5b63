# label: wrong
# title: what the block's first query does not see
# says: the last query of the block sees more keys than the first
# names: what the first query does not see

def masked_tiles(first, block_q, block_k, edge, S):
    seen = min(first + 1, S)
    whole = seen - seen % block_k
    end = min(first + block_q, S)
    tiles = sp.ceiling(sp.Rational(end - whole, edge))
    return tiles, whole + edge * tiles - seen
