# label: right
# title: sympy's ceiling

def masked_tiles(first, block_q, block_k, edge, S):
    whole = sp.Min(S, first + 1) // block_k * block_k
    end = sp.Min(S, first + block_q)
    tiles = sp.ceiling(sp.Rational(end - whole, edge))
    return tiles, tiles * edge - (end - whole)
