# label: wrong
# title: whole by the last query, once more
# says: `whole = end // block_k * block_k` rounds down what the block's LAST query sees: keys that the first
#   query does not see are taken without a mask.
# names: whole as far as the last query sees

def split_loops(first, block_q, block_k, S_q, S_k):
    last = min(first + block_q, S_q) - 1
    end = min(S_k, max(0, last + 1 + S_k - S_q))
    whole = end // block_k * block_k
    return whole, end
