# label: wrong
# title: the keys between the bounds
# says: the second number is end − whole, the keys that the second loop has to visit, and not those beyond end
# names: the keys that are seen

def masked_tiles(first, block_q, block_k, edge, S):
    whole = min(S, first + 1) // block_k * block_k
    end = min(S, first + block_q)
    return -(-(end - whole) // edge), end - whole
