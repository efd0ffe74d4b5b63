# label: wrong
# title: whole by last query
# says: line whole = end // block_k * block_k: the keys that the last query sees are taken for those that all
#   queries of the block see
# names: whole as far as the last query sees

def split_loops(first, block_q, block_k, S_q, S_k):
    end = first + block_q + (S_k - S_q)
    end = min(max(end, 0), S_k)
    whole = end // block_k * block_k
    return whole, end
