# label: wrong
# title: one short
# says: One key short.
# names: one key short

def one_short(first, block_q, block_k, S_q, S_k):
    return (
        max(0, min(S_k, first + S_k - S_q)) // block_k * block_k,
        max(0, min(S_k, first + block_q + S_k - S_q)),
    )
