# label: wrong
# title: The accumulators of a thread are rounded down.
# says: `//` drops the fraction: sp.Rational(values, threads) is exact.
# names: one edit


def forward_budget(block_q, block_k, D, size, stages, warps):
    shared = size * D * (block_q + 2 * stages * block_k)
    return shared, sp.Rational(block_q * (block_k + D) // (32 * warps))
