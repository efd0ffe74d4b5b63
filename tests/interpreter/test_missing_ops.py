"""What triton takes and its own interpreter does not: it runs observed, or says what it needs."""

from __future__ import annotations

from collections import namedtuple

import pytest
import torch
import triton
import triton.language as tl

from flashlearn.compiler.lowering import attempt
from flashlearn.interpreter.deadline import deadline
from flashlearn.interpreter.errors import NeedsGpu, OutOfBounds, TimeLimit
from flashlearn.interpreter.route import observing
from flashlearn.interpreter.specialization import specialize

Vector = namedtuple("Vector", "ptr n")


@triton.jit
def assembles(x_ptr, y_ptr, N: tl.constexpr):
    i = tl.arange(0, N)
    x = tl.load(x_ptr + i)
    y = tl.inline_asm_elementwise(
        "ex2.approx.f32 $0, $1;", "=f,f", [x], dtype=tl.float32, is_pure=True, pack=1
    )
    tl.store(y_ptr + i, y)


@triton.jit
def larger(a, b):
    if a > b:
        return a
    else:
        return b


@triton.jit
def sum_and_difference(a, b):
    return a + b, a - b


@triton.jit
def swapped(a, b, c, d):
    return b + c, a + d


@triton.jit
def maps(x_ptr, y_ptr, N: tl.constexpr):
    i = tl.arange(0, N)
    x = tl.load(x_ptr + i)
    tl.store(y_ptr + i, tl.map_elementwise(larger, x, 1.0 - x))


@triton.jit
def maps_to_two(x_ptr, y_ptr, N: tl.constexpr):
    i = tl.arange(0, N)
    x = tl.load(x_ptr + i)
    total, difference = tl.map_elementwise(sum_and_difference, x, x * x)
    tl.store(y_ptr + i, total * difference)


@triton.jit
def maps_pairs(x_ptr, y_ptr, N: tl.constexpr):
    i = tl.arange(0, N)
    x = tl.load(x_ptr + i)
    tl.store(y_ptr + i, tl.map_elementwise(swapped, x, x * 10.0, pack=2)[0])


@triton.jit
def multiplies_scaled(a_ptr, scale_ptr, y_ptr, N: tl.constexpr):
    i, k, s = tl.arange(0, N), tl.arange(0, 64), tl.arange(0, 2)
    a = tl.load(a_ptr + i[:, None] * 64 + k[None, :])
    scale = tl.load(scale_ptr + i[:, None] * 2 + s[None, :])
    product = tl.dot_scaled(a, scale, "e5m2", tl.trans(a), scale, "e5m2")
    tl.store(y_ptr + i[:, None] * N + i[None, :], product)


@triton.jit
def multiplies_fours(a_ptr, scale_ptr, y_ptr, N: tl.constexpr):
    i, k, s = tl.arange(0, N), tl.arange(0, 32), tl.arange(0, 2)
    a = tl.load(a_ptr + i[:, None] * 32 + k[None, :])
    scale = tl.load(scale_ptr + i[:, None] * 2 + s[None, :])
    product = tl.dot_scaled(a, scale, "e2m1", tl.trans(a), scale, "e2m1")
    tl.store(y_ptr + i[:, None] * N + i[None, :], product)


@triton.jit
def takes_a_named_tuple(x, y, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(y.ptr + i, tl.load(x.ptr + i, mask=i < x.n, other=0.0), mask=i < y.n)


@triton.jit
def is_wide(y_ptr, n: tl.int64, N: tl.constexpr):
    tl.static_assert(n.dtype == tl.int64)
    tl.store(y_ptr, n * 1000000 * 1000000)


@triton.jit
def follows_pointers(p_ptr, y_ptr, N: tl.constexpr):
    i = tl.arange(0, N)
    row = tl.load(p_ptr + tl.program_id(0)).to(tl.pointer_type(tl.float32))
    tl.store(y_ptr + tl.program_id(0) * N + i, tl.load(row + i))


@triton.jit
def takes_turns(x_ptr, y_ptr, turn_ptr, N: tl.constexpr):
    pid = tl.program_id(0)
    x = tl.load(x_ptr + pid)
    while tl.atomic_cas(turn_ptr, pid, pid) != pid:
        pass
    tl.store(y_ptr, tl.load(y_ptr) * 2.0 + x)
    tl.atomic_xchg(turn_ptr, pid + 1)


@triton.jit
def meets_all_others(x_ptr, y_ptr, turn_ptr, N: tl.constexpr):
    tl.store(y_ptr + tl.program_id(0), 1.0)
    tl.atomic_add(turn_ptr, 1)
    while tl.atomic_add(turn_ptr, 0) < tl.num_programs(0):
        pass


@triton.jit
def waits_for_nobody(x_ptr, y_ptr, turn_ptr, N: tl.constexpr):
    while tl.atomic_add(turn_ptr, 0) < 5:
        pass


def observed(kernel, grid: int, *arguments, seed: int = 0, **constants):
    with observing(seed=seed) as (session, _):
        kernel[(grid,)](*arguments, **constants)
    assert not session.memory.races.found
    return session


def test_what_this_module_runs_is_what_triton_compiles():
    x, y, turn = torch.ones(16), torch.ones(16), torch.zeros(1, dtype=torch.int32)
    pointers, eights = torch.zeros(2, dtype=torch.int64), torch.zeros(16, 64).to(torch.float8_e5m2)
    bytes_, scale = torch.zeros(16, 32, dtype=torch.uint8), torch.zeros(16, 2, dtype=torch.uint8)
    launches = [
        *((kernel, (x, y)) for kernel in (assembles, maps, maps_to_two, maps_pairs)),
        *((kernel, (x, y, turn)) for kernel in (takes_turns, meets_all_others, waits_for_nobody)),
        (multiplies_scaled, (eights, scale, y)),
        (multiplies_fours, (bytes_, scale, y)),
        (takes_a_named_tuple, (Vector(x, 7), Vector(y, 9))),
        (is_wide, (pointers, 5)),
        (follows_pointers, (pointers, y)),
    ]
    for kernel, arguments in launches:
        assert attempt(specialize(kernel, arguments, {"N": 16})) == {}, kernel


def test_inline_assembly_says_that_it_needs_a_gpu():
    with pytest.raises(NeedsGpu, match="needs a GPU") as caught:
        observed(assembles, 1, torch.ones(16), torch.ones(16), N=16)
    assert "inline_asm_elementwise" in caught.value.place.text


def test_a_scalar_function_is_mapped_over_a_tile():
    x, y = torch.linspace(0, 1, 16), torch.zeros(16)
    observed(maps, 1, x, y, N=16)
    assert torch.equal(y, torch.maximum(x, 1 - x))
    observed(maps_to_two, 1, x, y, N=16)
    torch.testing.assert_close(y, (x + x * x) * (x - x * x))


def test_a_mapped_function_gets_neighbours_of_each_operand_together():
    x, y = torch.arange(16.0), torch.zeros(16)
    observed(maps_pairs, 1, x, y, N=16)
    a, b = x[0::2], x[1::2]
    assert torch.equal(y, torch.stack([b + 10 * a, a + 10 * b], 1).flatten())


def test_a_block_scaled_product_takes_each_scale_for_32_neighbours():
    a = torch.randn(16, 64, generator=torch.Generator().manual_seed(0)).to(torch.float8_e5m2)
    scale = torch.randint(120, 130, (16, 2), generator=torch.Generator().manual_seed(0)).to(torch.uint8)
    y = torch.zeros(16, 16)
    session = observed(multiplies_scaled, 1, a, scale, y, N=16)
    wide = a.double() * torch.exp2(scale.double() - 127).repeat_interleave(32, dim=1)
    rounding = 1e-6 * (wide.abs() @ wide.abs().T)  # of float32, in whatever order the products are added
    assert ((y - wide @ wide.T).abs() <= rounding).all()
    assert session.operations["dot"] == 2 * 16 * 16 * 64


def test_numbers_of_four_bits_come_out_of_bytes_lower_half_first():
    table = torch.tensor([0, 0.5, 1, 1.5, 2, 3, 4, 6])
    halves = torch.randint(0, 16, (16, 64), generator=torch.Generator().manual_seed(0))
    a = (halves[:, 0::2] | halves[:, 1::2] << 4).to(torch.uint8)
    y = torch.zeros(16, 16)
    observed(multiplies_fours, 1, a, torch.full((16, 2), 127, dtype=torch.uint8), y, N=16)
    wide = table[halves & 7] * torch.where(halves >= 8, -1.0, 1.0)
    torch.testing.assert_close(y, wide @ wide.T)


def test_the_fields_of_a_named_tuple_are_reached_by_name():
    x, y = torch.arange(16.0) + 1, torch.zeros(16)
    observed(takes_a_named_tuple, 1, Vector(x, 7), Vector(y, 9), N=16)
    assert torch.equal(y[:7], x[:7]) and not y[7:].any()


def test_an_annotation_makes_a_small_number_wide():
    y = torch.zeros(1, dtype=torch.int64)
    session = observed(is_wide, 1, y, 5, N=16)
    assert y.item() == 5 * 10**12
    assert session.launches[0].signature["n"] == "i64"


def test_pointers_kept_in_a_tensor_lead_to_their_tensors():
    rows, y = [torch.full((16,), float(i)) for i in range(3)], torch.zeros(3, 16)

    def launcher():
        pointers = torch.tensor([row.data_ptr() for row in rows])
        follows_pointers[(3,)](pointers, y, N=16)

    with observing(seed=0):
        launcher()
    assert torch.equal(y, torch.stack(rows))


def test_a_kept_pointer_is_followed_no_further_than_its_tensor():
    short = torch.zeros(12)
    with pytest.raises(OutOfBounds, match="kept as a pointer"), observing(seed=0):
        follows_pointers[(1,)](torch.tensor([short.data_ptr()]), torch.zeros(16), N=16)
    assert "data_ptr" not in torch.Tensor.__dict__


@pytest.mark.parametrize("seed", range(3))
def test_programs_take_turns_in_whatever_order_they_are_begun(seed: int):
    x, y = torch.arange(6.0), torch.zeros(1)
    observed(takes_turns, 6, x, y, torch.zeros(1, dtype=torch.int32), seed=seed, N=16)
    assert y.item() == sum(float(i) * 2 ** (5 - i) for i in range(6))


def test_programs_that_have_written_and_then_wait_need_a_gpu():
    with pytest.raises(NeedsGpu, match=r"waits until another one changes turn_ptr\[0\]"):
        observed(meets_all_others, 4, torch.zeros(4), torch.zeros(4), torch.zeros(1, dtype=torch.int32), N=16)


def test_who_waits_for_nobody_is_ended_by_the_time_limit():
    with pytest.raises(TimeLimit), deadline(0.2), observing(seed=0):
        waits_for_nobody[(3,)](torch.zeros(4), torch.zeros(4), torch.zeros(1, dtype=torch.int32), N=16)


def test_what_a_launch_gives_back_says_what_it_needs():
    with observing(seed=0):
        compiled = maps[(1,)](torch.zeros(16), torch.zeros(16), N=16)
        assert "maps" in repr(compiled) and not hasattr(compiled, "colour")
        with pytest.raises(NeedsGpu, match=r"`\.n_regs` belongs to a compiled kernel"):
            print(compiled.n_regs)
        y = torch.zeros(16)
        compiled[(1,)](torch.ones(16), y, N=16)
        assert torch.equal(y, torch.ones(16))
