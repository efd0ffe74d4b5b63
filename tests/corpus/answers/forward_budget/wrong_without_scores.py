# label: wrong
# title: without scores
# says: The scores are forgotten.
# names: S is not counted

def without_scores(block_q, block_k, D, size, stages, warps):
    return (block_q + 2 * stages * block_k) * D * size, block_q * D / (32 * warps)
