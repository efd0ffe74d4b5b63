"""The kinds of synchronization fault, each with its sentence: both lines where two are involved.

Each is detected where it shows: accesses of shared memory in shared_memory_ops.py, asynchronous operations in
async_ops.py, barriers and their phases in barrier_ops.py, the end of a program and deadlocks in program.py,
global memory in partition_races.py, and registers in semantic.py.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from flashlearn.interpreter.gluon import deadlock_sentences
from flashlearn.interpreter.gluon.registers import FEWEST, MOST, STEP
from flashlearn.observation import Place


@dataclass(frozen=True)
class SyncFault:
    """A fault by its kind, its facts and the lines it is about: where it showed first, then the cause's."""

    kind: str
    facts: Mapping[str, Any] = field(default_factory=dict)
    places: tuple[Place | None, ...] = ()


READS = {"load": "loads", "wgmma": "multiplies", "tma store": "copies out", "store": "stores into",
         "tma load": "copies into", "cp.async": "copies into"}  # fmt: skip
DID = {"load": "loads it", "store": "stores into it", "wgmma": "multiplies it", "tma store": "copies it out",
       "tma load": "copies into it", "cp.async": "copies into it"}  # fmt: skip

KINDS: dict[str, Callable[[SyncFault, Mapping[str, Any]], str]] = {}
ORDINALS = ("first", "second", "third", "fourth")


def sentence(fault: SyncFault) -> str:
    """What happened, and what would fix it."""
    return _counted(KINDS[fault.kind](fault, fault.facts))


def _counted(words: str) -> str:
    """Partitions of one function in words, which do not depend on the numbers that the kernel gives them."""
    named = re.sub(r"`(\w+) (\d+)`", lambda found: f"{_ordinal(int(found[2]))} `{found[1]}`", words)
    return re.sub(r"(^|[.] )the (\w+ `)", lambda found: f"{found[1]}The {found[2]}", named)


def _ordinal(number: int) -> str:
    return f"the {ORDINALS[number - 1] if number <= len(ORDINALS) else f'{number}th'}"


def _kind(name: str) -> Callable:
    def keep(words: Callable) -> Callable:
        KINDS[name] = words
        return words

    return keep


def _line(place: Place | None) -> str:
    return f"line {place.line}" if place is not None else "an unknown line"


def _at(fault: SyncFault, number: int) -> str:
    return _line(fault.places[number] if number < len(fault.places) else None)


def _access(fault: SyncFault, f: Mapping[str, Any]) -> str:
    return f"`{f['who']}` {READS[f['what']]} `{f['buffer']}`"


@_kind("copy not waited for")
def _copy(fault: SyncFault, f: Mapping[str, Any]) -> str:
    does = "and the two write over each other" if f["writes"] else "so its values are not there yet"
    return (
        f"{_access(fault, f)} in {_at(fault, 0)} while the copy of {_at(fault, 1)} may still be writing "
        f"it, {does}: `{f['who']}` has not waited for phase {f['phase']} of `{f['barrier']}`, which that "
        f"copy completes. {_wait_missing(f)}"
    )


def _wait_missing(f: Mapping[str, Any]) -> str:
    wait = f"`mbarrier.wait({f['barrier']}, {f['phase'] & 1})`"
    return (
        f"If it should read what that copy brings, {wait} must come before it; if not, its index is that of "
        "another slot, or the copy is too early."
    )


@_kind("phase is off")
def _phase(fault: SyncFault, f: Mapping[str, Any]) -> str:
    return (
        f"{_access(fault, f)} in {_at(fault, 0)} while the copy of {_at(fault, 1)} may still be writing "
        f"it: that copy completes phase {f['phase']} of `{f['barrier']}`, whose parity is "
        f"{f['phase'] & 1}. The wait in {_at(fault, 2)} asked for parity {f['parity']}, with "
        f"{_phases(f['completed'])} completed, and returned at once. {_parity(f)}"
    )


def _parity(f: Mapping[str, Any]) -> str:
    if not f["completed"]:
        return "The first phase of a barrier has parity 0; a fresh barrier lets a wait for parity 1 through."
    return (
        f"`{f['who']}` had waited for that phase before: a wait's parity changes with each use of the "
        "barrier, and in a ring with each turn."
    )


@_kind("refilled before read")
def _refilled(fault: SyncFault, f: Mapping[str, Any]) -> str:
    whose = "" if f["own"] else f" of `{f['other']}`"
    fix = (
        "Is that copy meant for this slot? If so, it may be requested only after the line that reads the "
        "tile."
        if f["own"]
        else f"Does `{f['other']}` wait for every reader, in the right phase, before it fills a slot again?"
    )
    return (
        f"{_access(fault, f)} in {_at(fault, 0)} while the copy{whose} of {_at(fault, 1)} may already be "
        f"filling it again: the wait in {_at(fault, 2)} was for the tile that was there before, and "
        f"`{f['who']}` had not read that yet. {fix}"
    )


def _phases(count: int) -> str:
    return {0: "no phase", 1: "1 phase"}.get(count, f"{count} phases")


@_kind("wgmma not waited for")
def _product_reads(fault: SyncFault, f: Mapping[str, Any]) -> str:
    who = "" if f["own"] else f" of `{f['other']}`"
    more = (
        ""
        if f["own"]
        else f". Which arrival of `{f['other']}` releases this buffer, and is the product over by then"
    )
    return (
        f"{_access(fault, f)} in {_at(fault, 0)}, and the product{who} in {_at(fault, 1)} may still be "
        "reading it: an asynchronous `warpgroup_mma` reads its operands until `warpgroup_mma_wait` has "
        f"waited for it{f'{more}?' if more else '.'}"
    )


@_kind("tma store not waited for")
def _store_reads(fault: SyncFault, f: Mapping[str, Any]) -> str:
    who = "" if f["own"] else f" of `{f['other']}`"
    return (
        f"{_access(fault, f)} in {_at(fault, 0)}, and the copy out{who} in {_at(fault, 1)} may still be "
        "reading it: wait with `tma.store_wait` until that copy has read the buffer, and write to it "
        "then."
    )


@_kind("cp.async not waited for")
def _group(fault: SyncFault, f: Mapping[str, Any]) -> str:
    return (
        f"{_access(fault, f)} in {_at(fault, 0)} while the copy of {_at(fault, 1)} may still be writing "
        "it: its group is complete only when `async_copy.wait_group` leaves fewer groups pending."
    )


@_kind("overwritten")
def _overwritten(fault: SyncFault, f: Mapping[str, Any]) -> str:
    return (
        f"{_access(fault, f)} in {_at(fault, 0)} before `{f['other']}`, which {DID[f['did']]} in "
        f"{_at(fault, 1)}, has released it: nothing that `{f['who']}` waited for says that this is "
        f"done. {_given_back(f)}"
    )


def _given_back(f: Mapping[str, Any]) -> str:
    alone = f.get("alone")
    if alone:
        return (
            f"The phase of `{alone['barrier']}` that it waited for was complete without `{f['other']}`: "
            f"`{alone['who']}` arrives in line {alone['line']} with count={alone['count']}."
        )
    return (
        f"`{f['other']}` must arrive on a barrier after that line, its `init` must count that arrival, "
        f"and `{f['who']}` must wait for it."
    )


@_kind("two writers")
def _writers(fault: SyncFault, f: Mapping[str, Any]) -> str:
    return (
        f"{_access(fault, f)} in {_at(fault, 0)}, and `{f['other']}` {DID[f['did']]} in {_at(fault, 1)}: "
        "no barrier orders the two, so which one comes last is left to chance."
    )


@_kind("unordered read")
def _unordered(fault: SyncFault, f: Mapping[str, Any]) -> str:
    return (
        f"{_access(fault, f)} in {_at(fault, 0)}, and `{f['other']}` {DID[f['did']]} in {_at(fault, 1)}: "
        f"`{f['who']}` has waited for nothing that comes after that store, so it may see the old values. "
        f"`{f['other']}` must arrive on a barrier after the store, and `{f['who']}` must wait for it."
    )


@_kind("no fence")
def _fence(fault: SyncFault, f: Mapping[str, Any]) -> str:
    what = "product" if f["what"] == "wgmma" else "copy"
    return (
        f"{_access(fault, f)} in {_at(fault, 0)} without `fence_async_shared()` after the store of "
        f"{_at(fault, 1)}: an asynchronous {what} can overtake ordinary stores, and may see what was there "
        "before."
    )


@_kind("never written")
def _never(fault: SyncFault, f: Mapping[str, Any]) -> str:
    return (
        f"{_access(fault, f)} in {_at(fault, 0)}, but not all of it has been written: what was allocated "
        f"in {_at(fault, 1)} holds whatever was there before."
    )


@_kind("product not waited for")
def _product(fault: SyncFault, f: Mapping[str, Any]) -> str:
    return (
        f"{_at(fault, 0).capitalize()} uses the result of the product in {_at(fault, 1)}, which may still "
        "be in progress: an asynchronous `warpgroup_mma` has a value only after `acc = "
        "warpgroup_mma_wait(num_outstanding, deps=[acc])` has waited for it."
    )


@_kind("wgmma never waited for")
def _product_left(fault: SyncFault, f: Mapping[str, Any]) -> str:
    return (
        f"`{f['who']}` ends without having waited for the product in {_at(fault, 0)}: "
        "`warpgroup_mma_wait(0, deps=[acc])` belongs after the last one."
    )


@_kind("tma store never waited for")
def _store_left(fault: SyncFault, f: Mapping[str, Any]) -> str:
    return (
        f"`{f['who']}` ends without having waited for the copy out in {_at(fault, 0)}: shared memory is "
        "released when the kernel ends, and the copy may still be reading it. `tma.store_wait(0)` "
        "belongs at the end."
    )


@_kind("copy never waited for")
def _load_left(fault: SyncFault, f: Mapping[str, Any]) -> str:
    return (
        f"The kernel ends without having waited for the copy of {_at(fault, 0)} into `{f['buffer']}` "
        f"(phase {f['phase']} of `{f['barrier']}`): it may still be writing into shared memory that "
        "belongs to another program by then. Copy no more than is used, or wait for the last copies."
    )


@_kind("no init")
def _no_init(fault: SyncFault, f: Mapping[str, Any]) -> str:
    verb = {"tma load": "gives a copy", "invalidate": "invalidates"}.get(f["what"], f"calls {f['what']} on")
    return (
        f"{_at(fault, 0).capitalize()} {verb} `{f['barrier']}`, which is not a barrier at that point: "
        f"`mbarrier.init({f['barrier']}, count=…)` comes first (allocated in {_at(fault, 1)}), and none "
        "after it invalidates it."
    )


@_kind("init not visible")
def _unseen(fault: SyncFault, f: Mapping[str, Any]) -> str:
    return (
        f"`{f['who']}` uses `{f['barrier']}` in {_at(fault, 0)}, and `{f['other']}` initialises it in "
        f"{_at(fault, 1)} with nothing between the two: initialise barriers before `warp_specialize`, "
        "which all partitions see."
    )


@_kind("arrival too many")
def _arrival(fault: SyncFault, f: Mapping[str, Any]) -> str:
    times = {1: "once", 2: "twice"}.get(f["count"], f"{f['count']} times")
    left = f"needs only {f['pending']} more" if f["pending"] else "already has all"
    return (
        f"`{f['who']}` arrives {times} on `{f['barrier']}` in {_at(fault, 0)}, and its phase {left} of "
        f"the arrivals that `init` in {_at(fault, 1)} asked for (count={f['of']})."
    )


@_kind("expected again")
def _again(fault: SyncFault, f: Mapping[str, Any]) -> str:
    return (
        f"`{f['who']}` calls `mbarrier.expect` on `{f['barrier']}` in {_at(fault, 0)} while its phase "
        f"{f['phase']} is not over: it has all of its arrivals, and waits for the {f['lacks']} bytes that "
        f"{_at(fault, 1)} expects. {_too_early(f)}"
    )


def _too_early(f: Mapping[str, Any]) -> str:
    if not f["asked"]:
        return (
            "No copy into a buffer of that barrier was issued in between: an `mbarrier.expect` and its "
            "copies must name the same barrier."
        )
    return (
        "So nothing can have waited for the tile that is being copied there. If both belong to one "
        "phase, let one `mbarrier.expect` name all of its bytes; if the second begins the next phase, "
        "someone must wait for this one first."
    )


@_kind("phase overrun")
def _overrun(fault: SyncFault, f: Mapping[str, Any]) -> str:
    return (
        f"The arrival in {_at(fault, 0)} completes a phase of `{f['barrier']}` before `{f['missed']}`, "
        f"which waits in {_at(fault, 1)}, has seen the previous one: a barrier remembers only the "
        "last phase. How many arrivals does a phase need, and what must each of them have waited for?"
    )


@_kind("phase may be over")
def _loose(fault: SyncFault, f: Mapping[str, Any]) -> str:
    return (
        f"Nothing puts the wait of `{f['missed']}` in {_at(fault, 1)} before the arrival in {_at(fault, 0)}, "
        f"which completes a phase of `{f['barrier']}`. If the arrival comes first on a GPU, that wait asks "
        "for a phase that is over, and the kernel hangs. Which wait or copy of the other partition should "
        "come before this arrival, and is it an arrival for this slot, or for another?"
    )


@_kind("bytes")
def _bytes(fault: SyncFault, f: Mapping[str, Any]) -> str:
    untold = "is never told how many bytes to expect (`mbarrier.expect`)"
    wanted = f"expects {f['expected']} bytes" if f["expected"] else untold
    counted = f"`{f['barrier']}` {wanted} in a phase, but copies bring {f['copied']}"
    where = f" (expect in {_at(fault, 0)})" if f["hangs"] and f["expected"] else ""
    if f["hangs"]:
        return (
            f"{counted}{where}. The phase never completes, and `{f['who']}` waits forever. A copy brings "
            "the bytes of the descriptor's whole block, `desc.block_type.nbytes`, even where it reaches "
            "beyond the tensor."
        )
    at, after = _at(fault, 0), f.get("after", "copy")
    how = f", counting the copy of {at}: the phase completes"
    return (
        f"{counted}{how if after == 'copy' else f': the {after} in {at} completes the phase'} "
        "before all have arrived. Which copies complete this phase, and how many bytes does each of them "
        "bring?"
    )


@_kind("no such buffer")
def _index(fault: SyncFault, f: Mapping[str, Any]) -> str:
    return (
        f"`{f['buffer']}.index({f['index']})` in {_at(fault, 0)}: there are {f['count']} (0 to "
        f"{f['count'] - 1}), allocated in {_at(fault, 1)}."
    )


@_kind("box and buffer")
def _box(fault: SyncFault, f: Mapping[str, Any]) -> str:
    return (
        f"The descriptor's block is {f['element']} {list(f['box'])}, and `{f['buffer']}`, allocated in "
        f"{_at(fault, 1)}, is {f['other']} {list(f['shape'])}: a copy moves a whole block, into a buffer "
        "of its shape."
    )


@_kind("global memory")
def _crossing(fault: SyncFault, f: Mapping[str, Any]) -> str:
    verbs = {"load": "reads", "store": "writes", "atomic": "updates"}
    both = f["what"] == f["did"] == "store"
    chance = "which value is left there" if both else "which of the two comes first"
    fix = "Give each partition elements of its own, or let" if both else "Let"
    return (
        f"`{f['who']}` {verbs[f['what']]} {f['at']} in {_at(fault, 0)}, and `{f['other']}` "
        f"{verbs[f['did']]} it in {_at(fault, 1)}; no barrier orders the two, so {chance} is up to "
        f"chance. {fix} one of them wait for an mbarrier on which the other arrives after that line."
    )


@_kind("registers")
def _registers(fault: SyncFault, f: Mapping[str, Any]) -> str:
    if "share" in f:
        return (
            f"`warp_specialize` in {_at(fault, 0)} asks for {f['share']} registers in worker "
            f"{f['worker']}: the number must be a multiple of {STEP}, from {FEWEST} to {MOST}."
        )
    return (
        f"The workers of `warp_specialize` in {_at(fault, 0)} take {f['taken']} of the {f['total']} "
        f"registers, counted in whole warpgroups, which leaves {max(f['left'], 0)} for each thread of the "
        f"{f['warps']} warps of the default partition: it needs at least {FEWEST}."
    )


@_kind("nested")
def _nested(fault: SyncFault, f: Mapping[str, Any]) -> str:
    return (
        f"`warp_specialize` in {_at(fault, 0)} is called inside a partition, which cannot be divided again."
    )


KINDS["deadlock"] = lambda _, facts: deadlock_sentences.sentence(facts["waiting"])
