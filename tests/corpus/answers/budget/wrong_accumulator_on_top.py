# label: wrong
# title: accumulator on top
# says: the line `needed = registers + accumulator` adds the accumulator to the registers, which the
#   compiler's figure already contains, so occupancy is too low.
# names: one edit

def budget(block_m, block_n, block_k, size, buffers, warps, registers, gpu):
    """(accumulator, shared, occupancy) of a block shape: registers per thread, bytes, a fraction."""
    threads = 32 * warps
    accumulator = block_m * block_n / threads
    shared = buffers * size * block_k * (block_m + block_n)
    needed = registers + accumulator
    needed = 8 * math.ceil(needed / 8)
    resident = [
        gpu.warps_per_sm // warps,
        gpu.blocks_per_sm,
        gpu.registers_per_sm // (needed * threads),
        gpu.shared_per_sm // (shared + 1024),
    ]
    return accumulator, shared, min(resident) * warps / gpu.warps_per_sm
