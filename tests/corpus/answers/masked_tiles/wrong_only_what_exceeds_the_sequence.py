# label: wrong
# title: only keys that do not exist
# says: keys of the sequence that come after the block's last query are computed for nothing too
# names: keys beyond the sequence alone

def masked_tiles(first, block_q, block_k, edge, S):
    whole = min(first + 1, S) // block_k * block_k
    end = min(first + block_q, S)
    tiles = -(-(end - whole) // edge)
    past = whole + tiles * edge
    return tiles, past - S if past > S else 0
