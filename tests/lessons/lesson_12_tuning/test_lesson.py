"""Lesson 12: what is planned beforehand is so, each rung is right, and a record shows what was measured."""

from __future__ import annotations

import dataclasses
import functools
import math
import random
from types import SimpleNamespace

import pytest
import torch
import triton
from triton.runtime.autotuner import Autotuner
from triton.runtime.errors import OutOfResources

from flashlearn.interpreter import route
from flashlearn.judging import draws
from flashlearn.kernels.shapes import Shape
from flashlearn.lessons import find
from flashlearn.lessons.lesson_12_tuning import (
    autotuning,
    climbing,
    counted,
    ladder,
    lean,
    lean_forward,
    pictures,
    pipelines,
    planning,
    profiles,
    record,
    rung_kernel,
    steps,
)
from flashlearn.lessons.lesson_12_tuning.predictions import Predictions
from flashlearn.lessons.lesson_12_tuning.rung_kernel import Variant
from flashlearn.lessons.shared import grouped, grouped_cases, reference
from flashlearn.lessons.shared.attention_cases import attention_case
from flashlearn.machine.timers import Measurement
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


@pytest.mark.parametrize("blocks, heads, group", [(1, 1, 1), (5, 6, 2), (16, 40, 8), (4, 6, 6)])
def test_in_groups_every_tile_has_its_program_and_a_group_is_finished_before_the_next(blocks, heads, group):
    tiles = [planning.program_in_group(pid, blocks, heads, group) for pid in range(blocks * heads)]
    assert sorted(tiles) == [(block, head) for block in range(blocks) for head in range(heads)]
    groups = [head // group for _, head in tiles]
    assert groups == sorted(groups)
    assert tiles[: blocks * group] == [
        planning.program_to_tile(pid, blocks, group) for pid in range(blocks * group)
    ]


@pytest.mark.parametrize("S", [64, 100, 1000])
def test_masked_tiles_reach_from_the_whole_ones_to_the_end(S):
    for first in range(0, S, 32):
        whole, end = planning.loop_bounds(first, 32, 64, S, S)
        tiles, beyond = planning.masked_tiles(first, 32, 64, 16, S)
        assert whole + 16 * tiles == end + beyond and 0 <= beyond < 16


@pytest.mark.parametrize("programs, blocks, heads", [(132, 16, 40), (8, 5, 3), (8, 2, 3), (1, 3, 4)])
def test_fixed_shares_together_are_the_whole_work(programs, blocks, heads):
    shares = [planning.fixed_share(pid, programs, blocks, heads) for pid in range(programs)]
    work = planning.causal_work(planning.program_to_tile, blocks, heads, tiles_per_block=1)
    assert tuple(map(sum, zip(*shares, strict=True))) == (blocks * heads, sum(work))
    assert max(tiles for _, tiles in shares) >= planning.makespan(work, programs)[0]


def test_shared_memory_is_what_the_formula_says_and_too_many_accumulators_spill():
    for shape, spills in ((Shape(64, 64, 4, 2), False), (Shape(128, 128, 4, 2), True)):
        shared, _ = planning.forward_budget(shape.block_q, shape.block_k, 128, 2, shape.stages, shape.warps)
        made = counted.needs(counted.launched(counted.shaped(ladder.upto("two loops"), shape), D=128))
        assert made["shared"] == shared and bool(made["spilled"]) == spills


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("name", [ladder.START, *(rung.name for rung in ladder.RUNGS)])
def test_every_rung_computes_attention(name, causal):
    generator = torch.Generator().manual_seed(1)
    q, k, v = (torch.randn(1, 6, 256, 32, generator=generator).half() for _ in range(3))
    o, lse = ladder.forward(ladder.upto(name))(q, k, v, causal, 0.2)
    right = reference.attention_forward(q.double(), k.double(), v.double(), 0.2, causal)
    torch.testing.assert_close((o.double(), lse.double()), right, atol=2e-3, rtol=0)


def test_a_rung_that_does_not_exist_is_named_with_those_that_do():
    with pytest.raises(ValueError, match=r"no rung 'two loop'.*two loops"):
        ladder.upto("two loop")


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


SIZES_ON_A_CPU = climbing.Sizes(S=(128,), tokens=128, width=128, device="cpu")


def timed(slow: dict[str, float], climb: climbing.Climb):
    """Times that say of each rung how much slower than its base it is, without a call."""

    def times(calls):
        both = [Measurement(1.0, 0.02, 9), Measurement(slow.get(climb.trying, 1.0), 0.02, 9)]
        return both[: len(calls)]

    return times


def climbed(slow: dict[str, float]) -> climbing.Climb:
    climb = climbing.Climb(lambda *given: None, SIZES_ON_A_CPU)
    climb.times = timed(slow, climb)
    climb.to(ladder.END)
    return climb


def test_a_rung_that_gains_is_kept_and_one_that_loses_is_removed_again():
    climb = climbed({"powers of two": 0.8, "two loops": 1.2, "descriptors": 0.99, "O where K lay": 0.9})
    for corner, variant in climb.variant.items():
        assert variant == Variant(fold=True, store=True), corner
    verdicts = {name: record.gains(climb.record, name)[0].verdict for name in record.names(climb.record)}
    assert [name for name, verdict in verdicts.items() if verdict == "gain"] == [
        "powers of two",
        "O where K lay",
    ]
    assert verdicts["two loops"] == "loss" and verdicts["descriptors"] == "no gain"  # within its spread
    assert {shape["on"] for shape in climb.record["rungs"][3]["shapes"]} == {"powers of two"}


def test_a_rung_that_does_not_fit_loses():
    def start(*given):
        pass

    def times(calls):
        if len(calls) == 2 or not isinstance(calls[0], functools.partial):  # all but the start
            raise OutOfResources(300000, 232448, "shared memory")
        return [Measurement(1.0, 0.01, 9)]

    climb = climbing.Climb(start, SIZES_ON_A_CPU, times)
    climb.to("powers of two")
    (gain, *_) = record.gains(climb.record, "powers of two")
    assert gain.factor == 0 and gain.verdict == "loss"
    assert "no room" in "\n".join(steps.shown(climb.record, "powers of two", Predictions(())))


def test_where_the_start_does_not_fit_the_first_rung_that_does_is_kept():
    def times(calls):
        if any(isinstance(call, functools.partial) for call in calls):  # the start
            raise OutOfResources(300000, 101376, "shared memory")
        return [Measurement(1.0, 0.01, 9) for _ in calls]

    climb = climbing.Climb(lambda *given: None, SIZES_ON_A_CPU, times)
    climb.to("two loops")
    assert set(climb.on.values()) == {"powers of two"} and record.gains(climb.record, "powers of two") == []
    assert "does not fit" in "\n".join(steps.shown(climb.record, "powers of two", Predictions(())))


def test_the_rungs_are_really_launched_in_a_climb():
    called = []

    def times(calls):
        called.extend(call() for call in calls)
        return [Measurement(1.0, 0.01, 9) for _ in calls]

    climb = climbing.Climb(climbing.lesson_06(), SIZES_ON_A_CPU, times)
    climb.to("two loops")
    for o, _ in called:
        assert o.isfinite().all()
    assert len(called) == 2 * 3 * len(record.CORNERS)


def test_predictions_are_printed_beside_what_was_measured(capsys):
    found, predict = climbed({"powers of two": 0.8}).record, Predictions(("powers of two", "two loops"))
    predict("powers of two", full=1.1, causal=None)
    predict("two loops", full=1.5, causal=1.5)
    assert "type a number" in capsys.readouterr().out
    lines = list(steps.shown(found, "powers of two", predict))
    full, causal = lines[2].split(), lines[3].split()
    assert full[3] == "1.10" and causal[3] == "–" and full[4] == "1.25" and "a gain: kept" in lines[2]
    assert "1.50/1.50" in "\n".join(steps.table(found, predict))
    assert "two loops" in next(steps.surprises(found, predict))


@pytest.mark.parametrize("wrong", [{"full": "1.1"}, {"causal": 0}, {"full": True}])
def test_a_prediction_is_a_factor(wrong):
    with pytest.raises(ValueError, match="a factor above 0"):
        Predictions(("two loops",))("two loops", **wrong)
    with pytest.raises(ValueError, match="there is no rung"):
        Predictions(("two loops",))("three loops", full=1.0)


def test_in_an_older_record_every_rung_lies_on_the_one_before_it():
    shapes = [{"D": 64, "S": 1024, "causal": False, "direction": "forward"}]
    rungs = [
        {"name": name, "what": "", "shapes": [shapes[0] | {"ms": ms, "spread": spread}]}
        for name, ms, spread in (("plain", 1.0, 0.01), ("first", 0.8, 0.01), ("second", 0.78, 0.2))
    ]
    found = {"device": "a made-up GPU", "versions": {}, "date": "2000-01-01", "rungs": rungs}
    assert record.cumulative(found)
    (first,), (second,) = record.gains(found, "first"), record.gains(found, "second")
    assert math.isclose(first.factor, 1.25) and first.verdict == "gain"
    assert math.isclose(second.factor, 0.8 / 0.78) and second.verdict == "no gain"
    assert record.gains(found, "plain") == record.gains(found, "nowhere") == []
    assert "does not have this rung" in "\n".join(steps.shown(found, "heavy first", Predictions(())))
    assert record.unsteady(found) == ["second, D 64, S 1024, forward"]


def test_pictures_and_tables_say_what_any_record_holds():
    for found in (climbed({"powers of two": 0.5}).record, record.shipped_ladder()):
        assert found["device"] in pictures.climbed(found).description
        assert "powers of two" in "\n".join(steps.table(found, Predictions(())))


def test_a_configuration_is_pruned_by_its_budget_before_it_is_timed():
    few = [one for one in autotuning.CONFIGURATIONS if one.num_stages == 2 and one.num_warps == 4]
    left = [autotuning.cut(one) for one in autotuning.prune(few, {}, D=128, IS_CAUSAL=False)]
    assert Shape(64, 128, 4, 2) in left and Shape(128, 128, 4, 2) not in left


def test_the_autotuner_times_what_is_left_once_for_each_key_and_its_kernel_is_right(monkeypatch):
    if (
        route.installed()
    ):  # without a GPU the first configuration represents all; here Triton's own search runs
        monkeypatch.setattr(Autotuner, "run", route._originals[Autotuner, "run"])
    timed = []

    def without_a_gpu(call, quantiles):
        call()
        timed.append(call)
        return [float(len(timed))] * 3

    kernel = triton.autotune(
        configs=[one for one in autotuning.CONFIGURATIONS if one.num_stages == 1 and one.num_warps == 4],
        key=["S", "D", "IS_CAUSAL"],
        prune_configs_by={"early_config_prune": lambda configs, given, **more: configs[:3]},
        do_bench=without_a_gpu,
    )(rung_kernel.rung_kernel)
    generator = torch.Generator().manual_seed(3)
    q, k, v = (torch.randn(1, 2, 256, 16, generator=generator).half() for _ in range(3))
    found = autotuning.search(kernel, q, k, v, causal=True)
    assert len(timed) == 3 and len(found["milliseconds"]) == 3 and len(found["cache"]) == 1
    assert "3 of 36 were timed" in next(autotuning.report(found))
    o, lse = autotuning.forward(kernel, q, k, v, True, 0.25)
    right = reference.attention_forward(q.double(), k.double(), v.double(), 0.25, True)
    torch.testing.assert_close((o.double(), lse.double()), right, atol=2e-3, rtol=0)
    assert len(timed) == 3


def test_the_pipeline_of_a_loop_is_read_from_its_ptx():
    variant = counted.shaped(ladder.upto("two loops"), Shape(64, 64, 4, 3))
    before, inside = pipelines.events(counted.launched(variant, D=64), target=80)
    assert before.count("end of a copy") == 4 and inside[0] == "wait until 2 copies are open"
    products = [place for place, event in enumerate(inside) if event.startswith("mma")]
    assert len(products) == 2 and inside.index("copy begins × 4") > products[1]


def test_a_profile_is_read_from_its_counters():
    saved = record.shipped_profiles()
    truths = profiles.truths(saved)
    right = {question: truth for question, (truth, _) in truths.items()}
    said = "\n".join(profiles.read(saved, right))
    assert said.count("Right") == len(truths) and "is tuned_forward" in said
    said = "\n".join(profiles.read(saved, {**right, "fastest": "", "A waits for": "wgmma"}))
    assert "Not so" in said and "Still open: fastest" in said and "is tuned_forward" not in said
    assert "tuned_forward" not in "\n".join(profiles.counters(saved))


@pytest.mark.parametrize(
    "shape, said",
    [
        (Shape(64, 64, 4, 1), ""),
        (Shape(64, 64, 4, 2), "its shared memory 2"),
        (Shape(128, 128, 4, 2), "and spills"),
        (Shape(16, 32, 4, 2), "wgmma"),
    ],
)
def test_the_budget_of_d_128_is_kept_or_the_card_says_what_is_beyond_it(shape, said):
    launcher = ladder.forward(counted.shaped(ladder.upto("two loops"), shape))
    complaint = reviewed(lean_forward.lean_forward, launcher)
    assert (said in complaint) if said else not complaint


def test_the_rung_before_misses_the_budget_and_the_solution_keeps_it():
    before = ladder.forward(ladder.upto("128 keys"))
    assert "its registers allow 2, its shared memory 1" in reviewed(lean_forward.lean_forward, before)
    assert not reviewed(lean_forward.lean_forward, lean.lean_forward)


def test_a_budget_that_nobody_can_know_is_not_called_too_large():
    launch = SimpleNamespace(unshippable="Its source cannot be read.")
    assert "cannot be judged: Its source cannot be read." in lean_forward._over_budget(launch)


def test_a_kernel_with_strides_in_a_tuple_has_a_budget():
    title = "nothing tuned: one loop, natural exponentials, wide tiles of offsets"
    plain = find_entry("tuned_forward", title)
    assert "over the budget" in reviewed(lean_forward.lean_forward, plain.function)


def test_the_least_time_of_ragged_rows_is_that_of_the_numbers_that_count():
    exercise = find("folded_logsumexp")
    case = exercise.timed.case
    smaller = dataclasses.replace(case, sizes={"M": 4096, "N": 64})
    drawn = exercise.judged.work(exercise.inputs(smaller, smaller.generator()))
    without_data = exercise.judged.work(draws.without_data(exercise, smaller))
    assert without_data.bytes == pytest.approx(drawn.bytes, rel=0.02)
    assert without_data.operations == pytest.approx(drawn.operations, rel=0.02)
