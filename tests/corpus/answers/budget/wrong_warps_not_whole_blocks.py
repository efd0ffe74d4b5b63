# label: wrong
# title: warps not whole blocks
# says: two mistakes: the limit by registers is counted in single warps and not in whole blocks
#   (`warps_by_registers`), and the 1024 bytes that every block costs beside its own shared memory are left
#   out
# names: one edit

def budget(block_m, block_n, block_k, size, buffers, warps, registers, gpu):
    """(accumulator, shared, occupancy) of a block shape: registers per thread, bytes, a fraction."""
    threads = 32 * warps
    accumulator = block_m * block_n / threads
    shared = (block_m * block_k + block_k * block_n) * size * buffers
    rounded = (registers + 7) // 8 * 8
    warps_by_registers = gpu.registers_per_sm // (rounded * 32)
    warps_by_shared = gpu.shared_per_sm // shared * warps
    warps_by_blocks = gpu.blocks_per_sm * warps
    resident = min(gpu.warps_per_sm, warps_by_registers, warps_by_shared, warps_by_blocks)
    return accumulator, shared, resident / gpu.warps_per_sm
