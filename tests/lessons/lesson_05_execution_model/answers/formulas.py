"""Lesson 05: answers to `matmul_traffic` and `budget`."""

from __future__ import annotations

import sympy as sp

from tests.corpus import edited, right, written, wrong

# matmul_traffic ------------------------------------------------------------------------------------


@right("matmul_traffic", "floors of shifted quotients")
def traffic_with_floors(M, N, K, B_M, B_N, B_K, e):
    across = sp.floor((N + B_N - 1) / B_N)
    down = sp.floor((M + B_M - 1) / B_M)
    loads = across * M * K + down * N * K
    return (loads + M * N) * e


@wrong("matmul_traffic", "A ragged edge has a program too: round the counts up.", "sizes need not divide")
def traffic_of_whole_tiles(M, N, K, B_M, B_N, B_K, e):
    programs = (M / B_M) * (N / B_N)
    return e * (programs * K * (B_M + B_N) + M * N)


@wrong("matmul_traffic", "Masked lanes request nothing; you counted whole tiles.", "masked lanes counted")
def traffic_with_padding(M, N, K, B_M, B_N, B_K, e):
    programs = sp.ceiling(M / B_M) * sp.ceiling(N / B_N)
    steps = sp.ceiling(K / B_K)
    per_program = steps * (B_M * B_K + B_K * B_N) + B_M * B_N
    return e * programs * per_program


@wrong("matmul_traffic", "A is loaded once per block of columns, not of rows.", "rows and columns exchanged")
def traffic_the_wrong_way_round(M, N, K, B_M, B_N, B_K, e):
    return e * (K * M * sp.ceiling(M / B_M) + K * N * sp.ceiling(N / B_N) + M * N)


@wrong("matmul_traffic", "These are elements; multiply by e.", "elements, not bytes", "factor")
def traffic_in_elements(M, N, K, B_M, B_N, B_K, e):
    return M * K * sp.ceiling(N / B_N) + N * K * sp.ceiling(M / B_M) + M * N


@wrong("matmul_traffic", "The counts are rounded down, so ragged edges are lost.", "rounded down")
def traffic_rounded_down(M, N, K, B_M, B_N, B_K, e):
    return e * (M * K * sp.floor(N / B_N) + K * N * sp.floor(M / B_M) + M * N)


@wrong(
    "matmul_traffic",
    "The bytes per element are missing, and C is: two mistakes.",
    "elements, not bytes + C left out",
)
def traffic_in_elements_without_c(M, N, K, B_M, B_N, B_K, e):
    return M * K * sp.ceiling(N / B_N) + N * K * sp.ceiling(M / B_M)


# budget --------------------------------------------------------------------------------------------

BY_HAND = """
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
"""

right("budget", "limits in a list, whole numbers by math.ceil")(written(BY_HAND))

wrong(
    "budget",
    "Each buffer holds a pair of tiles: multiply by buffers.",
    "buffers forgotten",
    title="one pair of tiles",
)(edited(BY_HAND, ("shared = buffers * block_k", "shared = block_k")))

wrong(
    "budget",
    "Shared memory is asked for in bytes.",
    "elements, not bytes",
    title="shared in elements",
)(edited(BY_HAND, ("(block_m + block_n) * size", "(block_m + block_n)")))

wrong(
    "budget",
    "1 KiB of the system's is missing for each block.",
    "no shared memory reserved",
    title="without the 1024",
)(edited(BY_HAND, ("(shared + 1024)", "shared")))

wrong(
    "budget",
    "Registers are not among the limits.",
    "limited by shared memory alone",
    title="without the registers' limit",
)(edited(BY_HAND, ("        gpu.registers_per_sm // (per_thread * threads),\n", "")))

wrong(
    "budget",
    "The accumulator is shared by 32 threads of each warp, not by the warps alone.",
    "accumulator of a warp",
    title="divided by warps alone",
)(edited(BY_HAND, ("sp.Rational(block_m * block_n, threads)", "sp.Rational(block_m * block_n, warps)")))

wrong(
    "budget",
    "The occupancy came back in percent.",
    "occupancy in percent",
    "constant factor",
    title="occupancy in percent",
)(edited(BY_HAND, ("sp.Rational(blocks * warps,", "sp.Rational(100 * blocks * warps,")))
