"""Each fault of synchronisation is named as what it is, with the lines it is about, in whatever order."""

from __future__ import annotations

import inspect
import threading

import pytest
import torch

from flashlearn.interpreter.gluon import deadlock_sentences, fault_kinds
from flashlearn.interpreter.gluon.sync_faults import SyncError
from flashlearn.interpreter.route import observing
from flashlearn.kernels.gluon import specialised_matmul, tma_ring
from tests.interpreter.gluon.gluon_kernels import (
    copy_tiles,
    described,
    exchange,
    expects_afterwards,
    product,
    stores_a_product,
)
from tests.interpreter.gluon.mutations import Mutation, imported

ORDERS = (None, 0, 1, 2)
LOAD, PRODUCT = "tma.async_copy_global_to_shared(a_desc", "acc = warpgroup_mma(a_tiles"
LAST = "acc = warpgroup_mma(a_tiles.index(0)"
RING = {
    "no wait for full": ("copy not waited for", PRODUCT, LOAD),
    "parity never changes": ("phase is off", PRODUCT, LOAD),
    "parity is the other": ("phase is off", PRODUCT, LOAD),
    "first parity": ("deadlock", "mbarrier.wait(full", "mbarrier.wait(empty"),
    "never arrives": ("deadlock", "mbarrier.wait(full", "mbarrier.wait(empty"),
    "counts 2": ("deadlock", "mbarrier.wait(full", "mbarrier.wait(empty"),
    "no wait for empty": ("expected again", "mbarrier.expect(full.index(s), size)", "mbarrier.expect"),
    "no such buffer": ("no such buffer", "mbarrier.wait(empty", "empty = "),
    "too few bytes": ("bytes", "tma.async_copy_global_to_shared(b_desc", "mbarrier.expect"),
    "too many bytes": ("bytes", "mbarrier.expect", "tma.async_copy_global_to_shared(b_desc"),
    "no expect": ("bytes", "mbarrier.wait(full", "tma.async_copy_global_to_shared(b_desc"),
    "arrives before the product": ("overwritten", LOAD, PRODUCT),
    "no wait for the product": ("wgmma not waited for", "tma.async_copy", PRODUCT),
    "one product left": ("wgmma not waited for", "tma.async_copy", PRODUCT),
    "one product left at the end": ("product not waited for", "c_tile.store", LAST),
    "token used": ("product not waited for", "c_tile.store", LAST),
    "arrives twice": ("phase overrun", "mbarrier.arrive(empty", "mbarrier.wait(empty"),
    "arrives with 2": ("arrival too many", "mbarrier.arrive(empty", "mbarrier.init(empty"),
    "no fence": ("no fence", "tma.async_copy_shared_to_global", "c_tile.store"),
    "stored again": ("tma store not waited for", "c_tile.store", "tma.async_copy_shared_to_global"),
    "no store wait": ("tma store never waited for", "tma.async_copy_shared_to_global"),
}  # fmt: skip


def fault_of(run, order):
    with pytest.raises(SyncError) as caught, observing(seed=order):
        run()
    fault = caught.value.sync
    assert str(caught.value).startswith(fault_kinds.sentence(fault))
    return fault


@pytest.mark.parametrize("name", RING)
def test_a_ring_with_one_thing_wrong_is_told_what_it_is(name):
    kind, *lines = RING[name]
    a, b = torch.randn(64, 320).half(), torch.randn(320, 64).half()
    for order in ORDERS:
        fault = fault_of(lambda: product(a, b, name), order)
        assert fault.kind == kind, f"in order {order}: {fault}"
        seen = [place.text.strip() for place in fault.places[: len(lines)]]
        assert all(text.startswith(line) for text, line in zip(seen, lines, strict=True)), seen


@pytest.mark.parametrize(
    "name, kind",
    [
        ("no init", "no init"),
        ("invalidated", "no init"),
        ("no wait", "copy not waited for"),
        ("no store wait", "tma store never waited for"),
    ],
)
def test_a_copy_by_one_partition_has_its_faults_too(name, kind):
    x = torch.randn(64, 64)
    descriptors = [described(t, [32, 64]) for t in (x, torch.empty_like(x))]
    assert fault_of(lambda: copy_tiles[(2,)](*descriptors, FAULT=name), None).kind == kind


@pytest.mark.parametrize(
    "name, kinds",
    [
        ("no wait", {"unordered read", "overwritten"}),
        ("two writers", {"two writers", "unordered read", "overwritten"}),
        ("init in a partition", {"no init", "init not visible"}),
    ],
)
def test_partitions_with_nothing_between_them_are_told_whatever_their_order(name, kinds):
    for order in ORDERS:
        assert fault_of(lambda: exchange[(1,)](torch.empty(128), FAULT=name), order).kind in kinds


@pytest.mark.parametrize("registers, left", [(20, None), (28, None), (512, None)])
def test_a_share_of_registers_that_cannot_be_is_told(registers, left):
    a, b = torch.randn(64, 64).half(), torch.randn(64, 64).half()
    fault = fault_of(lambda: product(a, b, registers=registers), None)
    assert fault.kind == "registers" and fault.facts["share"] == registers


def test_a_deadlock_says_who_waits_on_what_and_who_arrived_last():
    a, b = torch.randn(64, 320).half(), torch.randn(320, 64).half()
    fault = fault_of(lambda: product(a, b, "never arrives"), None)
    said = {held["who"]: held for held in fault.facts["waiting"]}
    assert said["fill"]["barrier"] == "empty[0]" and said["fill"]["pending"] == 1
    assert said["multiply"]["barrier"] == "full[0]" and said["multiply"]["arrived"] == "fill"


def test_no_thread_is_left_behind_by_a_kernel_that_fails():
    a, b = torch.randn(64, 320).half(), torch.randn(320, 64).half()
    before = set(threading.enumerate())
    for name in ("never arrives", "parity never changes"):
        fault_of(lambda name=name: product(a, b, name), 0)
    begun = [thread for thread in threading.enumerate() if thread not in before]
    for thread in begun:
        thread.join(60)
    assert not [thread.name for thread in begun if thread.is_alive()]


def test_every_kind_of_fault_has_its_words():
    assert {kind for kind, *_ in RING.values()} <= set(fault_kinds.KINDS)


PIECES = ("mbarrier.wait(full.index(i % STAGES), i // STAGES % 2)", "ring.index(i % STAGES).load")


def mutated(tmp_path, *edits):
    """The ring of sums with pieces of its text exchanged."""
    text = inspect.getsource(tma_ring)
    for old, new in edits:
        assert text.count(old) == 1
        text = text.replace(old, new)
    return imported(Mutation("tma_ring", 0, "", text), tmp_path).tma_ring


def test_a_slot_that_is_filled_again_between_the_wait_and_the_load_is_no_matter_of_phases(tmp_path):
    wait = f"        {PIECES[0]}\n"
    one_more = (("gl.static_range(STAGES - 1):", "gl.static_range(STAGES):"), ("+ STAGES - 1", "+ STAGES"))
    free = "        free = ahead % STAGES\n"
    ring = mutated(tmp_path, *one_more, (wait, ""), (free, free + wait))
    fault = fault_of(lambda: ring(torch.randn(32, 600)), None)
    assert fault.kind == "refilled before read" and fault.facts["own"]
    assert [place.text.split("(")[0].strip() for place in fault.places] == [
        "x = ring.index", "tma.async_copy_global_to_shared", "mbarrier.wait",
    ]  # fmt: skip


def test_a_slot_that_was_read_and_is_read_again_has_a_copy_on_its_way(tmp_path):
    ring = mutated(tmp_path, (PIECES[1], "ring.index(i // STAGES % STAGES).load"))
    assert fault_of(lambda: ring(torch.randn(32, 600)), None).kind == "copy not waited for"


def test_an_arrival_that_counts_for_two_is_told_where_the_other_was_not_waited_for(tmp_path):
    text = inspect.getsource(specialised_matmul).replace("count=1, pred=i > 0", "count=2, pred=i > 0")
    matmul = imported(Mutation("specialised_matmul", 0, "", text), tmp_path).specialised_matmul
    a, b = torch.randn(128, 320).half(), torch.randn(320, 64).half()
    fault = fault_of(lambda: matmul(a, b, block=(128, 64, 32)), None)
    assert fault.kind == "overwritten" and fault.facts["alone"]["count"] == 2
    assert "with count=2" in fault_kinds.sentence(fault)


def test_bytes_that_are_expected_after_the_copy_are_not_said_to_be_the_copys():
    a, c = torch.randn(64, 64).half(), torch.empty(64, 64).half()
    both = described(a, [64, 64]), described(c, [64, 64])
    fault = fault_of(lambda: expects_afterwards[(1,)](*both, 64), None)
    assert "mbarrier.expect" in fault.places[0].text
    assert f"the expect in line {fault.places[0].line} completes" in fault_kinds.sentence(fault)


def test_storing_a_product_as_it_is_asks_for_its_wait():
    a, c = torch.randn(64, 64).half(), torch.empty(64, 64)
    launch = lambda: stores_a_product[(1,)](described(a, [64, 64]), described(c, [64, 64]))  # noqa: E731
    assert fault_of(launch, None).kind == "product not waited for"


def test_a_wait_for_partitions_that_have_returned_gets_no_advice_about_parity():
    held = {
        "who": "attend 1",
        "line": 117,
        "barrier": "v_full[1]",
        "parity": 0,
        "completed": 0,
        "pending": 1,
        "count": 1,
        "init_line": 151,
        "first": True,
        "expected": 0,
        "copied": 0,
        "arrived": "",
        "arrived_line": 0,
        "array": "v_full",
        "helpers": ("bring",),
    }
    waiting = [held | {"returned": ("bring",)}, held | {"who": "attend 2", "returned": ("bring",)}]
    text = deadlock_sentences.sentence(waiting)
    assert "Only `bring` has arrived on `v_full`, and it has returned." in text and "lets it" not in text
    assert text.count("line 117") == 1 and "`attend 1` and `attend 2` in line 117" in text
    assert "parity 1 lets it through" in deadlock_sentences.sentence([held | {"returned": ()}])


def test_partitions_of_one_function_are_told_apart_by_words_and_not_by_numbers_of_the_kernel():
    facts = {"who": "consume 2", "other": "consume 1", "barrier": "full[1]"}
    words = fault_kinds.sentence(fault_kinds.SyncFault("init not visible", facts))
    assert words.startswith("The second `consume` uses `full[1]`") and "and the first `consume` init" in words
