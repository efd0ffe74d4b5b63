"""How fast `flashlearn.attention` is: beside the kernels it builds on, FlexAttention, and torch's own.

    $ flashlearn bench --attention FILE          # on a GPU: measures, prints, and writes a record
    $ flashlearn bench --attention-show FILE     # the table of a record, on any machine

Times are medians in milliseconds of calls in turns, forward and backward pass through autograd. A ratio above
1 says that `flashlearn.attention` is faster. Peers that fail, or for which no time is left, are named.
"""

from __future__ import annotations

import functools
import gc
import json
import math
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

from flashlearn.bench import attention_peers as peers
from flashlearn.bench.measure import this_device, versions
from flashlearn.kernels.fast_attention import fast_attention
from flashlearn.kernels.gluon.fa3_attention import fa3_attention, is_hopper
from flashlearn.kernels.model_attention import dispatch
from flashlearn.kernels.model_attention.attention import attention
from flashlearn.kernels.model_attention.forward import Extras
from flashlearn.kernels.model_attention.options import Options
from flashlearn.machine.timers import WallClockTimer, default_timer, time_in_turns
from flashlearn.running.precompiler import Precompiler

__all__ = ["Row", "load", "measure", "save"]

Attend = Callable[[Tensor, Tensor, Tensor], Tensor]
SECONDS = 150.0
"""What a run may take; peers that would start later are left out."""
PRECOMPILING = 60.0
AGREED = 0.02
"""The largest difference of two outputs in bf16, relative to the largest number."""
WINDOW = 1024


@dataclass(frozen=True)
class Row:
    """One comparison: `ours` and `theirs` in milliseconds; `wanted` is the ratio that was aimed at.

    `ratio` is theirs / ours, or, for a window, how much of the ideal saving there is.
    """

    section: str
    name: str
    direction: str
    peer: str
    ours: float
    theirs: float
    ratio: float
    wanted: float | None = None
    note: str = ""


@dataclass(frozen=True)
class Problem:
    """What is compared: `ours` and peers by name, on q, k, v; the options say which kernels to compile."""

    section: str
    name: str
    q: Tensor
    k: Tensor
    v: Tensor
    ours: Attend
    peers: dict[str, Attend]
    options: Options
    extras: Extras = field(default_factory=Extras)
    wanted: float | None = None
    wall: bool = False


def heads_first(B: int, H: int, H_k: int, S: int, D: int, device: str) -> tuple[Tensor, Tensor, Tensor]:
    """Random q, k and v in bf16."""
    make = functools.partial(torch.randn, device=device, dtype=torch.bfloat16)
    return make(B, H, S, D), make(B, H_k, S, D), make(B, H_k, S, D)


def problems(device: str = "cuda", small: bool = False) -> Iterator[Problem]:
    """All but the windows and the ragged batches. `small` sizes are for trying the code out."""
    S = 128 if small else 4096
    causal = functools.partial(attention, causal=True)
    base = fa3_attention if is_hopper() and not small else fast_attention
    base = scaled_dot_product_attention if small else functools.partial(base, causal=True)
    sdpa = functools.partial(scaled_dot_product_attention, is_causal=True)
    own = "the base kernels"
    for D, H in ((128, 16), (64, 32)):
        q, k, v = heads_first(4, H, H, S, D, device)
        options = Options(D**-0.5, right=0)
        yield Problem("base", f"causal, D {D}", q, k, v, causal, {own: base}, options, wanted=1.0)
        grouped = heads_first(4, H, H // 4, S, D, device)
        yield Problem("base", f"grouped, causal, D {D}", *grouped, causal, {own: base}, options, wanted=1.0)
        cap = 30.0
        ours = functools.partial(attention, causal=True, softcap=cap)
        others = {"FlexAttention": peers.flex_softcap(cap), "FlashAttention-4": peers.flash4(softcap=cap)}
        capped = Options(D**-0.5, right=0, softcap=cap)
        yield Problem("features", f"softcap, causal, D {D}", q, k, v, ours, others, capped, wanted=1.1)
        slopes = torch.tensor([2.0 ** (-8 * (h + 1) / H) for h in range(H)], device=device)
        ours = functools.partial(attention, causal=True, alibi=slopes)
        others = {"FlexAttention": peers.flex_alibi(slopes)}
        extras = Extras(slopes=slopes.expand(4, H))
        yield Problem("features", f"ALiBi, causal, D {D}", q, k, v, ours, others, options, extras, 1.1)
        cu = bounds(lengths(4 * S, S, seed=0), device)
        packed = [t.transpose(1, 2).reshape(4 * S, H, D) for t in (q, k, v)]
        ours = functools.partial(attention, causal=True, cu_seqlens_q=cu, cu_seqlens_k=cu)
        others = {"FlexAttention": peers.flex_packed(cu), "FlashAttention-4": peers.flash4_packed(cu)}
        extras = Extras(cu_q=cu, cu_k=cu)
        yield Problem("features", f"packed, causal, D {D}", *packed, ours, others, options, extras, 1.1)
    for B, H, length, D in ((1, 8, 512, 64), (1, 16, 512, 128), (4, 8, 1024, 64)):
        q, k, v = heads_first(B, H, H, 64 if small else length, D, device)
        name = f"small: B {B}, H {H}, S {length}, D {D}"
        options = Options(D**-0.5, right=0)
        yield Problem("small", name, q, k, v, causal, {"SDPA": sdpa}, options, wanted=1 / 1.3, wall=True)


def lengths(total: int, longest: int, seed: int) -> list[int]:
    """Lengths of documents that sum to `total`: log-normal, as texts' are, cut at `longest`."""
    generator = torch.Generator().manual_seed(seed)
    found: list[int] = []
    while sum(found) < total:
        one = math.exp(math.log(longest / 6) + 0.9 * torch.randn((), generator=generator).item())
        found.append(min(longest, total - sum(found), max(16, round(one))))
    return found


def bounds(some: list[int], device: str) -> Tensor:
    """cu_seqlens of these lengths."""
    ends = torch.tensor([0, *some]).cumsum(0)
    return ends.to(torch.int32).to(device)


def both(attend: Attend, q: Tensor, k: Tensor, v: Tensor) -> Callable[[], Any]:
    """Forward and backward pass as one call."""
    leaves = [t.detach().requires_grad_() for t in (q, k, v)]
    do = torch.randn_like(q)
    return lambda: torch.autograd.grad(attend(*leaves), leaves, do)


def compare(problem: Problem, deadline: float, say: Callable[[str], Any]) -> list[Row]:
    """A row for each peer that works and agrees."""
    q, k, v = problem.q, problem.k, problem.v
    calls: dict[str, Callable[[], Any]] = {}
    rows: list[Row] = []
    with torch.no_grad():
        mine = problem.ours(q, k, v).float()
    for name, attend in problem.peers.items():
        if time.monotonic() > deadline:
            say(f"{problem.name}: no time is left for {name}")
            continue
        try:
            with torch.no_grad():
                theirs = attend(q, k, v).float()
            off = ((mine - theirs).abs().max() / mine.abs().max()).item()
            if not off <= AGREED:
                say(f"{problem.name}: {name} differs by {off:.3f} of the largest number, and is not compared")
                continue
            calls[name] = both(attend, q, k, v)
            calls[name]()
        except Exception as error:
            calls.pop(name, None)
            say(f"{problem.name}: {name} fails. {type(error).__name__}: {str(error).strip()[:200]}")
    timer = WallClockTimer() if problem.wall else default_timer()
    ours, *others = time_in_turns([both(problem.ours, q, k, v), *calls.values()], timer, seconds=0.3)
    for name, other in zip(calls, others, strict=True):
        ratio = other.median / ours.median
        rows.append(
            Row(problem.section, problem.name, "forward and backward", name, ours.median, other.median, ratio,
                problem.wanted if name != "FlashAttention-4" else None)
        )  # fmt: skip
        say(f"{problem.name}: {ours.median:.3f} ms, {name} {other.median:.3f} ms, ratio {ratio:.2f}")
    if not calls:
        say(f"{problem.name}: {ours.median:.3f} ms, and no peer")
    return rows


def windows(device: str, say: Callable[[str], Any], small: bool = False) -> list[Row]:
    """How much of what a window of 1024 leaves out is saved, against a causal mask alone."""
    rows = []
    S, window = (256, 64) if small else (16384, WINDOW)
    for D in (128, 64):
        q, k, v = heads_first(1, 16 if not small else 1, 16 if not small else 1, S, D, device)
        narrow = both(functools.partial(attention, causal=True, window=window), q, k, v)
        # the same kernels with a window that hides nothing, and the kernels that a causal mask alone gets
        same = both(functools.partial(attention, causal=True, window=S), q, k, v)
        plain = both(functools.partial(attention, causal=True), q, k, v)
        times = [one.median for one in time_in_turns([narrow, same, plain], default_timer(), seconds=0.3)]
        visited = tiles(S, window) / tiles(S, S)
        for name, full in (("the same kernels", times[1]), ("the causal kernels", times[2])):
            share = (1 - times[0] / full) / (1 - visited)
            note = f"{visited:.3f} of the tiles, {times[0] / full:.3f} of the time"
            rows.append(
                Row("window", f"window {window}, S {S}, D {D}", "forward and backward", name, times[0], full,
                    share, 0.8, note)
            )  # fmt: skip
            say(f"window {window}, S {S}, D {D}, against {name}: {note}, {share:.2f} of the ideal saving")
    return rows


def tiles(S: int, window: int, block: int = 64) -> int:
    """Tiles of `block` queries and keys that a causal window touches."""
    rows = range(0, S, block)
    return sum(first // block - max(0, first - window + 1) // block + 1 for first in rows)


def ragged(device: str, say: Callable[[str], Any], small: bool = False) -> list[Row]:
    """Packed sequences against the same padded to the longest, for batches of documents."""
    rows = []
    longest, H, D = (64, 2, 64) if small else (4096, 16, 128)
    for seed in range(5):
        some = lengths(4 * longest, longest, seed)
        cu = bounds(some, device)
        packed = [torch.randn(sum(some), H, D, device=device, dtype=torch.bfloat16) for _ in range(3)]
        padded = [torch.randn(len(some), H, max(some), D, device=device, dtype=torch.bfloat16) for _ in "qkv"]
        ours = functools.partial(attention, causal=True, cu_seqlens_q=cu, cu_seqlens_k=cu)
        causal = functools.partial(attention, causal=True)
        sdpa = functools.partial(scaled_dot_product_attention, is_causal=True)
        calls = [both(ours, *packed), both(causal, *padded), both(sdpa, *padded)]
        mine, *others = [one.median for one in time_in_turns(calls, default_timer(), seconds=0.2)]
        waste = 1 - sum(some) / (len(some) * max(some))
        for name, other in zip(("padded", "padded, SDPA"), others, strict=True):
            note = f"{len(some)} sequences, {waste:.2f} padding"
            rows.append(
                Row("ragged", f"batch {seed}", "forward and backward", name, mine, other, other / mine, None,
                    note)
            )  # fmt: skip
            say(f"packed, batch {seed} ({note}): {mine:.3f} ms, {name} {other:.3f} ms, {other / mine:.2f}")
    return rows


def precompile(some: list[Problem], seconds: float = PRECOMPILING) -> None:
    """Have the kernels of both passes compiled, many at a time."""
    with Precompiler(patience=seconds) as precompiler, precompiler.dry():
        for one in some:
            _launch(one.q, one.k, one.v, one.options, one.extras)
        for D in (128, 64):
            _launch(*heads_first(1, 16, 16, 16384, D, "cuda"), Options(D**-0.5, WINDOW - 1, 0), Extras())


def _launch(q: Tensor, k: Tensor, v: Tensor, options: Options, extras: Extras) -> None:
    try:
        o, lse = dispatch.forward(q, k, v, options, extras)
        dispatch.backward(torch.empty_like(o), q, k, v, o, lse, options, extras)
    except Exception as error:  # raised again where it is measured
        print(f"precompiling: {type(error).__name__}: {str(error)[:200]}")


def measure(say: Callable[[str], Any] = print, seconds: float = SECONDS) -> dict[str, Any]:
    """Everything, on this GPU: a record."""
    deadline = time.monotonic() + seconds
    some = list(problems())
    precompile(some)
    say(f"{seconds - (deadline - time.monotonic()):.0f} s for compiling")
    rows: list[Row] = []
    for section in ("base", "small"):
        for one in some:
            rows += compare(one, deadline, say) if one.section == section else []
    rows += windows("cuda", say)
    rows += ragged("cuda", say)
    for one in some:
        rows += compare(one, deadline, say) if one.section == "features" else []
        _forget()
    for line in summary(rows):
        say(line)
    return {
        "version": 1,
        "made": datetime.now(UTC).isoformat(timespec="seconds"),
        "device": this_device(),
        "versions": versions(),
        "rows": [asdict(row) for row in rows],
    }


def _forget() -> None:
    gc.collect()
    torch.cuda.empty_cache()


def summary(rows: list[Row]) -> list[str]:
    """Geometric means over the shapes of each feature and peer, and what was aimed at."""
    groups: dict[tuple[str, str, str], list[Row]] = {}
    for row in rows:
        groups.setdefault((row.section, row.name.split(", D ")[0].split(":")[0], row.peer), []).append(row)
    lines = []
    for (section, name, peer), own in groups.items():
        if section == "ragged":
            continue
        mean = math.exp(sum(math.log(max(row.ratio, 1e-6)) for row in own) / len(own))
        wanted = "" if own[0].wanted is None else f", wanted {own[0].wanted:.2f}"
        lines.append(f"{section}: {name} against {peer}: {mean:.2f}{wanted}")
    return lines


def save(record: dict[str, Any], path: Path) -> None:
    """Write a record as JSON."""
    path.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


def load(path: Path) -> tuple[dict[str, Any], list[Row]]:
    """A record, and its rows."""
    record = json.loads(path.read_text(encoding="utf-8"))
    return record, [Row(**row) for row in record["rows"]]
