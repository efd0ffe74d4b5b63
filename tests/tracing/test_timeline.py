"""The timeline that `flashlearn.trace` draws of a Gluon kernel: true to its events, and readable."""

from __future__ import annotations

import base64
import itertools
import re
from xml.etree import ElementTree

import pytest
import torch
import triton

import flashlearn
from flashlearn import TraceError
from flashlearn.kernels.gluon.fa3_forward import fa3_forward
from flashlearn.kernels.gluon.specialised_matmul import specialised_matmul
from flashlearn.kernels.gluon.tma_ring import tma_ring
from flashlearn.kernels.gluon.wgmma_matmul import wgmma_matmul
from flashlearn.lessons.lesson_13_hopper import pictures
from flashlearn.tracing import timeline_svg
from flashlearn.tracing.timeline_rows import COPIES, CROWDED, PRODUCTS, scene
from tests.interpreter.gluon.gluon_kernels import copy_tiles, described

SVG = "{http://www.w3.org/2000/svg}"


def matrices(steps: int = 5, rows: int = 128):
    draw = torch.Generator().manual_seed(0)
    shapes = ((rows, 32 * steps), (32 * steps, 64))
    return tuple(torch.randn(shape, generator=draw).half() for shape in shapes)


@pytest.fixture(scope="module")
def specialised():
    return flashlearn.trace(specialised_matmul, *matrices(), block=(128, 64, 32)).timeline


def test_tracks_are_the_copy_engine_the_partitions_and_the_tensor_core(specialised):
    tracks = list(dict.fromkeys(row.track for row in specialised.scene.rows))
    assert tracks == [COPIES, "produce", "consume 1", "consume 2", PRODUCTS]
    assert [row.name for row in specialised.scene.rows if row.track == PRODUCTS] == ["consume 1", "consume 2"]
    assert {"full[0]", "full[1]", "full[2]"} <= {row.name for row in specialised.scene.rows}


def test_a_copy_and_the_product_that_reads_it_have_the_colour_of_their_slot(specialised):
    drawn = specialised.scene
    assert {box.slot for box in drawn.boxes if box.kind == "copy" and "+" in box.label} == {0, 1, 2}
    products = [box for box in drawn.boxes if box.kind == "product" and box.about[0].index == 0]
    assert [box.slot for box in products] == [0, 1, 2, 0, 1]


def test_boxes_of_a_row_do_not_lie_over_each_other(specialised):
    rows: dict[int, list] = {}
    for box in specialised.scene.boxes:
        if box.kind in ("copy", "product", "wait"):
            rows.setdefault(box.row, []).append(box)
    for boxes in rows.values():
        for one, other in itertools.pairwise(sorted(boxes, key=lambda box: box.begin)):
            assert one.end <= other.begin


def test_an_edge_leads_from_what_ended_a_wait_to_the_wait(specialised):
    drawn, ends = specialised.scene, {round(event.end, 3) for event in specialised.events}
    waits = {(box.row, box.end) for box in drawn.boxes if box.kind == "wait"}
    held = [edge for edge in drawn.edges if edge.stalled]
    assert held and {(edge.target, edge.seen) for edge in held} == waits
    assert all(edge.left <= edge.seen and round(edge.left, 3) in ends for edge in drawn.edges)


def test_what_partitions_waited_for_adds_up(specialised):
    for name in ("produce", "consume 1", "consume 2"):
        own = [e for e in specialised.events if e.partition == name and e.what.endswith("wait")]
        summaries = [w for w in specialised.waits if w.partition == name]
        assert sum(w.cycles for w in summaries) == sum(e.end - e.begin for e in own)
        assert sum(w.times for w in summaries) == len(own)


def test_a_sentence_says_who_waited_how_long_and_where_for_what(specialised):
    (said,) = (one for one in specialised.sentences if "produce" in one)
    waited = sum(w.cycles for w in specialised.waits if w.partition == "produce")
    whole = f"{specialised.cycles:,.0f}"
    line = next(w for w in specialised.waits if w.partition == "produce")
    assert said.startswith(f"Partition produce waited {waited:,.0f} of {whole} cycles, all of it at line ")
    assert f"line {line.line} for empty" in said and "mbarrier.wait(empty" in line.text


def test_a_kernel_of_one_partition_is_called_by_its_name():
    timeline = flashlearn.trace(tma_ring, torch.randn(32, 400)).timeline
    assert timeline.sentences[0].startswith("tma_ring_kernel waited ")
    assert "Partition" not in str(timeline)


def test_a_long_program_is_drawn_as_far_as_it_can_be_read_and_in_windows():
    timeline = flashlearn.trace(wgmma_matmul, *matrices(60, 64), block=(64, 64, 32)).timeline
    drawn = timeline.scene
    assert timeline.shown_in_part and f"of {timeline.cycles:,.0f}" in timeline.shown
    waits = [box for box in drawn.boxes if box.kind == "wait"]
    assert 1 < len(waits) <= CROWDED + 2
    later = timeline.between(drawn.end, drawn.end + 3000)
    assert all(box.end >= drawn.end for box in later.scene.boxes)
    with pytest.raises(ValueError, match=r"A window from .* expected 0 ≤ begin < end"):
        timeline.between(5, 5)


def test_short_stretches_are_folded_and_stand_for_all_their_events():
    events = flashlearn.trace(tma_ring, torch.randn(32, 700)).timeline.events
    fine, coarse = (scene(events, None, pixels) for pixels in (100_000, 8))
    assert len(coarse.boxes) < len(fine.boxes)
    assert sum(len(b.about) for b in coarse.boxes) == sum(len(b.about) for b in fine.boxes)


def test_the_picture_is_well_formed_and_names_every_colour_and_shape(specialised):
    root = ElementTree.fromstring(specialised.svg())
    texts = ["".join(t.itertext()) for t in root.iter(f"{SVG}text")]
    assert {"slot 0", "slot 1", "slot 2", "waits", "ends a wait", "cycles"} <= set(texts)
    assert any("model, not measured" in text for text in texts)
    titles = [title.text for title in root.iter(f"{SVG}title")]
    assert any(re.search(r"produce waits [\d,]+ cycles for empty\[0\].*line \d+", t) for t in titles)
    width = float(root.get("width"))
    for box in root.iter(f"{SVG}rect"):
        assert float(box.get("x", 0)) + float(box.get("width")) <= width


def test_a_page_has_the_picture_with_its_words_and_the_waits_in_a_table():
    page = flashlearn.trace(specialised_matmul, *matrices(), block=(128, 64, 32))._repr_html_()
    alt = re.search(r'<img alt="(Timeline of program[^"]*)"', page)[1]
    assert "Partition produce waited" in alt and "tensor core" in alt
    image = base64.b64decode(re.search(r'data-timeline="[^"]*"><img [^>]*base64,([^"]+)', page)[1]).decode()
    ElementTree.fromstring(image)
    assert "<code>mbarrier.wait(full.index(at), i // STAGES % 2)</code>" in page
    assert "kept as a pointer" not in page


def test_the_chosen_program_is_the_one_that_is_drawn():
    a, b = matrices(rows=300)
    for program in (0, 2):
        timeline = flashlearn.trace(wgmma_matmul, a, b, block=(64, 64, 32), program=program).timeline
        assert timeline.program == (program, 0, 0)
        assert {event.program for event in timeline.events} == {(program, 0, 0)}


def test_a_fault_leaves_the_timeline_as_far_as_the_kernel_came():
    def launcher(x):
        y = torch.empty_like(x)
        copy_tiles[(2,)](described(x, [32, 64]), described(y, [32, 64]), FAULT="no wait")
        return y

    seen = flashlearn.trace(launcher, torch.randn(64, 64))
    assert "has not waited for phase 0" in seen.sentence
    assert [event.what for event in seen.timeline.events] == ["init", "expect", "tma load"]


def test_queries_keys_and_values_are_lanes_of_their_own():
    q = torch.randn(1, 1, 128, 64).half()
    timeline = flashlearn.trace(fa3_forward, q, q, q).timeline
    names = {row.name.split("[")[0] for row in timeline.scene.rows if row.track == COPIES}
    assert {"q_full", "k_full", "v_full"} <= names


def test_a_triton_kernel_has_no_timeline_and_a_lesson_says_so():
    def launcher(x):
        y = torch.empty_like(x)
        doubled[(1,)](x, y)
        return y

    assert flashlearn.trace(launcher, torch.randn(16)).timeline is None
    with pytest.raises(TraceError, match="doubled is no Gluon kernel"):
        pictures.timeline(launcher, torch.randn(16))


@triton.jit
def doubled(x_ptr, y_ptr):
    at = triton.language.arange(0, 16)
    triton.language.store(y_ptr + at, 2 * triton.language.load(x_ptr + at))


@pytest.mark.parametrize(
    ("name", "room", "cut"),
    [("load", 7, "load"), ("exponentials_of_scores 2", 7, "expo… 2"), ("fa3_forward_kernel", 8, "fa3_for…")],
)
def test_a_long_name_is_cut_before_its_number(name: str, room: int, cut: str):
    assert timeline_svg._short(name, room) == cut and len(cut) <= room
