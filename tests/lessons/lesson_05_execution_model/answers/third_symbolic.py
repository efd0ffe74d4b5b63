"""Symbolic answers of lesson 05, written without a look at the mistakes that it declares."""

from __future__ import annotations

from tests.corpus import written, wrong

wrong(
    "matmul_traffic",
    "The two factors are exchanged: A is asked for once per block of *columns*, ceiling(N / B_N), and B "
    "once per block of rows, ceiling(M / B_M). Hidden only where the two counts are equal.",
    "rows and columns exchanged",
    title="A repeated once per block of rows",
)(
    written("""
def matmul_traffic(M, N, K, B_M, B_N, B_K, e) -> sp.Expr:
    row_blocks = sp.ceiling(M / B_M)
    column_blocks = sp.ceiling(N / B_N)
    a = M * K * row_blocks
    b = K * N * column_blocks
    c = M * N
    return (a + b + c) * e
""")
)

wrong(
    "matmul_traffic",
    "Every program is charged for whole tiles. Lanes that a mask switches off request nothing, so A costs "
    "M·K per block of columns, and C just M·N; too large as soon as a size is no multiple of its block.",
    "masked lanes counted",
    title="idle lanes counted as bytes",
)(
    written("""
def matmul_traffic(M, N, K, B_M, B_N, B_K, e) -> sp.Expr:
    programs = sp.ceiling(M / B_M) * sp.ceiling(N / B_N)
    steps = sp.ceiling(K / B_K)
    per_step = B_M * B_K + B_K * B_N
    return e * programs * (steps * per_step + B_M * B_N)
""")
)

wrong(
    "matmul_traffic",
    "Two mistakes: N / B_N and M / B_M are not rounded up (70 columns in blocks of 64 are two requests, "
    "not 1.09); and C is counted ceiling(K / B_K) times, though it stays in registers and is stored once.",
    "sizes need not divide + C once per step",
    title="fractions of blocks, and C once per step",
)(
    written("""
def matmul_traffic(M, N, K, B_M, B_N, B_K, e) -> sp.Expr:
    return e * (M * K * N / B_N + K * N * M / B_M + M * N * sp.ceiling(K / B_K))
""")
)

wrong(
    "budget",
    "The registers per thread are used as given; they are dealt out in multiples of 8. E.g. 126 registers "
    "and 4 warps on an SM of 65536: rounded to 128 four blocks fit either way, but with 170 (→ 176) and 4 "
    "warps only two, and not three.",
    "registers not rounded",
    title="registers not rounded up to eight",
)(
    written("""
def budget(block_m, block_n, block_k, size, buffers, warps, registers, gpu):
    threads = 32 * warps
    accumulator = block_m * block_n / threads
    shared = buffers * size * (block_m * block_k + block_k * block_n)
    by_registers = gpu.registers_per_sm // (registers * threads)
    by_shared = gpu.shared_per_sm // (shared + 1024)
    by_warps = gpu.warps_per_sm // warps
    blocks = min(by_registers, by_shared, by_warps, gpu.blocks_per_sm)
    return accumulator, shared, blocks * warps / gpu.warps_per_sm
""")
)

wrong(
    "budget",
    "Occupancy is resident *warps* over the SM's 64; here it is resident blocks over gpu.blocks_per_sm. "
    "With 4 blocks of 4 warps it should be 16/64, not 4/32.",
    "occupancy of blocks",
    title="occupancy by blocks and not by warps",
)(
    written("""
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
""")
)

wrong(
    "budget",
    "Two mistakes: `shared` counts one pair of tiles and forgets the factor `buffers`; and the limits are "
    "divided with `/`, so that 2.56 blocks count as resident: only whole blocks do (//), and 0 if not one "
    "fits.",
    "buffers forgotten + fractions of a block",
    title="one buffer only and fractions of a block",
)(
    written("""
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
""")
)
