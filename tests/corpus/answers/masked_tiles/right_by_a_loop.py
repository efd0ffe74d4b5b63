# label: right
# title: counted by a loop

def masked_tiles(first, block_q, block_k, edge, S):
    end = min(S, first + block_q)
    start = min(S, first + 1) // block_k * block_k
    tiles = 0
    while start < end:
        tiles, start = tiles + 1, start + edge
    return tiles, start - end
