# label: wrong
# title: one buffer only and fractions of a block
# says: Two mistakes: `shared` counts one pair of tiles and forgets the factor `buffers`; and the limits are
#   divided with `/`, so that 2.56 blocks count as resident: only whole blocks do (//), and 0 if not one fits.
# names: buffers forgotten + fractions of a block

def budget(block_m, block_n, block_k, size, buffers, warps, registers, gpu):
    accumulator = block_m * block_n / (32 * warps)
    shared = (block_m + block_n) * block_k * size
    registers = (registers + 7) // 8 * 8
    resident_blocks = min(
        gpu.blocks_per_sm,
        gpu.warps_per_sm / warps,
        gpu.registers_per_sm / (registers * 32 * warps),
        gpu.shared_per_sm / (shared + 1024),
    )
    occupancy = resident_blocks * warps / gpu.warps_per_sm
    return accumulator, shared, occupancy
