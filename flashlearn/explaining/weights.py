"""What a wrong attention kernel attends to: its weights P, read out and compared pair by pair.

The exercise says how to read them (`exercise.explained.weights`, a `Readout`, or several). A pair that gets
weight and must not is a leak, a pair that gets none and must is missing, and weights that differ by a
factor tell which number is wrong. Nothing is said before the reading has proved itself: what was read must
predict what the kernel returns for other inputs, and a hidden pair has weight only if moving what it hides
moves the result. Kernels are read without the roundings of half precision, which are no weights.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from flashlearn.exercise import Exercise, Inputs
from flashlearn.explaining.predictions import WIDTH
from flashlearn.explaining.read_weights import Weights
from flashlearn.explaining.weight_faults import find_row_factors, find_scaled
from flashlearn.explaining.weight_leaks import find_leak, find_transposed
from flashlearn.explaining.weight_missing import find_missing, find_pairs
from flashlearn.observation import Launch
from flashlearn.outcome import Finding, Outcome
from flashlearn.running.answer import Answer
from flashlearn.running.run_modes import Observed

MAX_PAIRS = 128 * 128
"""Pairs of the largest case that is read out."""

Look = Callable[[Weights, Outcome], Finding | None]

LOOKS: tuple[Look, ...] = (
    find_transposed,
    find_leak,
    find_missing,
    find_row_factors,
    find_scaled,
    find_pairs,
)

TOLERANCE = 2e-4
"""By so much of the largest number that they could give, weights may miss what a kernel returns."""


@dataclass(frozen=True)
class Readout:
    """How the weights of a kernel are read, and what proves that they are the weights.

    `read(launcher, inputs)` gives P, `right_of(inputs)` the right P, S without a mask, and which pairs are
    visible. Of the outputs, `output(returned)` shows the weights: for `probe(inputs)` it is
    `made_of(P, inputs)`, and adding to row j (or i) of the input `moved`, for `by` "key" (or "query"),
    changes the rows of the other side to which P gives weight. `scans` is what a program of this kernel
    scans, "keys" or "queries"; `shows` is the name of that output, where there may be several ways of
    reading.
    """

    read: Callable[[Callable[..., Any], Inputs], Tensor]
    right_of: Callable[[Inputs], tuple[Tensor, Tensor, Tensor]]
    output: Callable[[Any], Tensor]
    probe: Callable[[Inputs], Inputs]
    made_of: Callable[[Tensor, Inputs], Tensor]
    moved: str
    by: str
    scans: str
    shows: str = ""


FAR = 1000.0
"""How many times its largest number a row is moved by to bring out a weight that is too small to be read."""


class AnswerStopped(Exception):
    """The learner's function was stopped."""


def find_in_weights(exercise: Exercise, wrong: list[Outcome], answer: Answer) -> Finding | None:
    """What the weights of the smallest telling case show, if they are wrong in a way that has a name."""
    ways = exercise.explained.weights or ()
    several = isinstance(ways, tuple)
    bad = {check.name for outcome in wrong for check in outcome.outputs if not check.ok}
    for readout in ways if several else (ways,):
        if several and readout.shows not in bad:
            continue
        finding = _read(exercise, readout, wrong, answer)
        if finding is not None:
            return finding
    return None


def _read(exercise: Exercise, readout: Readout, wrong: list[Outcome], answer: Answer) -> Finding | None:
    for outcome in sorted(wrong, key=_usefulness)[:4]:
        if not 64 <= _pairs(outcome) <= MAX_PAIRS:
            continue
        reading = CaseReading(exercise, readout, outcome, answer)
        found = reading.weights()
        for look in LOOKS if found is not None else ():
            finding = look(found, outcome)
            if finding is not None and (shown := reading.shown(look, finding)) is not None:
                return reading.with_its_head(look, shown)
    return None


def _usefulness(outcome: Outcome) -> tuple[bool, int]:
    """Cases in which some queries see nothing come last: what is missing there is easily misread."""
    sizes = outcome.case.sizes
    return sizes.get("S_q", 0) > sizes.get("S_k", 0), _pairs(outcome)


def _pairs(outcome: Outcome) -> int:
    sizes = outcome.case.sizes
    return sizes.get("S_q", 0) * sizes.get("S_k", 0)


class CaseReading:
    """One case of one answer, called with inputs that bring out its weights."""

    def __init__(self, exercise: Exercise, readout: Readout, outcome: Outcome, answer: Answer):
        self.outcome, self.answer, self.readout = outcome, answer, readout
        self.inputs = exercise.inputs(outcome.case, outcome.case.generator())
        limit = exercise.judged.time_limit
        self.how = Observed(outcome.case.seed, direct=True, full_precision=True, limit=limit)
        self.head = 0
        self.probed: Tensor | None = None
        self.heads: list[Weights] = []

    def launcher(self, **values: Any) -> Any:
        """What the learner's function returns. Raises AnswerStopped if it is stopped."""
        evidence = self.answer.run(values, self.how)
        if evidence.raised is not None:
            raise AnswerStopped(evidence.raised.text)
        return evidence.returned

    def weights(self) -> Weights | None:
        """The weights of the head that is most wrong; None if they cannot be read, or are none."""
        try:
            got = self.readout.read(self.launcher, self.inputs)
        except AnswerStopped:
            return None  # other inputs may stop a kernel that ran on the case's own
        right, scores, visible = self.readout.right_of(self.inputs)
        if got.shape != right.shape:
            return None
        finite = torch.isfinite(got).all(-1, keepdim=True)  # a row of NaN shows nothing; the others may
        if int(finite.sum()) < 0.5 * finite.numel():
            return None
        got = torch.where(finite, got, right)
        flat = [_heads(t) for t in (got, right, scores)]
        unread = [_unread(self.outcome, n, len(flat[0])) for n in (("k", "v"), ("q", "do"))]
        wrong = (flat[0] - flat[1]).abs().amax((1, 2))
        self.head = int(wrong.argmax())
        noise = 4 * torch.finfo(self.outcome.case.dtype).eps + 1e-6
        if float(wrong.max()) <= noise or not self._predicts(got):
            return None  # right weights say nothing
        self.heads = [
            Weights(
                learners,
                p,
                s.masked_fill(~visible, -torch.inf),
                visible,
                noise=noise,
                recomputed="lse" in self.inputs,
                scans=self.readout.scans,
                blocks=blocks_of(self.outcome),
                bare=s,
                unread=(keys, queries),
            )
            for learners, p, s, keys, queries in zip(*flat, *unread, strict=True)
        ]
        return self.heads[self.head]

    def with_its_head(self, look: Look, finding: Finding) -> Finding:
        """The finding, with the number of its head if other heads do not show the same."""
        others = (look(w, self.outcome) for n, w in enumerate(self.heads) if n != self.head)
        if all(other is not None and type(other.kind) is type(finding.kind) for other in others):
            return finding
        case = f"{self.outcome.case.name}, head {self.head} of {len(self.heads)}"
        return replace(finding, kind=replace(finding.kind, case=case))

    def _predicts(self, weights: Tensor) -> bool:
        """True if the weights give what the kernel returns for inputs by which they were not read."""
        probe = self.readout.probe(self.inputs)
        returned = self.probed = self._returned(probe)
        if returned is None:
            return False
        predicted, largest = (
            _heads(self.readout.made_of(*given))[self.head]
            for given in ((weights, probe), (weights.abs(), _sizes(probe)))
        )
        if returned.shape != predicted.shape:
            return False
        finite = torch.isfinite(returned)
        miss = (returned - predicted)[finite].abs()
        slack = max(16 * torch.finfo(self.outcome.case.dtype).eps, TOLERANCE)
        return miss.numel() > 0 and bool((miss <= slack * largest.max()).all())

    def shown(self, look: Look, finding: Finding) -> Finding | None:
        """What moving an input shows of the finding too: None where it denies it."""
        if look is find_leak:
            return finding if self.leaks(finding) else None
        if look not in (find_missing, find_pairs):
            return finding
        small = self._small_weights()
        if small is None or look is find_missing:
            return finding if small is None else None
        missing = self.heads[self.head].missing
        pairs = {"count": int(missing.sum()), "pair": tuple(missing.nonzero()[0].tolist()), "lines": ""}
        return replace(finding, kind=replace(finding.kind, share=small, **pairs))

    def leaks(self, finding: Finding) -> bool:
        """True if the first pair that is said to leak does: moving what it should hide moves the result."""
        query, key = finding.kind.first_pair
        row, other = (key, query) if self.readout.by == "key" else (query, key)
        before, after = self.probed, self._moved(row)
        if before is None or after is None or not bool(torch.isfinite(after[other]).all()):
            return False
        return not torch.equal(before[other], after[other])

    def _small_weights(self) -> float | None:
        """The largest share of its right weight that a missing pair has, if one has any: None if none has.

        A weight that is too small to be read still moves the result where what it multiplies is large.
        """
        w = self.heads[self.head]
        missing = w.missing if self.readout.by == "key" else w.missing.mT
        rows = missing.any(0).nonzero().flatten().tolist()
        for row in rows[:: max(1, len(rows) // 4)]:
            after = self._moved(row, FAR)
            if self.probed is None or after is None:
                continue
            others = missing[:, row] & torch.isfinite(after).all(-1)
            if not torch.equal(self.probed[others], after[others]):
                return float((w.got.abs() / w.right)[w.missing].max())
        return None

    def _moved(self, row: int, times: float = 1.0) -> Tensor | None:
        """What is returned once a row of the input that is moved grows by that many times its largest."""
        probe = self.readout.probe(self.inputs)
        tensor = probe[self.readout.moved].clone()
        tensor[..., row, :] += times * tensor.abs().max()
        return self._returned({**probe, self.readout.moved: tensor})

    def _returned(self, inputs: Inputs) -> Tensor | None:
        """The output that shows the weights, of one head, in fp64."""
        try:
            returned = self.readout.output(self.launcher(**inputs))
        except AnswerStopped:
            return None
        return _heads(returned.double())[self.head]


def blocks_of(outcome: Outcome) -> tuple[int, ...]:
    """Block sizes of queries and keys, as far as the constants of the launch with the most tensors show them.

    A kernel that prepares delta, or adds up parts, has blocks of its own.
    """
    most = max((_tensors(launch) for launch in outcome.launches), default=0)
    seen = {
        value
        for launch in outcome.launches
        for name, value in launch.constexprs.items()
        if 2 * _tensors(launch) > most and type(value) is int and 8 <= value <= 256
        if not value & (value - 1) and not WIDTH.search(name)
    }
    return tuple(sorted(seen))


def _unread(outcome: Outcome, names: tuple[str, ...], heads: int) -> list[dict[str, Tensor]]:
    """For each head and each of these inputs the rows that no program reads."""
    seen = outcome.observation.unread if outcome.observation is not None else {}
    rows = {n: _heads(seen[n]).all(-1) for n in names if n in seen}
    if len(outcome.launches) > 1:  # what one kernel reads, another may not: that it is read says nothing
        rows = {n: r for n, r in rows.items() if bool(r.any())}
    return [{n: r[head * len(r) // heads] for n, r in rows.items()} for head in range(heads)]


def _tensors(launch: Launch) -> int:
    return sum(kind.startswith("*") for kind in launch.signature.values())


def _heads(x: Tensor) -> Tensor:
    return x.reshape(-1, *x.shape[-2:])


def _sizes(inputs: Inputs) -> Inputs:
    """The inputs without their signs."""
    return {name: abs(x) if isinstance(x, Tensor | float) else x for name, x in inputs.items()}
