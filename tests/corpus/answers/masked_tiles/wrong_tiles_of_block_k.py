# label: wrong
# title: the second loop in tiles of block_k
# says: the second loop's tiles have `edge` keys, not block_k
# names: tiles of the first loop

def masked_tiles(first, block_q, block_k, edge, S):
    whole = min(S, first + 1) // block_k * block_k
    end = min(S, first + block_q)
    tiles = -(-(end - whole) // block_k)
    return tiles, whole + tiles * block_k - end
