# label: wrong
# title: whole by the last query
# says: `whole = end // block_k * block_k` takes what the block's last query sees; without a mask a tile must
#   be seen by its first query
# names: whole as far as the last query sees

def split_loops(first, block_q, block_k, S_q, S_k):
    last = min(first + block_q, S_q) - 1
    end = min(S_k, last + 1 + S_k - S_q)
    end = max(end, 0)
    whole = end // block_k * block_k
    return whole, end
