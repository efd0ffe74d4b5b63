# label: wrong
# title: elements and no warp limit
# says: two: shared memory is counted in elements (the factor `size` is missing), and the accumulator is
#   divided by warps instead of by 32 · warps threads.
# names: elements, not bytes + accumulator of a warp

def budget(block_m, block_n, block_k, size, buffers, warps, registers, gpu):
    accumulator = block_m * block_n / warps
    shared = buffers * (block_m * block_k + block_k * block_n)
    rounded = math.ceil(registers / 8) * 8
    blocks = min(
        gpu.shared_per_sm // (shared + 1024),
        gpu.registers_per_sm // (rounded * 32 * warps),
        gpu.warps_per_sm // warps,
        gpu.blocks_per_sm,
    )
    return accumulator, shared, blocks * warps / gpu.warps_per_sm
