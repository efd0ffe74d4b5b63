# label: wrong
# title: fraction of blocks
# says: line blocks / gpu.blocks_per_sm: occupancy is asked for in warps over warps_per_sm, this is resident
#   blocks over the most blocks
# names: occupancy of blocks

def budget(block_m, block_n, block_k, size, buffers, warps, registers, gpu):
    threads = 32 * warps
    shared = (block_m * block_k + block_k * block_n) * size * buffers
    rounded = (registers + 7) // 8 * 8
    limits = [
        gpu.blocks_per_sm,
        gpu.warps_per_sm // warps,
        gpu.registers_per_sm // (rounded * threads),
        gpu.shared_per_sm // (shared + 1024),
    ]
    return block_m * block_n / threads, shared, min(limits) / gpu.blocks_per_sm
