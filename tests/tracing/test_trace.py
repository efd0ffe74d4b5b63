"""`flashlearn.trace`: what one program touches, in order, counted, and shown with and without scripts."""

from __future__ import annotations

import base64
import json
import re

import pytest
import torch
import triton
import triton.language as tl

import flashlearn
from flashlearn import TraceError
from flashlearn.interpreter.observers.access_recorder import AccessRecorder
from flashlearn.kernels.flash_backward_dkv import dkv_kernel_causal
from flashlearn.kernels.flash_backward_dq import dq_kernel
from flashlearn.kernels.flash_forward import flash_forward, flash_forward_causal
from flashlearn.kernels.matmul import tiled_matmul
from flashlearn.tracing import html


@triton.jit
def copy_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + at, tl.load(x_ptr + at, mask=at < n, other=0.0), mask=at < n)


def copy(x, block=16):
    y = torch.empty_like(x)
    copy_kernel[(triton.cdiv(x.numel(), block),)](x, y, x.numel(), BLOCK=block)
    return y


@triton.jit
def twice_kernel(x_ptr, y_ptr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at)
    for _ in range(3):
        x += tl.load(x_ptr + at // 2)
    tl.store(y_ptr + at, x)


def twice(x):
    y = torch.empty_like(x)
    twice_kernel[(1,)](x, y, BLOCK=x.numel())
    return y


@triton.jit
def count_kernel(x_ptr, total_ptr, BLOCK: tl.constexpr):
    x = tl.load(x_ptr + tl.program_id(0) * BLOCK + tl.arange(0, BLOCK))
    tl.atomic_add(total_ptr, tl.sum(x, axis=0))


def count(x):
    total = torch.zeros(1)
    count_kernel[(x.numel() // 16,)](x, total, BLOCK=16)
    return total


@triton.jit
def out_of_range_kernel(x_ptr, y_ptr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + at, tl.load(x_ptr + at))


def out_of_range(x):
    y = torch.empty_like(x)
    out_of_range_kernel[(triton.cdiv(x.numel(), 16),)](x, y, BLOCK=16)
    return y


@triton.jit
def either_kernel(x_ptr, y_ptr, z_ptr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    chosen = tl.where(at < 4, x_ptr + at, y_ptr + at)
    tl.store(z_ptr + at, tl.load(chosen, mask=at < BLOCK - 2, other=0.0))


@triton.jit
def fill_kernel(z_ptr, BLOCK: tl.constexpr):
    tl.store(z_ptr + tl.arange(0, BLOCK), tl.full((BLOCK,), 1.0, tl.float32))


@triton.jit
def nothing_kernel(z_ptr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(z_ptr + at, tl.load(z_ptr + at, mask=at < 0, other=0.0))


def attention(S_q=100, S_k=100, D=40, heads=2):
    generator = torch.Generator().manual_seed(0)
    return tuple(torch.randn(1, heads, S, D, generator=generator) for S in (S_q, S_k, S_k))


def backward(S=96, causal=True):
    q, k, v = attention(S, S, 16, 1)
    o, lse = (flash_forward_causal if causal else flash_forward)(q, k, v, 0.25)
    return q, k, v, o, torch.ones_like(o), lse, 0.25


def touched(trace, tensor):
    return [step.tile.touched for step in trace.steps if step.tensor == tensor]


# what is recorded


def test_a_product_reads_a_row_of_tiles_of_a_and_a_column_of_b_in_turn():
    seen = flashlearn.trace(tiled_matmul, torch.ones(70, 50), torch.ones(50, 100), program=(1, 1))
    assert [s.tensor for s in seen.steps] == ["a_ptr", "b_ptr"] * 4 + ["c_ptr"]
    assert touched(seen, "a_ptr") == [((32, 64), (k, min(k + 16, 50))) for k in (0, 16, 32, 48)]
    assert touched(seen, "b_ptr") == [((k, min(k + 16, 50)), (64, 100)) for k in (0, 16, 32, 48)]
    assert touched(seen, "c_ptr") == [((32, 64), (64, 100))]


def test_a_tile_that_hangs_over_the_edge_knows_where_its_masked_part_would_lie():
    seen = flashlearn.trace(tiled_matmul, torch.ones(70, 50), torch.ones(50, 100), program=(1, 1))
    last = seen.steps[7]
    assert last.tile.touched == ((48, 50), (64, 100)) and last.tile.asked == ((48, 64), (64, 128))
    assert (last.lanes, last.masked, last.requested) == (16 * 64, 16 * 64 - 2 * 36, 2 * 36 * 4)


def test_a_padded_width_is_not_taken_for_the_next_row():
    """With D = 40 and BLOCK_D = 64 the masked lanes' addresses are those of the next row's elements."""
    seen = flashlearn.trace(flash_forward, *attention(), 0.125, program=(1, 1))
    tile = seen.steps[0].tile
    assert tile.touched[2:] == ((32, 64), (0, 40)) and tile.asked[2:] == ((32, 64), (0, 64))


def test_a_program_of_the_forward_pass_reads_k_exactly_once_and_the_launch_once_per_block_of_queries():
    seen = flashlearn.trace(flash_forward, *attention(), 0.125, program=(3, 1))
    assert seen["k_ptr"].again == 0.0 and seen["k_ptr"].requested == 100 * 40 * 4
    whole = seen.of_launch("k_ptr")
    assert whole.requested == 4 * whole.unique == 4 * 2 * 100 * 40 * 4
    assert whole.again == pytest.approx(3 / 4)


def test_a_causal_program_stops_early_and_reads_fewer_tiles():
    inputs = attention()
    full = flashlearn.trace(flash_forward, *inputs, 0.125, program=(1, 0))
    causal = flashlearn.trace(flash_forward_causal, *inputs, 0.125, program=(1, 0))
    assert len(touched(full, "k_ptr")) == 4
    assert [rows for *_, rows, _ in touched(causal, "k_ptr")] == [(0, 32), (32, 64)]


def test_a_causal_program_of_dk_and_dv_starts_late():
    seen = flashlearn.trace(dkv_kernel_causal, *backward(), program=2)
    assert [rows for *_, rows, _ in touched(seen, "q_ptr")] == [(64, 96)]


def test_what_a_program_reads_again_is_counted_for_the_step_and_in_total():
    seen = flashlearn.trace(twice, torch.ones(16))
    assert [s.new for s in seen.steps] == [64, 0, 0, 0, 64]
    assert [s.again for s in seen.steps[:4]] == [0, 64, 64, 64]
    assert seen["x_ptr"].again == 0.75 and seen["y_ptr"].again == 0.0


def test_two_lanes_that_ask_for_one_element_make_it_new_once():
    @triton.jit
    def kernel(x_ptr, y_ptr, BLOCK: tl.constexpr):
        at = tl.arange(0, BLOCK)
        tl.store(y_ptr + at, tl.load(x_ptr + at // 2))

    seen = flashlearn.trace(lambda x, y: kernel[(1,)](x, y, BLOCK=8), torch.ones(8), torch.ones(8))
    assert (seen.steps[0].requested, seen.steps[0].new) == (32, 16)


def test_the_masked_share_counts_lanes():
    seen = flashlearn.trace(copy, torch.ones(20), program=1)
    assert seen["x_ptr"].masked_share == 12 / 16 and seen["x_ptr"].requested == 4 * 4
    assert seen.of_launch("x_ptr").masked_share == 12 / 32


def test_an_access_with_every_lane_masked_out_is_a_step_that_asks_for_nothing():
    seen = flashlearn.trace(lambda z: nothing_kernel[(1,)](z, BLOCK=16), torch.ones(16))
    step = seen.steps[0]
    assert (step.tensor, step.tile, step.masked, step.requested) == ("z_ptr", None, 16, 0)
    assert "all 16 lanes masked out" in seen._repr_html_()


def test_atomics_are_updates():
    seen = flashlearn.trace(count, torch.ones(64), program=2)
    assert [(s.verb, s.tensor, s.requested) for s in seen.steps] == [
        ("read", "x_ptr", 64),
        ("update", "total_ptr", 4),
    ]
    assert seen.of_launch("total_ptr").requested == 16 and seen["total_ptr"].verb == "update"


def test_lanes_that_point_into_two_tensors_are_a_step_each_and_not_masked_out_of_one_another():
    def launcher(x, y, z):
        either_kernel[(1,)](x, y, z, BLOCK=16)

    seen = flashlearn.trace(launcher, torch.ones(16), torch.ones(16), torch.ones(16))
    assert [(s.tensor, s.lanes - s.masked) for s in seen.steps] == [
        ("x_ptr", 4),
        ("y_ptr", 10),
        ("z_ptr", 16),
    ]
    assert sum(s.masked for s in seen.steps) == 2


def test_tensors_that_share_memory_are_distinguished_by_their_elements():
    packed = torch.ones(3, 1, 2, 32, 16)
    seen = flashlearn.trace(flash_forward, *packed, 0.25)
    assert [s.tensor for s in seen.steps] == ["q_ptr", "k_ptr", "v_ptr", "o_ptr", "lse_ptr"]
    same = flashlearn.trace(flash_forward, packed[0], packed[0], packed[0], 0.25)
    assert same.steps[0].tensor == "q_ptr or k_ptr or v_ptr", "any of them may be meant"


def test_a_transposed_input_is_shown_in_its_own_indices():
    seen = flashlearn.trace(tiled_matmul, torch.ones(50, 70).T, torch.ones(50, 100), program=(1, 0))
    assert touched(seen, "a_ptr")[0] == ((32, 64), (0, 16)) and seen.steps[0].tile.filled


def test_elements_that_form_no_tile_are_said_to_lie_inside_a_box():
    @triton.jit
    def kernel(x_ptr, BLOCK: tl.constexpr):
        tl.store(x_ptr + (tl.arange(0, BLOCK) * 5) % 16, 1.0)

    seen = flashlearn.trace(lambda x: kernel[(1,)](x, BLOCK=4), torch.ones(16))
    assert seen.steps[0].tile.touched == ((0, 16),) and not seen.steps[0].tile.filled
    assert "some elements inside this box" in seen._repr_html_()


def test_the_line_of_each_step_is_the_learners_own():
    seen = flashlearn.trace(copy, torch.ones(20))
    assert {s.text for s in seen.steps} == {
        "tl.store(y_ptr + at, tl.load(x_ptr + at, mask=at < n, other=0.0), mask=at < n)"
    }


# which program, which launch


def test_the_program_in_the_middle_is_the_default_and_a_number_or_indices_choose():
    x = torch.ones(80)
    assert flashlearn.trace(copy, x).program == (2, 0, 0)
    assert flashlearn.trace(copy, x, program=4).program == (4, 0, 0)
    inputs = attention()
    assert flashlearn.trace(flash_forward, *inputs, 0.1, program=5).program == (2, 1, 0)
    assert flashlearn.trace(flash_forward, *inputs, 0.1, program=(2, 1)).program == (2, 1, 0)


def test_a_program_is_written_with_three_numbers_whatever_the_grid():
    assert "program (2, 0, 0) of 5 programs: " in str(flashlearn.trace(copy, torch.ones(80)))
    assert "program (2, 1, 0) of 4 × 2 programs: " in str(
        flashlearn.trace(flash_forward, *attention(), 0.1, program=(2, 1))
    )


@pytest.mark.parametrize("program", [5, -1, (0, 1), (1, 0, 0, 0)])
def test_for_a_program_that_does_not_exist_the_error_says_how_many_there_are(program):
    with pytest.raises(TraceError, match="copy_kernel has 5 programs, 0 to 4, on a grid of 5"):
        flashlearn.trace(copy, torch.ones(80), program=program)


def test_of_several_launches_the_one_that_moves_most_is_shown_and_others_can_be_asked_for():
    inputs = backward(causal=False)
    seen = flashlearn.trace(dq_kernel, *inputs)
    assert seen.kernel == "flash_dq_kernel" and "0 delta_preprocess_kernel" in str(seen)
    for launch in (0, "delta_preprocess_kernel"):
        assert flashlearn.trace(dq_kernel, *inputs, launch=launch).kernel == "delta_preprocess_kernel"
    with pytest.raises(TraceError, match="0 delta_preprocess_kernel, 1 flash_dq_kernel"):
        flashlearn.trace(dq_kernel, *inputs, launch="dkv")


# what goes wrong


def test_a_crash_midway_shows_what_that_program_did_before_and_the_sentence():
    @triton.jit
    def kernel(x_ptr, y_ptr, BLOCK: tl.constexpr):
        at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        tl.store(y_ptr + at, tl.load(x_ptr + at))

    seen = flashlearn.trace(lambda x, y: kernel[(4,)](x, y, BLOCK=16), torch.ones(64), torch.ones(10))
    assert seen.program == (0, 0, 0) and [s.verb for s in seen.steps] == ["read"]
    assert "y_ptr[10]" in seen.sentence and seen.place.program == (0, 0, 0) and not seen.note
    assert "y_ptr[10]" in str(seen) and "y_ptr[10]" in seen._repr_html_()


def test_where_the_crash_was_a_programs_first_access_the_one_before_it_is_shown():
    seen = flashlearn.trace(out_of_range, torch.ones(40))
    assert seen.program == (1, 0, 0) and seen.place.program == (2, 0, 0) and "x_ptr[40]" in seen.sentence
    assert "Program (2, 0, 0) had not accessed memory by then; program (1, 0, 0)" in str(seen)


def test_a_stub_is_said_to_be_one():
    @triton.jit
    def kernel(x_ptr):
        tl.static_assert(False, "TODO kernel: load and store")

    seen = flashlearn.trace(lambda x: kernel[(2,)](x), torch.ones(3))
    assert not seen.steps and "TODO" not in seen.sentence and "load and store" in str(seen)


def test_a_program_that_had_run_before_the_crash_can_be_looked_at():
    seen = flashlearn.trace(out_of_range, torch.ones(40), program=0)
    assert seen.program == (0, 0, 0) and len(seen.steps) == 2 and "x_ptr[40]" in seen.sentence


def test_a_launcher_that_fails_after_its_launch_is_traced():
    def launcher(x):
        copy(x)
        raise ValueError("after all")

    seen = flashlearn.trace(launcher, torch.ones(80))
    assert len(seen.steps) == 2 and seen.program == (2, 0, 0) and "after all" in str(seen)


def test_without_a_launch_there_is_nothing_to_trace():
    with pytest.raises(TraceError, match="launched no kernel"):
        flashlearn.trace(torch.clone, torch.ones(3))
    with pytest.raises(TraceError, match="It stopped: ValueError: too soon"):
        flashlearn.trace(lambda x: (_ for _ in ()).throw(ValueError("too soon")), torch.ones(3))


def test_inputs_that_are_no_tensors_and_kernels_without_launcher_are_refused():
    with pytest.raises(TraceError, match=r"must be torch tensors.*list"):
        flashlearn.trace(copy, [1.0, 2.0])
    with pytest.raises(TraceError, match=r"must be torch tensors.*ndarray"):
        flashlearn.trace(copy, torch.ones(3).numpy())
    with pytest.raises(TraceError, match="trace expects the launcher"):
        flashlearn.trace(copy_kernel, torch.ones(3))
    with pytest.raises(TraceError, match="program is a number"):
        flashlearn.trace(copy, torch.ones(3), program="first")


def test_a_grid_without_programs_is_reported():
    def launcher(x):
        copy_kernel[(0,)](x, x, 0, BLOCK=16)

    with pytest.raises(TraceError, match="no programs"):
        flashlearn.trace(launcher, torch.ones(3))


# nothing else changes


def test_inputs_are_left_as_they_were_and_views_of_one_memory_stay_so():
    z = torch.zeros(16)
    seen = flashlearn.trace(lambda z: fill_kernel[(1,)](z, BLOCK=16), z)
    assert seen["z_ptr", "write"].requested == 64 and not z.any()

    parts = []
    flashlearn.trace(lambda pair: (parts.extend(pair), copy(pair[0]).add_(1)), [z, z])
    assert parts[0].untyped_storage().data_ptr() != z.untyped_storage().data_ptr()

    kept = []
    flashlearn.trace(lambda a, b: (kept.extend((a, b)), copy(a))[1], z[:8], b=z[8:])
    assert kept[0].untyped_storage().data_ptr() == kept[1].untyped_storage().data_ptr() != z.data_ptr()


def test_a_check_afterwards_records_nothing_and_counts_the_same():
    x = torch.ones(40)

    def traffic():
        with flashlearn.observing() as (session, _):
            copy(x)
        assert not any(isinstance(o, AccessRecorder) for o in session.memory.events.observers)
        return session.observation().traffic["x_ptr"]

    before = traffic()
    flashlearn.trace(copy, x)
    assert traffic() == before


# how it is shown


def test_the_text_lists_every_step_and_folds_a_long_loop_with_a_sentence():
    short = str(flashlearn.trace(copy, torch.ones(80)))
    assert re.search(r"reads +x_ptr\[32:48\] +64 B +64 B +0%", short)
    long = flashlearn.trace(tiled_matmul, torch.ones(16, 1000), torch.ones(1000, 16), BLOCK_K=16)
    lines = str(long).splitlines()
    assert len(long.steps) == 127 and len(lines) < 45
    assert any("107 steps more, of lines" in line for line in lines)


def test_the_page_needs_no_network_and_holds_one_row_of_data_per_step():
    seen = flashlearn.trace(flash_forward, *attention(), 0.125)
    page = seen._repr_html_()
    image = base64.b64decode(re.search(r"svg\+xml;base64,([^\"]+)", page)[1]).decode()
    addresses = re.findall(r"https?://[^\"'\s]+", page + image)
    assert set(addresses) == {"http://www.w3.org/2000/svg"}, "the name of SVG, not an address that is fetched"
    data = json.loads(re.search(r"const data = (.*);", page)[1])
    assert len(data["steps"]) == len(seen.steps)
    on_tiles = [int(n) for listed in re.findall(r'data-s="([\d,]+)"', image) for n in listed.split(",")]
    assert sorted(on_tiles) == [step.number for step in seen.steps]


def test_without_its_script_the_page_still_has_the_picture_and_the_table():
    page = flashlearn.trace(flash_forward, *attention(), 0.125)._repr_html_()
    bare = re.sub(r"(?s)<(script|style)>.*?</\1>", "", page)
    assert "data:image/svg+xml" in bare and 'alt="Tiles in the order of access: 1 reads q_ptr[' in bare
    assert re.search(r"<td>k_ptr</td><td>reads</td><td>15.6 KiB</td><td>15.6 KiB</td><td>0%</td>", bare)


def test_a_long_trace_stays_small_and_says_what_it_leaves_out(monkeypatch):
    inputs = torch.ones(16, 16 * 130), torch.ones(16 * 130, 16)
    seen = flashlearn.trace(tiled_matmul, *inputs)
    page = seen._repr_html_()
    assert len(page) < 150_000
    assert f"the first {html.STEP_LIMITS[0]} of 261 steps" in page
    monkeypatch.setattr(html, "MAX_CHARACTERS", 60_000)
    page = seen._repr_html_()
    assert len(page) < 60_000 and f"the first {html.STEP_LIMITS[2]} of 261 steps" in page


def test_more_accesses_than_are_kept_are_counted_all_the_same(monkeypatch):
    monkeypatch.setattr("flashlearn.interpreter.observers.access_recorder.MAX_ACCESSES", 3)
    seen = flashlearn.trace(tiled_matmul, torch.ones(16, 64), torch.ones(64, 16))
    assert len(seen.steps) == 3 and seen.left_out == 6
    assert seen["a_ptr"].accesses == 4 and "continues for 6 steps" in str(seen)


def test_the_courses_own_answer_to_an_exercise_is_not_given_away():
    page = flashlearn.trace(flash_forward, *attention(), 0.125)._repr_html_()
    assert "rescale" not in page and "flash_forward_kernel" in page
    own = flashlearn.trace(copy, torch.ones(20))._repr_html_()
    assert "at = tl.program_id(0) * BLOCK" in own


def test_what_a_learner_wrote_cannot_become_markup():
    def launcher(x):
        copy(x)
        raise ValueError("</script><b>bold</b>")

    page = flashlearn.trace(launcher, torch.ones(20))._repr_html_()
    assert "<b>bold" not in page and page.count("</script>") == 1
