# label: wrong
# title: all tiles but the last
# says: whole is everything but the last tile, and the diagonal may cross more than one.
# names: whole is all but the last tile

def all_tiles_but_the_last(first, block_q, block_k, S_q, S_k):
    end = min(S_k, max(0, first + block_q + S_k - S_q))
    tiles = (end + block_k - 1) // block_k
    return max(0, tiles - 1) * block_k, end
