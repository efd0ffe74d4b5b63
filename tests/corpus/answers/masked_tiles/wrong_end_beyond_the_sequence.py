# label: wrong
# title: the block's end, beyond S
# says: the end of the keys is first + block_q, also where the last block reaches beyond S
# names: the end is not limited; one edit

def masked_tiles(first, block_q, block_k, edge, S):
    whole = min(S, first + 1) // block_k * block_k
    left = first + block_q - whole
    tiles = -(-left // edge)
    return tiles, tiles * edge - left
