# label: wrong
# title: occupancy in blocks
# says: the last line returns blocks over blocks_per_sm; occupancy is resident warps over the most possible
#   warps.
# names: occupancy of blocks

def budget(block_m, block_n, block_k, size, buffers, warps, registers, gpu):
    acc = block_m * block_n / (warps * 32)
    smem = size * buffers * (block_m * block_k + block_k * block_n)
    regs = ((registers + 7) // 8) * 8
    by_regs = gpu.registers_per_sm // (regs * warps * 32)
    by_smem = gpu.shared_per_sm // (smem + 1024)
    by_warps = gpu.warps_per_sm // warps
    resident = min(by_regs, by_smem, by_warps, gpu.blocks_per_sm)
    return acc, smem, resident / gpu.blocks_per_sm
