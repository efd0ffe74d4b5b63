# label: right
# title: limits in a list, whole numbers by math.ceil

def budget(block_m, block_n, block_k, size, buffers, warps, registers, gpu):
    threads = 32 * warps
    accumulator = sp.Rational(block_m * block_n, threads)
    shared = buffers * block_k * (block_m + block_n) * size
    per_thread = 8 * math.ceil(int(registers) / 8)
    limits = [
        gpu.blocks_per_sm,
        gpu.warps_per_sm // warps,
        gpu.registers_per_sm // (per_thread * threads),
        gpu.shared_per_sm // (shared + 1024),
    ]
    blocks = sorted(limits)[0]
    return accumulator, shared, sp.Rational(blocks * warps, gpu.warps_per_sm)
