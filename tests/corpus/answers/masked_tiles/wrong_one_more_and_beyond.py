# label: wrong
# title: one tile more, up to an end beyond S
# says: 1 is added to the rounded-down number of tiles, and the end is not limited to S
# names: a tile too many + the end is not limited

def masked_tiles(first, block_q, block_k, edge, S):
    begin = (first + 1) // block_k * block_k
    last = first + block_q
    n = (last - begin) // edge + 1
    return n, begin + n * edge - last
