# label: wrong
# title: the second loop from key 0
# says: the loop with the mask begins where the first one ends, not at key 0
# names: all keys have a mask

def masked_tiles(first, block_q, block_k, edge, S):
    end = min(S, first + block_q)
    tiles = -(-end // edge)
    return tiles, tiles * edge - end
