# label: wrong
# title: by the last
# says: The last query of the block decides where the mask begins.
# names: whole as far as the last query sees

def by_the_last(first, block_q, block_k, S_q, S_k):
    end = max(0, min(S_k, first + block_q + S_k - S_q))
    return end // block_k * block_k, end
