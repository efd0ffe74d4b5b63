# label: wrong
# title: number of tiles rounded down
# says: the number of tiles is rounded down, so that the last keys are in none
# names: the last tile is left out; one edit

def masked_tiles(first, block_q, block_k, edge, S):
    whole = min(S, first + 1) // block_k * block_k
    end = min(S, first + block_q)
    tiles = (end - whole) // edge
    return tiles, whole + tiles * edge - end
