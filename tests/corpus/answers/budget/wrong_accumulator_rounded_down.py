# label: wrong
# title: accumulator rounded down
# says: `//` rounds the accumulator's registers down; a thread's share may be a fraction, as with 16 × 16 elements
#   and 16 warps.
# names: accumulator rounded down

def budget(block_m, block_n, block_k, size, buffers, warps, registers, gpu):
    """(accumulator, shared, occupancy) of a block shape: registers per thread, bytes, a fraction."""
    accumulator = block_m * block_n // (32 * warps)
    shared = buffers * size * block_k * (block_m + block_n)
    allocated = (registers + 7) // 8 * 8
    blocks = min(
        gpu.blocks_per_sm,
        gpu.warps_per_sm // warps,
        gpu.registers_per_sm // (allocated * 32 * warps),
        gpu.shared_per_sm // (shared + 1024),
    )
    return accumulator, shared, blocks * warps / gpu.warps_per_sm
