# label: wrong
# title: without q
# says: Nothing is counted for Q.
# names: Q is not counted

def without_q(block_q, block_k, D, size, stages, warps):
    return 2 * stages * block_k * D * size, block_q * (D + block_k) / (32 * warps)
