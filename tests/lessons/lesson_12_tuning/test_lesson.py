"""Lesson 12: what is planned beforehand is so, each rung is right, and a record shows what was measured."""

from __future__ import annotations

import math
import random

import pytest
import torch

from flashlearn.kernels.shapes import Shape
from flashlearn.lessons.lesson_12_tuning import counted, ladder, lean_forward, pictures, planning, record
from flashlearn.lessons.shared import grouped, grouped_cases, reference
from flashlearn.lessons.shared.attention_cases import attention_case
from tests.corpus import find_entry
from tests.reviewing import reviewed

SIZES = [random.Random(seed).choices((1, 7, 16, 33, 64, 100, 130), k=2) for seed in range(12)]


@pytest.mark.parametrize("S_q, S_k", SIZES)
@pytest.mark.parametrize("block_q, block_k", [(16, 16), (32, 16), (16, 64)])
def test_whole_tiles_are_seen_by_all_of_a_block_and_beyond_the_end_nobody_sees(S_q, S_k, block_q, block_k):
    seen = reference.visible(S_q, S_k, causal=True)
    for first in range(0, S_q, block_q):
        whole, end = planning.loop_bounds(first, block_q, block_k, S_q, S_k)
        rows = seen[first : first + block_q]
        assert rows[:, :whole].all() and not rows[:, end:].any()
        assert not rows[:, whole : whole + block_k].all() or whole + block_k > S_k


@pytest.mark.parametrize("blocks, heads", [(1, 1), (5, 3), (16, 40)])
def test_the_heaviest_blocks_begin_first_and_every_tile_has_its_program(blocks, heads):
    tiles = [planning.program_to_tile(pid, blocks, heads) for pid in range(blocks * heads)]
    assert sorted(tiles) == [(block, head) for block in range(blocks) for head in range(heads)]
    work = planning.causal_work(planning.program_to_tile, blocks, heads)
    assert work == sorted(work, reverse=True)


def test_a_makespan_is_no_less_than_the_work_shared_out_evenly():
    work = planning.causal_work(planning.program_to_tile, 16, 40)
    end, pieces = planning.makespan(work, 132)
    assert sum(work) / 132 <= end <= 4 / 3 * (sum(work) / 132 + max(work))
    assert len(pieces) == len(work) and max(stop for _, _, stop in pieces) == end


def test_shared_memory_is_what_the_formula_says_and_too_many_accumulators_spill():
    for shape, spills in ((Shape(64, 64, 4, 2), False), (Shape(128, 128, 4, 2), True)):
        shared, _ = planning.forward_budget(shape.block_q, shape.block_k, 64, 2, shape.stages, shape.warps)
        made = counted.needs(counted.launched(counted.shaped(ladder.RUNGS[3], shape), D=64))
        assert made["shared"] == shared and bool(made["spilled"]) == spills


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("rung", ladder.RUNGS, ids=lambda rung: rung.name)
def test_every_rung_computes_attention(rung, causal):
    generator = torch.Generator().manual_seed(1)
    q, k, v = (torch.randn(1, 2, 128, 32, generator=generator).half() for _ in range(3))
    o, lse = ladder.forward(rung)(q, k, v, causal, 0.2)
    right = reference.attention_forward(q.double(), k.double(), v.double(), 0.2, causal)
    torch.testing.assert_close((o.double(), lse.double()), right, atol=2e-3, rtol=0)


def test_the_backward_passes_of_the_ladder_agree():
    generator = torch.Generator().manual_seed(2)
    q, k, v, do = (torch.randn(1, 2, 64, 16, generator=generator) for _ in range(4))
    results = [call() for call in ladder.backward_calls(q, k, v, do, True).values()]
    for other in results[1:]:
        torch.testing.assert_close(other, results[0], atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("causal", [False, True])
def test_formulas_of_groups_are_right_where_nothing_is_changed(causal):
    case = grouped_cases.flagged(attention_case(9, 14, 8, H=4, seed=1), causal, H_k=2)
    given = grouped_cases.backward_inputs(case, case.generator())
    wide = {name: t.double() if torch.is_tensor(t) else t for name, t in given.items()}
    torch.testing.assert_close(
        grouped.faulty_backward(**wide), grouped.backward(reference.attention_gradients)(**wide)
    )
    wide = {name: wide[name] for name in ("q", "k", "v", "causal", "alpha")}
    torch.testing.assert_close(
        grouped.faulty_forward(**wide), grouped.forward(reference.attention_forward)(**wide)
    )


def made_up(factor: float = 0.9) -> record.Record:
    """A record in which every rung takes `factor` of the time of the one below it."""
    shapes = [(D, causal) for D in (64, 128) for causal in (False, True)]
    rungs = [
        {"name": rung.name, "what": rung.what, "predicted": rung.predicted}
        | {
            "shapes": [
                {"D": D, "S": 1024, "causal": causal, "direction": "forward"}
                | {"ms": factor**number, "spread": 0.2 if number == 2 and D == 64 else 0.01}
                for D, causal in shapes
            ]
        }
        for number, rung in enumerate(ladder.RUNGS)
    ]
    return {"device": "a made-up GPU", "versions": {}, "date": "2000-01-01", "rungs": rungs}


def test_a_record_tells_what_each_rung_brought_and_which_times_are_unsteady():
    found = made_up()
    gained = record.factors(found, "forward", causal=True)
    assert list(gained) == [rung.name for rung in ladder.RUNGS[1:]]
    assert all(math.isclose(factor, 1 / 0.9) for factor in gained.values())
    assert record.factors(found, "backward", causal=True) == {}
    assert len(record.unsteady(found)) == 2 and "powers of two, D 64" in record.unsteady(found)[0]
    assert "a made-up GPU" in pictures.climbed(found).description


def test_a_shipped_record_has_the_rungs_that_the_lesson_speaks_of():
    shipped = record.shipped_ladder()
    if shipped is not None:
        assert {rung.name for rung in ladder.RUNGS} <= {rung["name"] for rung in shipped["rungs"]}


@pytest.mark.parametrize(
    "shape, said",
    [
        (Shape(64, 64, 4, 2), ""),
        (Shape(128, 128, 4, 2), "and spills"),
        (Shape(16, 32, 4, 2), "wgmma"),
    ],
)
def test_the_budget_of_d_128_is_kept_or_the_card_says_what_is_beyond_it(shape, said):
    launcher = ladder.forward(counted.shaped(ladder.RUNGS[3], shape))
    complaint = reviewed(lean_forward.lean_forward, launcher)
    assert (said in complaint) if said else not complaint


def test_a_budget_that_nobody_can_know_is_not_called_too_large():
    title = "nothing tuned: one loop, natural exponentials, wide tiles of offsets"
    plain = find_entry("tuned_forward", title)
    assert "cannot be judged" in reviewed(lean_forward.lean_forward, plain.function)  # strides as a tuple
