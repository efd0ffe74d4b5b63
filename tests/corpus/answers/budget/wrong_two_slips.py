# label: wrong
# title: two slips
# says: two slips: the return line divides resident blocks by `gpu.blocks_per_sm` instead of resident warps by
#   warps_per_sm, and the accumulator line counts bytes (a factor of 4) instead of registers.
# names: occupancy of blocks; occupancy of blocks + one edit

def budget(block_m, block_n, block_k, size, buffers, warps, registers, gpu):
    """(accumulator, shared, occupancy) of a block shape: registers per thread, bytes, a fraction."""
    accumulator = 4 * block_m * block_n / (32 * warps)  # fp32: 4 bytes
    pair = block_m * block_k + block_k * block_n
    shared = buffers * pair * size

    r = (registers + 7) // 8 * 8
    by_warps = gpu.warps_per_sm // warps
    by_registers = gpu.registers_per_sm // (r * 32 * warps)
    by_shared = gpu.shared_per_sm // (shared + 1024)
    blocks = min(by_warps, gpu.blocks_per_sm, by_registers, by_shared)
    return accumulator, shared, blocks / gpu.blocks_per_sm
