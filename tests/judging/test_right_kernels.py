"""A right kernel passes in whatever style it is written."""

from __future__ import annotations

import functools
import threading

import pytest
import torch
import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor

from flashlearn.judging.cases import run
from flashlearn.lessons import find
from flashlearn.outcome import Status

RIGHT = {}


def right(exercise: str):
    def keep(function):
        RIGHT[f"{exercise}: {function.__name__}"] = (exercise, function)
        return function

    return keep


@triton.jit
def row(x_ptr, i, n, step_row, step_column, BLOCK: tl.constexpr):
    j = tl.arange(0, BLOCK)
    return tl.load(x_ptr + i * step_row + j * step_column, mask=j < n, other=0.0).to(tl.float32)


@triton.jit
def plus(a, b):
    return a + b


@triton.jit
def two_pointers_kernel(x_ptr, y_ptr, z_ptr, a, n, BLOCK: tl.constexpr):
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)[None, :]
    first = tl.arange(0, 2)[:, None] == 0
    both = tl.load(tl.where(first, x_ptr + lanes, y_ptr + lanes), mask=lanes < n, other=0.0)
    total = tl.sum(both.to(tl.float32) * tl.where(first, a, 1.0), axis=0, keep_dims=True)
    tl.store(z_ptr + lanes, total, mask=lanes < n)


@right("scaled_add")
def pointers_chosen_by_where(a, x, y, block=128):
    x, y = x.contiguous(), y.contiguous()
    z = torch.empty_like(x)
    two_pointers_kernel[(triton.cdiv(x.numel(), block),)](x, y, z, a, x.numel(), BLOCK=block)
    return z


RIGHT["scaled_add: a partial"] = ("scaled_add", functools.partial(pointers_chosen_by_where, block=64))


@right("scaled_add")
def launched_by_a_thread(a, x, y):
    answers = []
    worker = threading.Thread(target=lambda: answers.append(pointers_chosen_by_where(a, x, y)))
    worker.start()
    worker.join()
    return answers[0]


@triton.autotune([triton.Config({"BLOCK": 64}, pre_hook=lambda given: given["z_ptr"].zero_())], key=["n"])
@triton.heuristics({"EVEN": lambda given: given["n"] % given["BLOCK"] == 0})
@triton.jit
def tuned_kernel(pointers, z_ptr, a, n, BLOCK: tl.constexpr, EVEN: tl.constexpr):
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x_ptr, y_ptr = pointers
    if EVEN:
        tl.atomic_add(z_ptr + lanes, a * tl.load(x_ptr + lanes) + tl.load(y_ptr + lanes))
    else:
        inside = lanes < n
        z = a * tl.load(x_ptr + lanes, mask=inside) + tl.load(y_ptr + lanes, mask=inside)
        tl.atomic_add(z_ptr + lanes, z, mask=inside)


@right("scaled_add")
def tuned_with_a_tuple_of_pointers(a, x, y):
    z = torch.empty(x.shape, dtype=torch.float32)
    n = x.numel()
    pointers = (x.contiguous().float(), y.contiguous().float())
    tuned_kernel[lambda meta: (triton.cdiv(n, meta["BLOCK"]),)](pointers, z_ptr=z, a=a, n=n)
    return z.to(x.dtype)


@triton.jit
def elementwise_atomics_kernel(x_ptr, s_ptr, n, step_row, step_column, BLOCK: tl.constexpr):
    i, j = tl.program_id(0), tl.arange(0, BLOCK)
    x = row(x_ptr, i, n, step_row, step_column, BLOCK)
    tl.atomic_add(s_ptr + i + tl.zeros([BLOCK], tl.int32), x, mask=j < n)


@triton.jit
def persistent_kernel(x_ptr, s_ptr, n, step_row, step_column, m, BLOCK: tl.constexpr):
    for i in tl.range(tl.program_id(0), m, tl.num_programs(0), num_stages=2):
        x = row(x_ptr, i.to(tl.int64), n, step_row, step_column, BLOCK)
        tl.store(s_ptr + i, tl.reduce(x, 0, plus))


@triton.jit
def last_one_sums_kernel(
    x_ptr, part_ptr, count_ptr, s_ptr, n, step_row, step_column, G, BLOCK: tl.constexpr, PARTS: tl.constexpr
):
    i, g, k = tl.program_id(0), tl.program_id(1), tl.arange(0, BLOCK)
    j = g * BLOCK + k
    x = tl.load(x_ptr + i * step_row + j * step_column, mask=j < n, other=0.0).to(tl.float32)
    tl.store(part_ptr + i * G + g, tl.sum(x))
    tl.debug_barrier()
    if tl.atomic_add(count_ptr + i, 1, sem="acq_rel") == G - 1:
        parts = tl.arange(0, PARTS)
        tl.store(s_ptr + i, tl.sum(tl.load(part_ptr + i * G + parts, mask=parts < G, other=0.0)))


@triton.jit
def descriptor_kernel(x, s_ptr, m, n, BLOCK: tl.constexpr):
    first = tl.program_id(0) * 4
    total = tl.zeros((4, BLOCK), tl.float32)
    for column in range(0, n, BLOCK):
        total += x.load([first, column]).to(tl.float32)
    rows = first + tl.arange(0, 4)
    tl.store(s_ptr + rows, tl.sum(total, axis=1), mask=rows < m)


def per_row(kernel, s, x, *more, grid=None):
    n = x.shape[1]
    kernel[grid or (x.shape[0],)](x, s, n, *x.stride(), *more, BLOCK=max(triton.next_power_of_2(n), 2))
    return s.to(x.dtype)


@right("row_sum")
def by_atomics_on_each_element(x):
    return per_row(elementwise_atomics_kernel, torch.zeros(x.shape[0]), x)


@right("row_sum")
def into_memory_zeroed_in_place(x):
    return per_row(elementwise_atomics_kernel, torch.empty(x.shape[0]).zero_(), x)


@right("row_sum")
def by_five_programs_for_all_rows(x):
    return per_row(persistent_kernel, x.new_empty(x.shape[0]), x, x.shape[0], grid=(5,))


@right("row_sum")
def by_the_program_that_comes_last(x):
    rows, n = x.shape
    G = triton.cdiv(n, 16)
    part, s = torch.empty((rows, G)), torch.empty(rows, dtype=x.dtype)
    count = torch.zeros(rows, dtype=torch.int32)
    parts = triton.next_power_of_2(G)
    last_one_sums_kernel[(rows, G)](x, part, count, s, n, *x.stride(), G, BLOCK=16, PARTS=parts)
    return s


@right("row_sum")
def through_a_descriptor(x):
    rows, n = x.shape
    wide = triton.cdiv(n, 16) * 16
    padded = torch.nn.functional.pad(x, (0, wide - n)).contiguous()
    s = torch.empty(rows, dtype=x.dtype)
    x = TensorDescriptor(padded, [rows, n], [wide, 1], [4, 16])
    descriptor_kernel[(triton.cdiv(rows, 4),)](x, s, rows, n, BLOCK=16)
    return s


@triton.jit
def sparse_softmax_kernel(s_ptr, p_ptr, n, step_row, step_column, BLOCK: tl.constexpr):
    i, j = tl.program_id(0), tl.arange(0, BLOCK)
    s = tl.load(s_ptr + i * step_row + j * step_column, mask=j < n, other=-float("inf")).to(tl.float32)
    e = tl.exp2((s - tl.max(s, axis=0)) * 1.4426950408889634)
    p = e / tl.sum(e, axis=0)
    tl.store(p_ptr + i * n + j, p, mask=(j < n) & (p > 0))


@right("softmax_forward")
def storing_only_what_is_not_zero(s):
    return per_row(sparse_softmax_kernel, torch.empty(s.shape, dtype=s.dtype).zero_(), s)


@triton.jit
def work_queue_kernel(ids_ptr, next_ptr, n, BLOCK: tl.constexpr):
    number = tl.atomic_add(next_ptr, 1)
    lanes = number * BLOCK + tl.arange(0, BLOCK)
    tl.store(ids_ptr + lanes, number, mask=lanes < n)


@right("program_ids")
def by_a_work_queue(x, block):
    ids = torch.empty(x.numel(), dtype=torch.int64)
    queue = torch.zeros(1, dtype=torch.int32)
    work_queue_kernel[1, 1, triton.cdiv(x.numel(), block)](ids, queue, x.numel(), BLOCK=block)
    return ids.to(torch.int32)


@pytest.mark.parametrize("name", RIGHT)
def test_a_right_kernel_passes(name):
    exercise, function = RIGHT[name]
    wrong = [o for o in run(find(exercise), function, compiled=False) if o.status is not Status.PASS]
    assert [(o.case.name, o.status.name, o.message) for o in wrong] == []
