"""Loops and branches whose variables keep, or change, their types; run as a script, what the compiler says.

    python tests/interpreter/loop_kernels.py # {"accumulator_cast_to_half": "Loop-carried variable acc …", …}

Each kernel takes x_ptr (N numbers, fp32), y_ptr (N numbers), n (an integer, N) and N, and its outcome in the
observer has to be the compiler's: refused, or not.
"""

from __future__ import annotations

import triton
import triton.language as tl

KERNELS = []
HALF = tl.constexpr(tl.float16)


def table(function):
    KERNELS.append(function)
    return triton.jit(function)


@table
def accumulator_keeps_its_type(x_ptr, y_ptr, n, N: tl.constexpr):
    i = tl.arange(0, N)
    acc = tl.zeros((N,), tl.float32)
    for _ in range(0, n, N):
        acc += tl.load(x_ptr + i)
    tl.store(y_ptr + i, acc)


@table
def accumulator_cast_to_half(x_ptr, y_ptr, n, N: tl.constexpr):
    i = tl.arange(0, N)
    acc = tl.zeros((N,), tl.float32)
    for _ in range(0, n, N):
        acc = (acc + tl.load(x_ptr + i)).to(tl.float16)
    tl.store(y_ptr + i, acc)


@table
def pointers_replaced_by_offsets(x_ptr, y_ptr, n, N: tl.constexpr):
    i = tl.arange(0, N)
    at = x_ptr + i
    for _ in range(0, n, N):
        x = tl.load(at)
        tl.store(y_ptr + i, x)
        at = i


@table
def lanes_replaced_by_a_number(x_ptr, y_ptr, n, N: tl.constexpr):
    i = tl.arange(0, N)
    for _ in range(0, n, N):
        x = tl.load(x_ptr + i)
        tl.store(y_ptr + i, x)
        i = n


@table
def half_accumulator_that_widens(x_ptr, y_ptr, n, N: tl.constexpr):
    i = tl.arange(0, N)
    acc = tl.zeros((N,), tl.float16)
    for _ in range(0, n, N):
        acc += tl.load(x_ptr + i)
    tl.store(y_ptr + i, acc)


@table
def number_that_becomes_a_tile(x_ptr, y_ptr, n, N: tl.constexpr):
    i = tl.arange(0, N)
    acc = 0.0
    for _ in range(0, n, N):
        acc += tl.load(x_ptr + i)
    tl.store(y_ptr + i, acc)


@table
def number_that_stays_one(x_ptr, y_ptr, n, N: tl.constexpr):
    i = tl.arange(0, N)
    acc = 0.0
    for _ in range(0, n, N):
        acc += tl.sum(tl.load(x_ptr + i), axis=0)
    tl.store(y_ptr + i, acc)


@table
def integer_start_for_a_float_sum(x_ptr, y_ptr, n, N: tl.constexpr):
    i = tl.arange(0, N)
    acc = 0
    for _ in range(0, n, N):
        acc += tl.sum(tl.load(x_ptr + i), axis=0)
    tl.store(y_ptr + i, acc)


@table
def counter_that_widens_to_64_bits(x_ptr, y_ptr, n, N: tl.constexpr):
    i = tl.arange(0, N)
    at = 0
    for _ in range(0, n, N):
        at += tl.program_id(0).to(tl.int64)
    tl.store(y_ptr + i, tl.load(x_ptr + at + i))


@table
def offsets_in_64_bits_from_the_start(x_ptr, y_ptr, n, N: tl.constexpr):
    i = tl.arange(0, N)
    at = tl.program_id(0).to(tl.int64)
    for _ in range(0, n, N):
        at += 0
    tl.store(y_ptr + i, tl.load(x_ptr + at + i))


@table
def pairs_of_numbers(x_ptr, y_ptr, n, N: tl.constexpr):
    i = tl.arange(0, N)
    m, total = 0.0, 0.0
    for _ in range(0, n, N):
        x = tl.load(x_ptr + i)
        m, total = tl.maximum(m, tl.max(x, axis=0)), total + tl.sum(x, axis=0)
    tl.store(y_ptr + i, m + total)


@table
def pointer_that_becomes_a_tile_of_pointers(x_ptr, y_ptr, n, N: tl.constexpr):
    i = tl.arange(0, N)
    at = x_ptr
    for _ in range(0, n, N):
        at = at + i
    tl.store(y_ptr + i, 1.0)


@table
def pointer_that_moves_on(x_ptr, y_ptr, n, N: tl.constexpr):
    i = tl.arange(0, N)
    for _ in range(0, n, N):
        tl.store(y_ptr + i, tl.load(x_ptr + i))
        x_ptr += N


@table
def pointer_to_another_dtype(x_ptr, y_ptr, n, N: tl.constexpr):
    i = tl.arange(0, N)
    at = x_ptr
    for _ in range(0, n, N):
        at = at.to(tl.pointer_type(tl.int32))
    tl.store(y_ptr + i, 1.0)


@table
def static_range_is_unrolled(x_ptr, y_ptr, n, N: tl.constexpr):
    i = tl.arange(0, N)
    acc = 0.0
    for _ in tl.static_range(2):
        acc += tl.load(x_ptr + i)
    tl.store(y_ptr + i, acc)


@table
def triton_range_is_a_loop(x_ptr, y_ptr, n, N: tl.constexpr):
    i = tl.arange(0, N)
    acc = 0.0
    for _ in tl.range(0, n, N, num_stages=2):
        acc += tl.load(x_ptr + i)
    tl.store(y_ptr + i, acc)


@table
def constant_bounds_are_a_loop_too(x_ptr, y_ptr, n, N: tl.constexpr):
    i = tl.arange(0, N)
    acc = 0
    for _ in range(1):
        acc = acc + 0.5
    tl.store(y_ptr + i, acc)


@table
def while_that_widens(x_ptr, y_ptr, n, N: tl.constexpr):
    i = tl.arange(0, N)
    acc, start = 0.0, 0
    while start < n:
        acc += tl.load(x_ptr + i)
        start += N
    tl.store(y_ptr + i, acc)


@table
def while_that_keeps_its_types(x_ptr, y_ptr, n, N: tl.constexpr):
    i = tl.arange(0, N)
    acc = tl.zeros((N,), tl.float32)
    start = 0
    while start < n:
        acc += tl.load(x_ptr + i)
        start += N
    tl.store(y_ptr + i, acc)


@table
def branch_that_changes_a_dtype(x_ptr, y_ptr, n, N: tl.constexpr):
    i = tl.arange(0, N)
    x = tl.load(x_ptr + i)
    if n > 2:
        x = x.to(tl.float16)
    tl.store(y_ptr + i, x)


@table
def constant_branch_may_change_a_dtype(x_ptr, y_ptr, n, N: tl.constexpr):
    i = tl.arange(0, N)
    x = tl.load(x_ptr + i)
    if N > 2:
        x = x.to(tl.float16)
    tl.store(y_ptr + i, x)


@table
def branches_of_two_dtypes(x_ptr, y_ptr, n, N: tl.constexpr):
    i = tl.arange(0, N)
    if tl.program_id(0) == 0:  # noqa: SIM108
        scale = 1
    else:
        scale = 0.5
    tl.store(y_ptr + i, tl.load(x_ptr + i) * scale)


@table
def branches_of_one_dtype(x_ptr, y_ptr, n, N: tl.constexpr):
    i = tl.arange(0, N)
    if tl.program_id(0) == 0:
        scale = 1.0
    elif n > 3:
        scale = 0.5
    else:
        scale = 0.25
    tl.store(y_ptr + i, tl.load(x_ptr + i) * scale)


@table
def loop_variable_used_twice(x_ptr, y_ptr, n, N: tl.constexpr):
    i = tl.arange(0, N)
    acc = tl.zeros((N,), tl.float32)
    for k in range(0, n, N):
        acc += k
    for k in range(0, tl.program_id(0).to(tl.int64) + 1):
        acc += k
    tl.store(y_ptr + i, acc)


@table
def loop_variable_in_64_bits(x_ptr, y_ptr, n, N: tl.constexpr):
    i = tl.arange(0, N)
    last = tl.program_id(0).to(tl.int64)
    for k in range(0, last + 1):
        last = k
    tl.store(y_ptr + i, last)


@table
def loop_variable_kept_in_32_bits(x_ptr, y_ptr, n, N: tl.constexpr):
    i = tl.arange(0, N)
    last = 0
    for k in range(0, tl.program_id(0).to(tl.int64) + 1):
        last = k
    tl.store(y_ptr + i, last)


@table
def names_of_the_loop_alone(x_ptr, y_ptr, n, N: tl.constexpr):
    i = tl.arange(0, N)
    acc = tl.zeros((N,), tl.float32)
    for _ in range(0, 2):
        t = 1
        t = t * tl.load(x_ptr + i)
        acc += t
    tl.store(y_ptr + i, acc)


@table
def name_of_an_inner_loop_used_again(x_ptr, y_ptr, n, N: tl.constexpr):
    i = tl.arange(0, N)
    acc = tl.zeros((N,), tl.float32)
    for _ in range(0, 2):
        for _ in range(0, 2):
            t = tl.load(x_ptr + i)
            acc += t
        t = 0
        acc += t
    tl.store(y_ptr + i, acc)


@table
def inner_loop_changes_the_outer_variable(x_ptr, y_ptr, n, N: tl.constexpr):
    i = tl.arange(0, N)
    acc = 0.0
    for _ in range(0, 2):
        for _ in range(0, 2):
            acc += tl.load(x_ptr + i)
    tl.store(y_ptr + i, acc)


@table
def inner_variable_begun_anew_each_round(x_ptr, y_ptr, n, N: tl.constexpr):
    i = tl.arange(0, N)
    acc = tl.zeros((N,), tl.float32)
    for _ in range(0, 2):
        row = 0.0
        for _ in range(0, 2):
            row += tl.sum(tl.load(x_ptr + i), axis=0)
        row = row + acc
        acc += row
    tl.store(y_ptr + i, acc)


@table
def one_round_is_enough(x_ptr, y_ptr, n, N: tl.constexpr):
    i = tl.arange(0, N)
    acc = tl.zeros((N, 1), tl.float32)
    for _ in range(0, n, N):
        acc = acc + tl.load(x_ptr + i)[None, :]
    tl.store(y_ptr + i, tl.sum(acc, axis=0))


@table
def constant_assigned_in_a_loop(x_ptr, y_ptr, n, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(y_ptr + i, tl.load(x_ptr + i))
    for _ in range(0, n, 2):
        N = N // 2


@table
def constant_of_its_own_assigned_in_a_loop(x_ptr, y_ptr, n, N: tl.constexpr):
    i = tl.arange(0, N)
    size: tl.constexpr = 2
    for _ in range(0, n, N):
        size = size + 1
    tl.store(y_ptr + i, tl.load(x_ptr + i) * size)


@table
def comparison_that_becomes_a_number(x_ptr, y_ptr, n, N: tl.constexpr):
    i = tl.arange(0, N)
    seen = i < 0
    for _ in range(0, n, N):
        seen = seen + tl.load(x_ptr + i)
    tl.store(y_ptr + i, seen)


@table
def largest_index(x_ptr, y_ptr, n, N: tl.constexpr):
    i = tl.arange(0, N)
    best = -float("inf")
    where = 0
    for start in range(0, n, N):
        x = tl.load(x_ptr + i)
        here = tl.max(x, axis=0)
        where = tl.where(here > best, start + tl.argmax(x, axis=0), where)
        best = tl.maximum(best, here)
    tl.store(y_ptr + i, best + where)


@triton.jit
def scaled(x, times, N: tl.constexpr):
    for _ in range(0, times):
        x = x * 0.5
    return x


@table
def helper_whose_loop_keeps_its_types(x_ptr, y_ptr, n, N: tl.constexpr):
    i = tl.arange(0, N)
    x = tl.load(x_ptr + i)
    tl.store(y_ptr + i, scaled(x.to(HALF), 2, N) + scaled(x, 3, N))


@table
def helper_whose_loop_widens(x_ptr, y_ptr, n, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(y_ptr + i, tl.load(x_ptr + i) + scaled(n, 2, N))


@table
def unrolled_counter_that_a_loop_assigns(x_ptr, y_ptr, n, N: tl.constexpr):
    for slot in tl.static_range(2):
        tl.store(y_ptr + slot, 0.0)
    for i in range(0, n):
        slot = i % 2
        tl.store(y_ptr + slot, 1.0)


@table
def unrolled_counter_of_two_loops(x_ptr, y_ptr, n, N: tl.constexpr):
    for slot in tl.static_range(2):
        tl.store(y_ptr + slot, 0.0)
    for i in range(0, n):
        for slot in tl.static_range(2):
            tl.store(y_ptr + slot + i, 1.0)


@table
def half_accumulator_of_fp32_sums(x_ptr, y_ptr, n, N: tl.constexpr):
    acc = tl.zeros((N,), tl.float16)
    for i in range(0, n):
        acc += tl.load(x_ptr + i)
    tl.store(y_ptr + tl.arange(0, N), acc)


@table
def bound_that_is_no_integer(x_ptr, y_ptr, n, N: tl.constexpr):
    i = tl.arange(0, N)
    for _ in range(0, n / 2):
        tl.store(y_ptr + i, tl.load(x_ptr + i))


def compiler(kernel) -> str:
    """What the compiler's front end says of a kernel for an H100; nothing if it takes it."""
    from triton._C.libtriton import ir
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource, make_backend

    backend = make_backend(GPUTarget("cuda", 90, 32))
    options = backend.parse_options({})
    context = ir.context()
    ir.load_dialects(context)
    backend.load_dialects(context)
    signature = {"x_ptr": "*fp32", "y_ptr": "*fp32", "n": "i32", "N": "constexpr"}
    source = ASTSource(kernel, signature, {(3,): 16})
    try:
        source.make_ir(
            GPUTarget("cuda", 90, 32),
            options,
            backend.get_codegen_implementation(options),
            backend.get_module_map(),
            context,
        )
    except Exception as error:
        return str(getattr(error, "error_message", None) or error).splitlines()[-1] or "refused"
    return ""


if __name__ == "__main__":
    import json

    print(json.dumps({function.__name__: compiler(globals()[function.__name__]) for function in KERNELS}))
