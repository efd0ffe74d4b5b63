"""What is said of an attention kernel's weights is true: P is read again, pair by pair, by other code.

The kernel is called once for each key (or query) with ones there and zeros elsewhere, and P is compared with
a softmax that is written here.
"""

from __future__ import annotations

import math
import os
import re
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

from flashlearn.exercise import Exercise
from flashlearn.explaining.findings import missing_weights, weight_factors, weight_leaks
from flashlearn.explaining.weights import find_in_weights
from flashlearn.judging.cases import run_observed
from flashlearn.lessons import find
from flashlearn.outcome import Finding, Outcome, Status
from flashlearn.running.answer import Here
from tests.corpus import Entry, sample, wrong_entries

READ = (
    "leak from the future",
    "last tile missing",
    "first tile missing",
    "rows do not sum to 1",
    "not rescaled",
)
READ += ("diagonal tiles", "tiles counted twice", "mask forgotten", "no mask", "no causal mask")
ANSWERS = [
    e for e in wrong_entries() if find(e.exercise).explained.weights and find(e.exercise).lesson != "13"
]
LABELLED = [e for e in ANSWERS if set(READ) & set(e.names)]
SAMPLE = ANSWERS if os.environ.get("CORPUS") == "all" else [*sample(LABELLED, 9), *sample(ANSWERS, 60)]
LARGEST = 48
"""Keys, or queries, of the largest case that is read."""

NONE, CLOSE = 2e-5, 0.03
"""A weight below the first is none; factors are compared up to the second."""


class Read:
    """One head: the learner's P, and the right P, S without a mask and the visible pairs."""

    def __init__(self, got: Tensor, s: Tensor, visible: Tensor):
        self.got, self.s, self.visible = got, s, visible
        masked = s.masked_fill(~visible, -math.inf)
        self.lse = masked.logsumexp(1)
        self.right = masked.softmax(1).nan_to_num(0.0)
        self.large = visible & (self.right > 2e-3)


def heads_of(exercise: Exercise, function: Callable, outcome: Outcome, way: str) -> list[Read]:
    """All heads of a case, read anew off the output "o", "dv" or "dq"."""
    inputs = exercise.inputs(outcome.case, outcome.case.generator())
    q, k = inputs["q"].double(), inputs["k"].double()
    k = k.repeat_interleave(q.shape[-3] // k.shape[-3], -3) if k.ndim > 2 else k
    alpha = inputs.get("alpha") or 1 / math.sqrt(q.shape[-1])
    s = alpha * q @ k.mT
    rows, columns = torch.arange(s.shape[-2])[:, None], torch.arange(s.shape[-1])[None, :]
    causal = inputs.get("causal", exercise.name.endswith("_causal") or exercise.name == "clinic_5")
    visible = columns <= rows + s.shape[-1] - s.shape[-2] if causal else (columns >= 0).expand(s.shape[-2:])
    p = torch.empty_like(s)
    for n in range(s.shape[-2] if way == "dv" else s.shape[-1]):
        given = {**inputs}
        for name in {"o": ("v",), "dv": ("do",), "dq": ("v", "do", "o")}[way]:
            given[name] = torch.zeros_like(inputs[name])
        if way == "dq":
            given["v"][..., n, 0] = given["do"][..., 0] = 1.0
            dq = outputs(function, given)[0].double() / alpha
            p[..., n] = (dq * k[..., n : n + 1, :]).sum(-1) / (k[..., n : n + 1, :] ** 2).sum(-1)
        elif way == "dv":
            given["do"][..., n, :] = 1.0
            p[..., n, :] = outputs(function, given)[-1][..., 0].double()
        else:
            given["v"][..., n, :] = 1.0
            p[..., n] = outputs(function, given)[0][..., 0].double()
    flat = (x.reshape(-1, *x.shape[-2:]) for x in (p, s))
    return [Read(*head, visible) for head in zip(*flat, strict=True)]


def outputs(function: Callable, inputs: dict) -> tuple:
    """The outputs of one call, as a tuple."""
    returned = function(*inputs.values())
    return tuple(returned) if isinstance(returned, tuple | list) else (returned,)


def alike(one: Tensor, other: Tensor) -> bool:
    """Equal up to the reading's own rounding."""
    return bool(((one - other).abs() <= CLOSE * other.abs() + 5e-4).all())


CHECKS: dict[type, Callable[[Any, Read], bool]] = {}


def claim(kind: type) -> Callable:
    def keep(check: Callable) -> Callable:
        CHECKS[kind] = check
        return check

    return keep


@claim(weight_leaks.FutureHasWeight)
def future(kind, r: Read) -> bool:
    leaks = ~r.visible & (r.got.abs() > NONE)
    strong = ~r.visible & (r.got.abs() > 4e-4)
    scale = torch.ones(len(r.got), 1, dtype=torch.float64)
    if kind.like == "bare" or kind.like == "zero":
        scale = torch.where(r.large, r.got / r.right, torch.nan).nanmedian(1, keepdim=True).values
        lines = r.visible.any(1)
        wanted = ((r.s if kind.like == "bare" else 0 * r.s) - r.lse[:, None]).exp() * scale
        some = strong & lines[:, None]
        if not alike(r.got[some], wanted[some]):
            return False
    if kind.like == "0" and not alike(r.got[strong], torch.ones_like(r.got[strong])):
        return False
    if kind.too_many:
        ahead = torch.arange(r.got.shape[1])[None, :] - torch.arange(len(r.got))[:, None]
        if bool(strong[ahead > r.got.shape[1] - len(r.got) + kind.too_many].any()):
            return False
    return bool(leaks[kind.pair]) and int(strong.sum()) <= kind.pairs <= int(leaks.sum())


@claim(weight_leaks.DiagonalTilesUnmasked)
def diagonal(kind, r: Read) -> bool:
    leaks = ~r.visible & (r.got.abs() > 4e-4)
    if not bool(leaks.any()) or kind.block is None:
        return bool(leaks.any())
    rows, keys = kind.block
    tiles = {(i // rows, j // keys) for i, j in leaks.nonzero().tolist()}
    return all(bool(r.visible[a * rows : (a + 1) * rows, b * keys : (b + 1) * keys].any()) for a, b in tiles)


@claim(weight_leaks.BlindQueries)
def blind(kind, r: Read) -> bool:
    leaks = ~r.visible & (r.got.abs() > NONE)
    seeing = r.visible.any(1)
    others = not kind.others_right or alike(r.got[seeing], r.right[seeing])
    return int(leaks.any(1).sum()) == kind.count and not bool(leaks[seeing].any()) and others


@claim(weight_leaks.PTransposed)
def turned(kind, r: Read) -> bool:
    return bool((r.got[kind.pair] - r.right[kind.other]).abs() < 5e-4)


def only(r: Read, missing: Tensor) -> bool:
    """Whether no pair of these has weight, and of the others every large one does."""
    return not bool((r.got[missing].abs() > NONE).any()) and bool((r.got[r.large & ~missing] > NONE).all())


@claim(missing_weights.LastKeysMissing)
def last_keys(kind, r: Read) -> bool:
    return only(r, torch.arange(r.got.shape[1]).expand(r.got.shape) >= kind.first)


@claim(missing_weights.FirstKeysMissing)
def first_keys(kind, r: Read) -> bool:
    return only(r, torch.arange(r.got.shape[1]).expand(r.got.shape) <= kind.last)


@claim(missing_weights.LastQueriesMissing)
def last_queries(kind, r: Read) -> bool:
    return only(r, torch.arange(len(r.got))[:, None].expand(r.got.shape) >= kind.first)


@claim(missing_weights.FirstQueriesMissing)
def first_queries(kind, r: Read) -> bool:
    return only(r, torch.arange(len(r.got))[:, None].expand(r.got.shape) <= kind.last)


@claim(missing_weights.DiagonalKeysMissing)
def tails(kind, r: Read) -> bool:
    return bool(r.visible[kind.pair]) and abs(float(r.got[kind.pair])) < NONE


@claim(missing_weights.PairsMissing)
def pairs(kind, r: Read) -> bool:
    none = r.visible & (r.got.abs() < NONE)
    if kind.share is not None and not bool((r.got[none] != 0).any()):
        return False
    future = none & (
        torch.arange(r.got.shape[1])[None, :]
        > torch.arange(len(r.got))[:, None] + r.got.shape[1] - len(r.got)
    )
    if kind.lines:
        whole = (r.got.abs() < NONE).all(1 if kind.lines == "query" else 0)
        return bool(whole[kind.pair[kind.lines == "key"]]) and int(whole.sum()) >= kind.count
    among = not kind.future or not bool((none & r.large & ~future).any())
    return bool(none[kind.pair]) and int((none & r.large).sum()) <= kind.count <= int(none.sum()) and among


@claim(weight_factors.RowsOfPFactor)
def rows_off(kind, r: Read) -> bool:
    of_row = torch.where(r.large, r.got / r.right, torch.nan).nanmedian(1).values
    known = ~of_row.isnan()
    low, high = float(of_row[known].min()), float(of_row[known].max())
    proportional = alike(r.got[known], (of_row[:, None] * r.right)[known])
    return (
        proportional and math.isclose(low, kind.factors[0], rel_tol=CLOSE) and high <= kind.factors[1] * 1.03
    )


@claim(weight_factors.BoundedLse)
def bounded(kind, r: Read) -> bool:
    lse = r.lse.clamp(max=kind.bound) if kind.upper else r.lse.clamp(min=kind.bound)
    beyond = (r.lse > kind.bound) if kind.upper else (r.lse < kind.bound)
    wanted = torch.where(r.visible, (r.s - lse[:, None]).exp(), 0.0)
    return alike(r.got[r.large], wanted[r.large]) and kind.count <= int(beyond.sum()) <= kind.total


@claim(weight_factors.QueriesCountedAgain)
def again(kind, r: Read) -> bool:
    rows = torch.where(r.large, r.got / r.right, torch.nan).nanmedian(1).values.nan_to_num(1.0)
    several = (rows - kind.times).abs() < 0.01
    ends = several.nonzero().flatten()
    return int(several.sum()) == kind.count and (int(ends[0]), int(ends[-1])) == kind.queries


@claim(weight_factors.QueriesCountedSeveralTimes)
def several_times(kind, r: Read) -> bool:
    rows = torch.where(r.large, r.got / r.right, torch.nan).nanmedian(1).values
    rows = rows[~rows.isnan()]
    whole = bool(((rows - rows.round()).abs() < CLOSE * rows).all())
    return whole and (int(rows.round().min()), int(rows.round().max())) == (kind.fewest, kind.most)


@claim(weight_factors.NotRescaled)
@claim(weight_factors.TilesCountedTwice)
def in_tiles(kind, r: Read) -> bool:
    ratio = torch.where(r.large, r.got / r.right, torch.nan)
    for tile in ratio.split(kind.block, 1):
        middle = tile.nanmedian(1, keepdim=True).values
        if bool(((tile - middle).abs() > CLOSE * middle).any()):
            return False
    return True


@claim(weight_factors.ScoresTimesNumber)
def softmax(kind, r: Read) -> bool:
    other = (kind.factor * r.s).masked_fill(~r.visible, -math.inf).softmax(1).nan_to_num(0.0)
    return bool(((r.got - other).abs() < 0.02).all())


@claim(weight_factors.PToAPower)
def power(kind, r: Read) -> bool:
    return bool(((r.got - r.right**kind.factor).abs() < 0.02)[r.visible].all())


@claim(weight_factors.ExponentTimesNumber)
def exponent(kind, r: Read) -> bool:
    shares = r.got / r.got.sum(1, keepdim=True)
    other = (kind.factor * r.s).masked_fill(~r.visible, -math.inf).softmax(1)
    return bool(((shares - other).abs() < 0.03)[r.visible].all())


def test_every_kind_that_weights_show_is_recomputed():
    modules = (missing_weights, weight_factors, weight_leaks)
    kinds = {k for m in modules for k in vars(m).values() if isinstance(k, type) and "name" in vars(k)}
    assert kinds == set(CHECKS)


def told(entry: Entry) -> tuple[Finding | None, dict[str, Outcome]]:
    """What weights show in the small fp32 cases of an answer that are wrong."""
    exercise = find(entry.exercise)
    cases = [
        c
        for c in exercise.cases
        if not c.gpu
        and c.dtype is torch.float32
        and 8 <= c.sizes.get("S_q", 0) <= LARGEST
        and 8 <= c.sizes.get("S_k", 0) <= LARGEST
    ]
    outcomes = [run_observed(exercise, entry.function, case) for case in cases[:6]]
    wrong = {o.case.name: o for o in outcomes if o.status is Status.WRONG and o.outputs}
    return find_in_weights(exercise, [*wrong.values()], Here(entry.function, exercise)), wrong


@pytest.mark.slow
def test_every_claim_about_weights_is_true():
    false, counted = [], Counter()
    for entry in dict.fromkeys(SAMPLE):
        finding, outcomes = told(entry)
        if finding is None:
            continue
        name, _, head = re.match(r"(.*?)(, head (\d+) of \d+)?$", finding.facts["case"]).groups()
        exercise = find(entry.exercise)
        ways = exercise.explained.weights
        heads = []
        for way in ways if isinstance(ways, tuple) else (ways,):
            read = heads_of(exercise, entry.function, outcomes[name], way.shows)
            heads += [read[int(head)]] if head is not None else read
        counted[finding.kind.name] += 1
        if not any(CHECKS[type(finding.kind)](finding.kind, r) for r in heads):
            false.append(f"{entry}: {finding.sentence}")
    print(f"{counted.total()} claims checked: {dict(counted)}")
    assert not false, "\n".join(false)
    assert counted.total() >= len(SAMPLE) / 4
