# label: wrong
# title: eight more for a multiple of eight
# says: Registers are rounded up by adding a whole step: what is a multiple of 8 already becomes 8 more.
# names: one edit

def budget(block_m, block_n, block_k, size, buffers, warps, registers, gpu):
    threads = 32 * warps
    accumulator = block_m * block_n / threads
    shared = (block_m * block_k + block_k * block_n) * size * buffers
    rounded = (registers + 8) // 8 * 8
    limits = {
        "warps": gpu.warps_per_sm // warps,
        "blocks": gpu.blocks_per_sm,
        "registers": gpu.registers_per_sm // (rounded * threads),
        "shared": gpu.shared_per_sm // (shared + 1024),
    }
    resident = min(limits.values())
    return accumulator, shared, resident * warps / gpu.warps_per_sm
