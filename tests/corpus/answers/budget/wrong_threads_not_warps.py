# label: wrong
# title: threads not warps
# says: line `gpu.registers_per_sm // ...`: registers per thread times warps, without the 32 threads of a warp
# names: limited by shared memory alone

def budget(block_m, block_n, block_k, size, buffers, warps, registers, gpu):
    """(accumulator, shared, occupancy) of a block shape: registers per thread, bytes, a fraction."""
    accumulator = block_m * block_n / (32 * warps)
    shared = buffers * (block_m + block_n) * block_k * size
    per_thread = -(-registers // 8) * 8  # rounded up to a multiple of 8
    blocks = min(
        gpu.blocks_per_sm,
        gpu.warps_per_sm // warps,
        gpu.registers_per_sm // (per_thread * warps),
        gpu.shared_per_sm // (shared + 1024),
    )
    return accumulator, shared, blocks * warps / gpu.warps_per_sm
