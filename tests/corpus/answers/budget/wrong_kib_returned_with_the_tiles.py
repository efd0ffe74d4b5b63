# label: wrong
# title: the kibibyte of the system in the shared memory asked for
# says: the 1 KiB belongs in the limit of blocks alone
# names: the reserve in shared

def budget(block_m, block_n, block_k, size, buffers, warps, registers, gpu):
    tiles = (block_m + block_n) * block_k * size
    shared = 1024 + buffers * tiles
    per_thread = sp.ceiling(sp.Rational(registers, 8)) * 8
    resident = min(
        gpu.shared_per_sm // shared,
        gpu.registers_per_sm // (per_thread * 32 * warps),
        gpu.warps_per_sm // warps,
        gpu.blocks_per_sm,
    )
    return sp.Rational(block_m * block_n, 32 * warps), shared, sp.Rational(resident * warps, gpu.warps_per_sm)
