# label: wrong
# title: always one tile more than fit
# says: the number of tiles is rounded down and 1 is added, which is one too many where edge divides the keys
# names: a tile too many; one edit

def masked_tiles(first, block_q, block_k, edge, S):
    start = min(S, first + 1) // block_k * block_k
    stop = min(S, first + block_q)
    tiles = 1 + (stop - start) // edge
    return tiles, start + tiles * edge - stop
