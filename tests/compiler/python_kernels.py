"""Kernels that run interpreted, written as Python allows: some of them compile, most do not."""

from __future__ import annotations

import math

import numpy as np
import torch
import triton
import triton.language as tl

FACTOR = 2.0
CONSTANT = tl.constexpr(2.0)
TABLE = {"two": 2.0}


def double(x):
    return x + x


@triton.jit
def doubled(x):
    return x + x


@triton.jit
def two_returns(x, n):
    if n > 3:
        return x + 1.0
    return x + 2.0


@triton.jit
def return_in_a_loop(x):
    for i in range(3):
        x = x + 1.0
        if i == 1:
            return x
    return x


@triton.jit
def calls_python(x):
    return double(x)


def make_closure():
    factor = 2.0

    @triton.jit
    def reads_a_closure(x_ptr, y_ptr, n, N: tl.constexpr):
        i = tl.arange(0, N)
        tl.store(y_ptr + i, tl.load(x_ptr + i) * factor)

    return reads_a_closure


def make_constant_closure():
    factor = tl.constexpr(2.0)

    @triton.jit
    def reads_a_constant_closure(x_ptr, y_ptr, n, N: tl.constexpr):
        i = tl.arange(0, N)
        tl.store(y_ptr + i, tl.load(x_ptr + i) * factor)

    return reads_a_constant_closure


reads_a_closure = make_closure()
reads_a_constant_closure = make_constant_closure()


@triton.jit
def uses_break(x_ptr, y_ptr, n, N: tl.constexpr):
    i = tl.arange(0, N)
    x = tl.load(x_ptr + i)
    for k in range(n):
        if k == 3:
            break
        x += 1.0
    tl.store(y_ptr + i, x)


@triton.jit
def uses_continue(x_ptr, y_ptr, n, N: tl.constexpr):
    i = tl.arange(0, N)
    x = tl.load(x_ptr + i)
    for k in range(n):
        if k == 3:
            continue
        x += 1.0
    tl.store(y_ptr + i, x)


@triton.jit
def returns_in_a_loop(x_ptr, y_ptr, n, N: tl.constexpr):
    i = tl.arange(0, N)
    for k in range(n):
        tl.store(y_ptr + i, tl.load(x_ptr + i) + k)
        if k == 3:
            return


@triton.jit
def returns_early(x_ptr, y_ptr, n, N: tl.constexpr):
    i = tl.arange(0, N)
    if n == 3:
        return
    tl.store(y_ptr + i, tl.load(x_ptr + i))


@triton.jit
def returns_in_a_helpers_loop(x_ptr, y_ptr, n, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(y_ptr + i, return_in_a_loop(tl.load(x_ptr + i)))


@triton.jit
def calls_a_helper_of_two_returns(x_ptr, y_ptr, n, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(y_ptr + i, two_returns(tl.load(x_ptr + i), n))


@triton.jit
def uses_try(x_ptr, y_ptr, n, N: tl.constexpr):
    i = tl.arange(0, N)
    try:
        x = tl.load(x_ptr + i)
    except ValueError:
        x = tl.zeros((N,), tl.float32)
    tl.store(y_ptr + i, x)


@triton.jit
def uses_with(x_ptr, y_ptr, n, N: tl.constexpr):
    i = tl.arange(0, N)
    with torch.no_grad():
        tl.store(y_ptr + i, tl.load(x_ptr + i))


@triton.jit
def uses_lambda(x_ptr, y_ptr, n, N: tl.constexpr):
    i = tl.arange(0, N)
    square = lambda x: x * x  # noqa: E731
    tl.store(y_ptr + i, square(tl.load(x_ptr + i)))


@triton.jit
def uses_a_dict(x_ptr, y_ptr, n, N: tl.constexpr):
    i = tl.arange(0, N)
    held = {"x": tl.load(x_ptr + i)}
    tl.store(y_ptr + i, held["x"])


@triton.jit
def uses_a_set(x_ptr, y_ptr, n, N: tl.constexpr):
    i = tl.arange(0, N)
    held = {1, 2}
    tl.store(y_ptr + i, tl.load(x_ptr + i) + len(held))


@triton.jit
def uses_a_walrus(x_ptr, y_ptr, n, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(y_ptr + i, (x := tl.load(x_ptr + i)) + x)


@triton.jit
def uses_a_list_comprehension(x_ptr, y_ptr, n, N: tl.constexpr):
    i = tl.arange(0, N)
    parts = [tl.load(x_ptr + i) * k for k in range(3)]
    tl.store(y_ptr + i, parts[0] + parts[1] + parts[2])


@triton.jit
def uses_a_comprehension_of_a_tuple(x_ptr, y_ptr, n, N: tl.constexpr):
    i = tl.arange(0, N)
    parts = [tl.load(x_ptr + i) * k for k in (1, 2, 3)]
    tl.store(y_ptr + i, parts[0] + parts[1] + parts[2])


@triton.jit
def appends_to_a_list(x_ptr, y_ptr, n, N: tl.constexpr):
    i = tl.arange(0, N)
    parts = []
    parts.append(tl.load(x_ptr + i))
    tl.store(y_ptr + i, parts[0])


@triton.jit
def loops_over_a_list(x_ptr, y_ptr, n, N: tl.constexpr):
    i = tl.arange(0, N)
    x = tl.load(x_ptr + i)
    for k in [1.0, 2.0]:
        x += k
    tl.store(y_ptr + i, x)


@triton.jit
def loops_over_a_name(x_ptr, y_ptr, n, N: tl.constexpr):
    i = tl.arange(0, N)
    x = tl.load(x_ptr + i)
    steps = (1.0, 2.0)
    for k in steps:
        x += k
    tl.store(y_ptr + i, x)


@triton.jit
def loops_with_enumerate(x_ptr, y_ptr, n, N: tl.constexpr):
    i = tl.arange(0, N)
    x = tl.load(x_ptr + i)
    for _k, v in enumerate((1.0, 2.0)):
        x += v
    tl.store(y_ptr + i, x)


@triton.jit
def assigns_in_one_branch(x_ptr, y_ptr, n, N: tl.constexpr):
    i = tl.arange(0, N)
    if n > 3:
        x = tl.load(x_ptr + i)
    tl.store(y_ptr + i, x)


@triton.jit
def assigns_in_a_loop_alone(x_ptr, y_ptr, n, N: tl.constexpr):
    i = tl.arange(0, N)
    for _ in range(n):
        x = tl.load(x_ptr + i)
    tl.store(y_ptr + i, x)


@triton.jit
def reads_a_global(x_ptr, y_ptr, n, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(y_ptr + i, tl.load(x_ptr + i) * FACTOR)


@triton.jit
def reads_a_constant_global(x_ptr, y_ptr, n, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(y_ptr + i, tl.load(x_ptr + i) * CONSTANT)


@triton.jit
def reads_a_table(x_ptr, y_ptr, n, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(y_ptr + i, tl.load(x_ptr + i) * TABLE["two"])


@triton.jit
def calls_a_plain_helper(x_ptr, y_ptr, n, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(y_ptr + i, double(tl.load(x_ptr + i)))


@triton.jit
def calls_a_helper_that_calls_python(x_ptr, y_ptr, n, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(y_ptr + i, calls_python(tl.load(x_ptr + i)))


@triton.jit
def calls_a_jitted_helper(x_ptr, y_ptr, n, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(y_ptr + i, doubled(tl.load(x_ptr + i)))


@triton.jit
def calls_torch(x_ptr, y_ptr, n, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(y_ptr + i, tl.load(x_ptr + i) * torch.tensor(2.0).item())


@triton.jit
def reads_torch(x_ptr, y_ptr, n, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(y_ptr + i, tl.load(x_ptr + i) + torch.pi)


@triton.jit
def names_a_torch_dtype(x_ptr, y_ptr, n, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(y_ptr + i, tl.zeros((N,), torch.float32))


@triton.jit
def calls_numpy(x_ptr, y_ptr, n, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(y_ptr + i, tl.load(x_ptr + i) * float(np.sqrt(4.0)))


@triton.jit
def calls_math(x_ptr, y_ptr, n, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(y_ptr + i, tl.load(x_ptr + i) * math.sqrt(4.0))


@triton.jit
def calls_math_on_an_argument(x_ptr, y_ptr, n, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(y_ptr + i, tl.load(x_ptr + i) * math.sqrt(n))


@triton.jit
def asks_a_tile(x_ptr, y_ptr, n, N: tl.constexpr):
    i = tl.arange(0, N)
    x = tl.load(x_ptr + i)
    if x > 0.0:
        x = x + 1.0
    tl.store(y_ptr + i, x)


@triton.jit
def asks_a_tile_of_one(x_ptr, y_ptr, n, N: tl.constexpr):
    i = tl.arange(0, 1)
    x = tl.load(x_ptr + i)
    if x > 0.0:
        x = x + 1.0
    tl.store(y_ptr + i, x)


@triton.jit
def chooses_by_a_tile(x_ptr, y_ptr, n, N: tl.constexpr):
    i = tl.arange(0, N)
    x = tl.load(x_ptr + i)
    tl.store(y_ptr + i, x if x > 0.0 else 0.0)


@triton.jit
def joins_masks_with_and(x_ptr, y_ptr, n, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(y_ptr + i, tl.load(x_ptr + i), mask=(i < n) and (i >= 0))


@triton.jit
def multiplies_a_narrow_tile(x_ptr, y_ptr, n, N: tl.constexpr):
    i, k = tl.arange(0, 16), tl.arange(0, 8)
    x = tl.load(x_ptr + i[:, None] * 8 + k[None, :])
    tl.store(y_ptr + i[:, None] * 16 + i[None, :], tl.dot(x, tl.trans(x)))


@triton.jit
def multiplies_mixed_types(x_ptr, y_ptr, n, N: tl.constexpr):
    i = tl.arange(0, 16)
    x = tl.load(x_ptr + i[:, None] * 16 + i[None, :])
    tl.store(y_ptr + i[:, None] * 16 + i[None, :], tl.dot(x, x.to(tl.float16)))


@triton.jit
def deletes_a_name(x_ptr, y_ptr, n, N: tl.constexpr):
    i = tl.arange(0, N)
    x = tl.load(x_ptr + i)
    tl.store(y_ptr + i, x)
    del x


@triton.jit
def raises(x_ptr, y_ptr, n, N: tl.constexpr):
    i = tl.arange(0, N)
    if n < 0:
        raise ValueError("n is negative")
    tl.store(y_ptr + i, tl.load(x_ptr + i))


@triton.jit
def asserts(x_ptr, y_ptr, n, N: tl.constexpr):
    i = tl.arange(0, N)
    assert n > 0
    tl.store(y_ptr + i, tl.load(x_ptr + i))


@triton.jit
def defines_a_function(x_ptr, y_ptr, n, N: tl.constexpr):
    def square(x):
        return x * x

    i = tl.arange(0, N)
    tl.store(y_ptr + i, square(tl.load(x_ptr + i)))


@triton.jit
def imports(x_ptr, y_ptr, n, N: tl.constexpr):
    import math

    i = tl.arange(0, N)
    tl.store(y_ptr + i, tl.load(x_ptr + i) * math.pi)


@triton.jit
def declares_a_global(x_ptr, y_ptr, n, N: tl.constexpr):
    global FACTOR
    i = tl.arange(0, N)
    tl.store(y_ptr + i, tl.load(x_ptr + i))


@triton.jit
def uses_else_after_a_loop(x_ptr, y_ptr, n, N: tl.constexpr):
    i = tl.arange(0, N)
    x = tl.load(x_ptr + i)
    for _ in range(n):
        x += 1.0
    else:
        x += 2.0
    tl.store(y_ptr + i, x)


@triton.jit
def chains_comparisons(x_ptr, y_ptr, n, N: tl.constexpr):
    i = tl.arange(0, N)
    if 0 < n < 100:
        tl.store(y_ptr + i, tl.load(x_ptr + i))


@triton.jit
def assigns_twice_at_once(x_ptr, y_ptr, n, N: tl.constexpr):
    i = tl.arange(0, N)
    a = b = tl.load(x_ptr + i)
    tl.store(y_ptr + i, a + b)


@triton.jit
def asks_for_membership(x_ptr, y_ptr, n, N: tl.constexpr):
    i = tl.arange(0, N)
    if N in (16, 32):
        tl.store(y_ptr + i, tl.load(x_ptr + i))


@triton.jit
def uses_a_matrix_product_sign(x_ptr, y_ptr, n, N: tl.constexpr):
    i = tl.arange(0, 16)
    x = tl.load(x_ptr + i[:, None] * 16 + i[None, :])
    tl.store(y_ptr + i[:, None] * 16 + i[None, :], tl.dot(x, x))
    y = 3 @ 4  # noqa: F841


@triton.jit
def takes_a_power(x_ptr, y_ptr, n, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(y_ptr + i, tl.load(x_ptr + i) ** 2)


@triton.jit
def sums_in_python(x_ptr, y_ptr, n, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(y_ptr + i, sum((tl.load(x_ptr + i), tl.load(x_ptr + i)), 0.0))


@triton.jit
def takes_abs(x_ptr, y_ptr, n, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(y_ptr + i, abs(tl.load(x_ptr + i)))


@triton.jit
def takes_round(x_ptr, y_ptr, n, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(y_ptr + i, tl.load(x_ptr + i) * round(2.3))


@triton.jit
def takes_max_of_numbers(x_ptr, y_ptr, n, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(y_ptr + i, tl.load(x_ptr + i) * max(n, 3))


@triton.jit
def zips(x_ptr, y_ptr, n, N: tl.constexpr):
    i = tl.arange(0, N)
    x = tl.load(x_ptr + i)
    for a, b in zip((1.0, 2.0), (3.0, 4.0)):  # noqa: B905
        x += a * b
    tl.store(y_ptr + i, x)


@triton.jit
def formats_text(x_ptr, y_ptr, n, N: tl.constexpr):
    i = tl.arange(0, N)
    print(f"n is {n}")
    tl.store(y_ptr + i, tl.load(x_ptr + i))


@triton.jit
def prints(x_ptr, y_ptr, n, N: tl.constexpr):
    i = tl.arange(0, N)
    print("n is", n)
    tl.store(y_ptr + i, tl.load(x_ptr + i))


@triton.jit
def reads_a_size(x_ptr, y_ptr, n, N: tl.constexpr):
    i = tl.arange(0, N)
    x = tl.load(x_ptr + i)
    tl.store(y_ptr + i, x * x.shape[0])


@triton.jit
def slices_a_tile(x_ptr, y_ptr, n, N: tl.constexpr):
    i = tl.arange(0, N)
    x = tl.load(x_ptr + i)
    tl.store(y_ptr, x[0])


@triton.jit
def reassigns_a_constant_in_a_loop(x_ptr, y_ptr, n, N: tl.constexpr):
    i = tl.arange(0, N)
    k: tl.constexpr = 1
    for _ in range(n):
        k = k + 1
    tl.store(y_ptr + i, tl.load(x_ptr + i) + k)


@triton.jit
def sizes_a_tile_with_an_argument(x_ptr, y_ptr, n, N: tl.constexpr):
    i = tl.arange(0, n)
    tl.store(y_ptr + i, tl.load(x_ptr + i))


@triton.jit
def unpacks_with_a_star(x_ptr, y_ptr, n, N: tl.constexpr):
    i = tl.arange(0, N)
    first, *rest = (1.0, 2.0, 3.0)  # noqa: F841
    tl.store(y_ptr + i, tl.load(x_ptr + i) + first)


@triton.jit
def stores_the_end_of_a_while(x_ptr, y_ptr, n, N: tl.constexpr):
    i = tl.arange(0, N)
    x = tl.load(x_ptr + i)
    k = 0
    while k < n and k < 3:
        x += 1.0
        k += 1
    tl.store(y_ptr + i, x)


@triton.jit
def loops_for_ever_until_a_break(x_ptr, y_ptr, n, N: tl.constexpr):
    i = tl.arange(0, N)
    k = 0
    while True:
        k += 1
        if k > 3:
            break
    tl.store(y_ptr + i, tl.load(x_ptr + i) + k)


@triton.jit
def counts_with_a_float_step(x_ptr, y_ptr, n, N: tl.constexpr):
    i = tl.arange(0, N)
    for _ in range(0, n / 2):
        tl.store(y_ptr + i, tl.load(x_ptr + i))


@triton.jit
def calls_itself(x_ptr, y_ptr, n, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(y_ptr + i, tl.load(x_ptr + i))
    if n > 100:
        calls_itself(x_ptr, y_ptr, n - 1, N)


@triton.jit
def calls_a_method_of_torch(x_ptr, y_ptr, n, N: tl.constexpr):
    i = tl.arange(0, N)
    x = tl.load(x_ptr + i)
    tl.store(y_ptr + i, x.float())


@triton.jit
def yields(x_ptr, y_ptr, n, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(y_ptr + i, sum(k for k in (1.0, 2.0)))


@triton.jit
def matches(x_ptr, y_ptr, n, N: tl.constexpr):
    i = tl.arange(0, N)
    match N:
        case 16:
            tl.store(y_ptr + i, tl.load(x_ptr + i))


@triton.jit
def uses_a_docstring(x_ptr, y_ptr, n, N: tl.constexpr):
    """It is a statement too."""
    i = tl.arange(0, N)
    tl.store(y_ptr + i, tl.load(x_ptr + i))


@triton.jit
def uses_not_on_a_tile(x_ptr, y_ptr, n, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(y_ptr + i, tl.load(x_ptr + i), mask=not (i > n))


@triton.jit
def mixes_types_in_a_choice(x_ptr, y_ptr, n, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(y_ptr + i, tl.load(x_ptr + i) * (1 if n > 3 else 0.5))


@triton.jit
def returns_at_once_in_a_loop(x_ptr, y_ptr, n, N: tl.constexpr):
    i = tl.arange(0, N)
    for k in range(n):
        tl.store(y_ptr + i, tl.load(x_ptr + i) + k)
        return


@triton.jit
def returns_in_a_while(x_ptr, y_ptr, n, N: tl.constexpr):
    i = tl.arange(0, N)
    while n > 3:
        tl.store(y_ptr + i, tl.load(x_ptr + i))
        return


@triton.jit
def loops_over_a_tuple_by_index(x_ptr, y_ptr, n, N: tl.constexpr):
    i = tl.arange(0, N)
    x = tl.load(x_ptr + i)
    steps = (1.0, 2.0)
    for k in tl.static_range(2):
        x += steps[k]
    tl.store(y_ptr + i, x)


@triton.jit
def asks_a_tile_in_a_while(x_ptr, y_ptr, n, N: tl.constexpr):
    i = tl.arange(0, N)
    x = tl.load(x_ptr + i)
    while x > 0.0:
        x -= 1.0
    tl.store(y_ptr + i, x)


@triton.jit
def loops_for_ever(x_ptr, y_ptr, n, N: tl.constexpr):
    i = tl.arange(0, N)
    while True:
        tl.store(y_ptr + i, tl.load(x_ptr + i))


@triton.jit
def calls_itself_with_new_constants(x_ptr, y_ptr, n, N: tl.constexpr):
    calls_itself_with_new_constants(x_ptr, y_ptr, n, N + 1)
