# label: wrong
# title: whole tiles rounded to the edge
# says: where the first loop ends is rounded down to `edge`; that loop has tiles of block_k
# names: the first loop ends at tiles of the second; one edit

def masked_tiles(first, block_q, block_k, edge, S):
    whole = min(S, first + 1) // edge * edge
    end = min(S, first + block_q)
    tiles = -(-(end - whole) // edge)
    return tiles, whole + tiles * edge - end
