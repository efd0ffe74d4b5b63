# label: wrong
# title: occupancy by blocks and not by warps
# says: Occupancy is resident *warps* over the SM's 64; here it is resident blocks over gpu.blocks_per_sm.
#   With 4 blocks of 4 warps it should be 16/64, not 4/32.
# names: occupancy of blocks

def budget(block_m, block_n, block_k, size, buffers, warps, registers, gpu):
    import math

    accumulator = block_m * block_n / (warps * 32)
    a_bytes = block_m * block_k * size
    b_bytes = block_k * block_n * size
    shared = (a_bytes + b_bytes) * buffers
    regs = math.ceil(registers / 8) * 8 * 32 * warps
    limits = [
        gpu.warps_per_sm // warps,
        gpu.blocks_per_sm,
        gpu.registers_per_sm // regs,
        gpu.shared_per_sm // (shared + 1024),
    ]
    resident = min(limits)
    return accumulator, shared, resident / gpu.blocks_per_sm
