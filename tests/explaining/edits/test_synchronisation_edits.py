"""Edits of what partitions wait for: arrivals, parities, bytes, and the number behind slot and phase."""

from __future__ import annotations

from flashlearn.explaining.edits.edit import SourceText
from flashlearn.explaining.edits.synchronisation import synchronisation_edits

KERNEL = """
@gluon.jit
def produce(a_desc, b_desc, a, b, full, empty, first, last, STAGES: gl.constexpr):
    mbarrier.init(full.index(0), count=3)
    for i in range(first, last):
        slot = i % STAGES
        mbarrier.wait(empty.index(slot), i // STAGES % 2)
        mbarrier.expect(full.index(slot), a_desc.block_type.nbytes + b_desc.block_type.nbytes)
        for half in gl.static_range(2):
            tma.async_copy_global_to_shared(a_desc, [half, i], full.index(slot), a.index(2 * slot + half))
        tma.async_copy_global_to_shared(b_desc, [i, 0], full.index(slot), b.index(slot))
"""


def edits(kind):
    return [edit for edit in synchronisation_edits(SourceText(KERNEL)) if edit.kind.name == kind]


def test_the_bytes_of_all_copies_to_a_barrier_are_tried_where_they_are_expected():
    (edit,) = edits("bytes of a phase")
    assert edit.new == "2 * a_desc.block_type.nbytes + b_desc.block_type.nbytes"


def test_the_other_parity_and_other_counts_are_tried():
    assert [edit.new for edit in edits("parity")] == ["i // STAGES % 2 ^ 1"]
    assert [edit.new for edit in edits("arrivals")] == ["1", "2"]


def test_slot_and_phase_are_counted_from_the_loops_first_number_together():
    (edit,) = edits("number in a ring")
    text = edit.applied(KERNEL)
    assert "slot = (i - first) % STAGES" in text and "(i - first) // STAGES % 2" in text
    assert "[half, i]" in text and edit.also


def test_an_arrival_beside_an_expect_is_left_out_before_another_count_is_tried():
    text = """
@gluon.jit
def copy(x_desc, tile):
    mbarrier.init(done, count=1)
    mbarrier.expect(done, x_desc.block_type.nbytes)
    mbarrier.arrive(done, count=1)
"""
    kinds = [e.kind.name for e in synchronisation_edits(SourceText(text))]
    assert "redundant arrival" in kinds and kinds.index("redundant arrival") < kinds.index("arrivals")
