# label: wrong
# title: the remainder is returned as what lies beyond
# says: the remainder is the seen part of the last tile; beyond is the rest of it
# names: the part of the last tile that is seen

def masked_tiles(first, block_q, block_k, edge, S):
    whole = min(first + 1, S) // block_k * block_k
    end = min(first + block_q, S)
    masked = end - whole
    return -(-masked // edge), masked % edge
