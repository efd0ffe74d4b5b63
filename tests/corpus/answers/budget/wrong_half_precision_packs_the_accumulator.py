# label: wrong
# title: half precision packs the accumulator
# says: `accumulator` is scaled by size / 4 as if the accumulator had the dtype of the inputs; it is fp32, one
#   register per number
# names: accumulator of the inputs' size

def budget(block_m, block_n, block_k, size, buffers, warps, registers, gpu):
    threads = 32 * warps
    # a register has four bytes: two halves fit into one
    accumulator = block_m * block_n * size / 4 / threads
    one_pair = block_m * block_k * size + block_k * block_n * size
    shared = one_pair * buffers
    granted = (registers + 7) // 8 * 8
    limits = [
        gpu.blocks_per_sm,
        gpu.warps_per_sm // warps,
        gpu.registers_per_sm // (granted * threads),
        gpu.shared_per_sm // (shared + 1024),
    ]
    return accumulator, shared, min(limits) * warps / gpu.warps_per_sm
