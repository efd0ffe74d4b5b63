# label: wrong
# title: registers not rounded up to eight
# says: The registers per thread are used as given; they are dealt out in multiples of 8. E.g. 126 registers
#   and 4 warps on an SM of 65536: rounded to 128 four blocks fit either way, but with 170 (→ 176) and 4 warps
#   only two, and not three.
# names: registers not rounded

def budget(block_m, block_n, block_k, size, buffers, warps, registers, gpu):
    threads = 32 * warps
    accumulator = block_m * block_n / threads
    shared = buffers * size * (block_m * block_k + block_k * block_n)
    by_registers = gpu.registers_per_sm // (registers * threads)
    by_shared = gpu.shared_per_sm // (shared + 1024)
    by_warps = gpu.warps_per_sm // warps
    blocks = min(by_registers, by_shared, by_warps, gpu.blocks_per_sm)
    return accumulator, shared, blocks * warps / gpu.warps_per_sm
