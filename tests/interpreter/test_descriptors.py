"""Tensor descriptors in observed kernels: blocks keep to the shape, and their rules are said in words."""

from __future__ import annotations

import math

import pytest
import torch
import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor

from flashlearn import compiler
from flashlearn.compiler.lowering import Lowering
from flashlearn.interpreter import index_overflow
from flashlearn.interpreter.cautions import NO_ALLOCATOR
from flashlearn.interpreter.errors import KernelCrash, OutOfBounds
from flashlearn.interpreter.observers.nan_origin import NanTracker
from flashlearn.interpreter.route import observing
from flashlearn.running.crashes import describe_exception

BLOCK, D = 16, 32


@triton.jit
def scale_heads(x, y, H, factor, BLOCK: tl.constexpr, D: tl.constexpr):
    tl.assume(H > 0)
    start = tl.multiple_of(tl.program_id(0) * BLOCK, BLOCK)
    b, h = tl.program_id(1) // H, tl.program_id(1) % H
    tile = x.load([b, h, start, 0]).reshape(BLOCK, D)
    y.store([b, h, start, 0], (tile.to(tl.float32) * factor).reshape(1, 1, BLOCK, D))


@triton.jit
def add_rows(x, total, S, BLOCK: tl.constexpr, D: tl.constexpr):
    first = tl.program_id(0) * BLOCK
    rows = tl.zeros((BLOCK, D), dtype=tl.float32)
    for start in tl.range(
        first,
        S,
        BLOCK * 2,
        num_stages=3,
        warp_specialize=False,
        disallow_acc_multi_buffer=True,
        flatten=False,
    ):
        tile = x.load([start, 0]).to(tl.float32)
        rows = tl.fma(tile, tl.math.exp2(tile * 0.0), rows)
    total.atomic_add([0, 0], rows * tl.exp2(0.0))


@triton.jit
def every_rank(x_ptr, y_ptr, N, RANK: tl.constexpr):
    if RANK == 1:
        x = tl.make_tensor_descriptor(x_ptr, [N], [1], [8])
        y = tl.make_tensor_descriptor(y_ptr, [N], [1], [8])
        y.store([8], x.load([8]))
    elif RANK == 2:
        x = tl.make_tensor_descriptor(x_ptr, [3, N], [N, 1], [2, 8])
        y = tl.make_tensor_descriptor(y_ptr, [3, N], [N, 1], [2, 8])
        y.store([2, 8], x.load([2, 8]))
    elif RANK == 3:
        x = tl.make_tensor_descriptor(x_ptr, [3, 2, N], [2 * N, N, 1], [1, 2, 8])
        y = tl.make_tensor_descriptor(y_ptr, [3, 2, N], [2 * N, N, 1], [1, 2, 8])
        y.store([1, 1, -8], x.load([1, 1, -8]))
    else:
        x = tl.make_tensor_descriptor(x_ptr, [3, 2, 1, 1, N], [2 * N, N, N, N, 1], [1, 1, 1, 1, 16])
        y = tl.make_tensor_descriptor(y_ptr, [3, 2, 1, 1, N], [2 * N, N, N, N, 1], [1, 1, 1, 1, 16])
        y.store([1, 1, 0, 0, 8], x.load([1, 1, 0, 0, 8]))


@triton.jit
def pick_rows(x, y_ptr, z, BLOCK: tl.constexpr, D: tl.constexpr):
    rows = tl.arange(0, BLOCK)
    tile = x.gather((rows * 5) % 12, 0)
    tl.store(y_ptr + rows[:, None] * D + tl.arange(0, D)[None, :], tile)
    z.scatter(tile, (rows * 5) % 12, 0)


@triton.jit
def store_as(y, SHAPE: tl.constexpr, AT: tl.constexpr, ATOMIC: tl.constexpr, HALF: tl.constexpr):
    tile = tl.full(SHAPE, 1.0, tl.float16 if HALF else tl.float32)
    if ATOMIC:
        y.atomic_add([0, AT], tile)
    else:
        y.store([0, AT], tile)


@triton.jit
def described_by(x_ptr, rows, stride, last, WIDTH: tl.constexpr):
    desc = tl.make_tensor_descriptor(x_ptr, [rows, 32], [stride, last], [4, WIDTH])
    desc.store([0, 0], desc.load([0, 0]))


@triton.jit
def meet(y, n, ATOMIC: tl.constexpr):
    tile = tl.full((4, 8), 1.0, tl.float32) + tl.program_id(0)
    if ATOMIC or tl.program_id(0) == n:
        y.atomic_add([0, 0], tile)
    else:
        y.store([0, 0], tile)


@triton.jit
def add_one(y):
    y.atomic_add([0, 0], tl.full((4, 8), 1.0, tl.bfloat16))


def of(x: torch.Tensor, *block: int, **more) -> TensorDescriptor:
    return TensorDescriptor.from_tensor(x, list(block), **more)


def heads(S: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.randn(2, 3, S, D, generator=torch.Generator().manual_seed(S)).to(dtype)


def crash(launch) -> str:
    with pytest.raises(KernelCrash) as caught, observing():
        launch()
    return caught.value.sentence


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
@pytest.mark.parametrize("S", [16, 37])
def test_blocks_of_heads_are_copied_up_to_the_last_row_and_rounded_once(S, dtype):
    x = heads(S, dtype)
    with observing(seed=1) as (session, _):
        y = torch.empty_like(x)
        block = (1, 1, BLOCK, D)
        scale_heads[(triton.cdiv(S, BLOCK), 6)](of(x, *block), of(y, *block), 3, 1.1, BLOCK=BLOCK, D=D)
    assert torch.equal(y, (x.float() * torch.tensor(1.1)).to(dtype))
    traffic = session.observation().traffic
    assert traffic["x"].loaded == traffic["y"].stored == x.nbytes
    assert not session.memory.races.found and not session.memory.raw_pointers.tensors


def test_a_view_that_swaps_heads_and_rows_is_described_by_its_strides():
    x = torch.randn(2, 20, 3, D).transpose(1, 2)
    y = torch.zeros(2, 20, 3, D).transpose(1, 2)
    with observing():
        scale_heads[(2, 6)](of(x, 1, 1, 16, D), of(y, 1, 1, 16, D), 3, 1.0, BLOCK=16, D=D)
    assert torch.equal(x, y)


REGIONS = {
    1: ((12,), (slice(8, None),)),
    2: ((3, 12), (slice(2, None), slice(8, None))),
    3: ((3, 2, 12), (slice(0),)),  # columns −8 to −1: nothing of it is there
    5: ((3, 2, 1, 1, 12), (1, 1, 0, 0, slice(8, None))),
}


@pytest.mark.parametrize("rank", REGIONS)
def test_a_kernel_makes_descriptors_of_every_rank_and_what_lies_outside_is_dropped(rank):
    shape, inside = REGIONS[rank]
    x, y, wanted = torch.randn(shape), torch.zeros(shape), torch.zeros(shape)
    wanted[inside] = x[inside]
    with observing():
        every_rank[(1,)](x, y, 12, RANK=rank)
    assert torch.equal(y, wanted)


@pytest.mark.parametrize("padding", ["zero", "nan"])
def test_what_lies_outside_is_loaded_as_the_padding(padding):
    x, y = torch.randn(2, 3, 5, D), torch.empty(2, 3, 16, D)
    with observing():
        x_desc = of(x, 1, 1, 16, D, padding=padding)
        scale_heads[(1, 6)](x_desc, of(y, 1, 1, 16, D), 3, 1.0, BLOCK=16, D=D)
    beyond = y[:, :, 5:]
    assert torch.equal(y[:, :, :5], x)
    assert bool(beyond.isnan().all()) if padding == "nan" else not beyond.any()


def test_rows_are_gathered_and_scattered_by_their_numbers():
    x, y, z = torch.randn(11, D), torch.empty(16, D), torch.zeros(11, D)
    with observing():
        pick_rows[(1,)](of(x, 1, D), y, of(z, 1, D), BLOCK=16, D=D)
    numbers = torch.arange(16) * 5 % 12
    wanted = torch.cat([x, torch.zeros(1, D)])[numbers]  # row 11 is not there
    assert torch.equal(y, wanted) and torch.equal(z, x)


def test_atomics_add_up_over_programs_inside_the_shape_alone_and_are_no_race():
    x, total = torch.randn(37, D), torch.zeros(9, D)
    with observing(seed=3) as (session, _):
        add_rows[(2,)](of(x, BLOCK, D), of(total, BLOCK, D), 37, BLOCK=BLOCK, D=D)
    folded = torch.cat([x, torch.zeros(11, D)]).view(3, BLOCK, D).sum(0)[:9]
    assert torch.allclose(total, folded, atol=1e-5)
    assert not session.memory.races.found
    assert session.observation().traffic["total"].atomic == 2 * total.nbytes


@pytest.mark.parametrize(("atomic", "races"), [(True, 0), (False, 1)])
def test_a_store_that_meets_an_atomic_is_a_race(atomic, races):
    with observing() as (session, _):
        meet[(2,)](of(torch.zeros(4, 8), 4, 8), 1, ATOMIC=atomic)
    assert len(session.memory.races.found) == races


def test_half_precision_atomics_round_each_sum():
    y = torch.full((4, 8), 256.0, dtype=torch.bfloat16)
    with observing():
        add_one[(3,)](of(y, 4, 8))  # 256 + 1 is 256 again in bf16
    assert bool((y == 256).all())


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ({"SHAPE": (8, 4)}, "`tile.reshape(4, 8)`"),
        ({"AT": 3}, "begin at a multiple of 16 bytes along the last dimension, 4 elements here"),
        ({"ATOMIC": True, "HALF": True}, "`tile.to(tl.float32)`"),
    ],
)
def test_a_tile_that_does_not_fit_the_block_is_told_so(how, said):
    options = {"SHAPE": (4, 8), "AT": 0, "ATOMIC": False, "HALF": False} | how
    assert said in crash(lambda: store_as[(1,)](of(torch.zeros(4, 8), 4, 8), **options))


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ((4, 34, 1, 8), "one is 34 elements of 4 bytes, 136"),
        ((4, 64, 2, 8), "its stride is 2"),
        ((4, 32, 1, 2), "holds 2 elements of 4 bytes there: use at least 4"),
        ((0, 32, 1, 8), "for an empty tensor, launch nothing"),
    ],
)
def test_memory_that_no_kernel_can_describe_is_told_so(how, said):
    assert said in crash(lambda: described_by[(1,)](torch.zeros(512), *how))


def test_a_view_that_begins_between_two_multiples_is_told_so():
    assert "begin at a multiple of 16 bytes; this one begins 8 bytes (2 elements)" in crash(
        lambda: described_by[(1,)](torch.zeros(512)[2:], 4, 32, 1, 8)
    )


@pytest.mark.parametrize(
    ("x", "block", "said"),
    [
        (torch.zeros(8, 6), [4, 4], "one is 6 elements of 4 bytes, 24: pad the rows to multiples of 4"),
        (torch.zeros(8, 16).T, [4, 4], "its stride is 16"),
        (torch.zeros(8, 16)[:, 1:], [4, 4], "begin at a multiple of 16 bytes"),
        (torch.zeros(8, 16), [4], "the block has 1 sizes"),
    ],
)
def test_a_launcher_learns_why_its_tensor_cannot_be_described(x, block, said):
    def launcher(x):
        return TensorDescriptor.from_tensor(x, block)

    with pytest.raises(AssertionError) as caught:
        launcher(x)
    assert said in describe_exception(caught.value, 1.0, launcher).sentence


def test_a_descriptor_that_promises_more_than_the_tensor_has_is_told_so():
    lying = TensorDescriptor(torch.zeros(4, 8), [8, 8], [8, 1], [8, 8])
    with pytest.raises(OutOfBounds) as caught, observing():
        store_as[(1,)](lying, SHAPE=(8, 8), AT=0, ATOMIC=False, HALF=False)
    assert "Its descriptor has shape (8, 8) and strides (8, 1)" in caught.value.sentence
    assert "descriptor" in caught.value.fault


def test_a_kernel_that_makes_descriptors_wants_an_allocator_on_a_gpu():
    with observing() as (session, _):
        described_by[(1,)](torch.zeros(512), 4, 32, 1, 8)
        meet[(1,)](of(torch.zeros(4, 8), 4, 8), 1, ATOMIC=True)
    (caution,) = session.observation().warnings
    assert caution.kind == NO_ALLOCATOR and "make_tensor_descriptor" in caution.place.text


def test_an_observer_of_nan_sees_what_a_descriptor_loads():
    x, y = torch.full((1, 1, 16, D), math.nan), torch.zeros(1, 1, 16, D)
    tracker = NanTracker()
    with observing(observers=(tracker,)):
        scale_heads[(1, 1)](of(x, 1, 1, 16, D), of(y, 1, 1, 16, D), 1, 1.0, BLOCK=16, D=D)
    assert tracker.observation().of(y)


def test_a_descriptors_offsets_do_not_overflow_at_any_size():
    def launch() -> None:
        x = torch.empty_strided((32, 16, 64, D), (2**31, 2**27, D, 1), device="meta")
        block = of(x, 1, 1, BLOCK, D)
        scale_heads[(4, 512)](block, block, 16, 1.0, BLOCK=BLOCK, D=D)

    assert index_overflow.attempt(launch) == (None, [])


def test_triton_lowers_and_compiles_what_descriptors_were_handed_to():
    x, total = torch.randn(37, D), torch.zeros(16, D)
    with observing() as (session, _):
        add_rows[(2,)](of(x, BLOCK, D), of(total, BLOCK, D), 37, BLOCK=BLOCK, D=D)
    (launch,) = session.observation().launches
    assert launch.signature["x"] == f"tensordesc<fp32[{BLOCK}, {D}]>"
    with Lowering([launch.specialised]) as lowering:
        assert lowering.refusals() == ()
    ampere, hopper = compiler.compile_launch(launch)
    assert not ampere.error and not hopper.error
    assert (ampere.tma, hopper.tma) == (False, True)
