# label: wrong
# title: edge minus the remainder
# says: where edge divides the keys, the last tile is full and nothing lies beyond, but edge is returned
# names: a whole tile where nothing is left over

def masked_tiles(first, block_q, block_k, edge, S):
    whole = min(first + 1, S) // block_k * block_k
    masked = min(first + block_q, S) - whole
    tiles = (masked + edge - 1) // edge
    return tiles, edge - masked % edge
