"""What a suite for `tests_on_trial` never tries: read off its trials, and off the mutants that survive it.

>>> found = lacking([draw(32, 32)], {"top-left mask", "no guard"})
>>> [gap.name for gap in found]
['no trial is causal']
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from torch import Tensor

from flashlearn.exercise import Mistake
from flashlearn.explaining.findings.declared import Explained
from flashlearn.lessons.lesson_10_clinic import mutants
from flashlearn.lessons.lesson_10_clinic.mutants import BLOCK, DEFENDANTS, Trial
from flashlearn.outcome import Finding
from flashlearn.running.answer import Answer
from flashlearn.running.run_modes import PlainCall

OVERFLOWS = 88.0
"""exp of more is infinite in fp32."""
LARGEST_FP16 = 65504.0
NOTICEABLE = 0.01
"""An error of a score that shows in its exponential."""
TENSORS = "What your function returned is not a suite: it contains tensors instead of trials."


@dataclass(frozen=True)
class Gap:
    """Something that all trials of a suite have in common, and the faults that it hides."""

    name: str
    sentence: str
    next_step: str
    hides: frozenset[str]
    holds: Callable[[Trial], bool]


def _gap(name: str, sentence: str, next_step: str, hides: Sequence[str], holds: Callable) -> Gap:
    return Gap(name, sentence, next_step, frozenset(hides), holds)


GAPS = (
    _gap(
        "every test is square",
        "In every trial S_q = S_k, so an answer that confuses the two passes.",
        "Take more queries than keys, and more keys than queries, both with a causal mask.",
        ("queries end at S_k", "keys end at S_q", "top-left mask", "no guard"),
        lambda t: len(t.q) == len(t.k),
    ),
    _gap(
        "no trial is causal",
        "No trial is causal, so neither the mask nor a query that sees no key is ever met.",
        "Take causal=True with S_q > S_k: the mask is met, and rows that see nothing.",
        ("top-left mask", "no guard"),
        lambda t: not t.causal,
    ),
    _gap(
        "every causal trial is square",
        "The trials with a causal mask have S_q = S_k: there its two corners agree, and every query sees a "
        "key.",
        "Take causal=True with S_q > S_k, and with S_q < S_k.",
        ("top-left mask", "no guard"),
        lambda t: not t.causal or len(t.q) == len(t.k),
    ),
    _gap(
        "no query sees nothing",
        "In no trial is there a query that sees no key.",
        "Take causal=True with more queries than keys: the first S_q − S_k see none.",
        ("no guard",),
        lambda t: not t.causal or len(t.q) <= len(t.k),
    ),
    _gap(
        "no trial has more queries than keys",
        "No trial has more queries than keys.",
        "Take S_q = 40 and S_k = 20.",
        ("queries end at S_k",),
        lambda t: len(t.q) <= len(t.k),
    ),
    _gap(
        "no trial has more keys than queries",
        "No trial has more keys than queries.",
        "Take S_q = 20 and S_k = 40.",
        ("keys end at S_q",),
        lambda t: len(t.q) >= len(t.k),
    ),
    _gap(
        "every test has the default alpha",
        "alpha is 1/√D in every trial, so a kernel may take that for granted.",
        "Give one trial another alpha, 0.4.",
        ("alpha fixed",),
        lambda t: abs(t.alpha * t.q.shape[1] ** 0.5 - 1) < 0.05,
    ),
    _gap(
        "alpha is 1 in every test",
        "alpha is 1 in every trial: a kernel that forgets it gets away with that.",
        "Give one trial another alpha, 0.4.",
        ("no alpha in dK",),
        lambda t: abs(t.alpha - 1) < 0.01,
    ),
    _gap(
        "every tensor is contiguous",
        "Every tensor is contiguous, so that q's strides are k's as well.",
        "Give one trial a k that lies in memory by columns: k.T.contiguous().T.",
        ("strides of q",),
        lambda t: all(x.is_contiguous() for x in t[:4]),
    ),
    _gap(
        "q and k lie alike in every test",
        "q and k have the same strides in every trial.",
        "Give one trial a k that lies in memory by columns, and leave its q as it is.",
        ("strides of q",),
        lambda t: t.q.stride() == t.k.stride(),
    ),
    _gap(
        "every test is a multiple of the block",
        "S_q is a multiple of 16 in every trial, and D a power of two: what goes wrong at a ragged edge is "
        "never tested.",
        "One trial with an odd S_q and an odd D is enough.",
        ("clamped rows", "D not masked"),
        lambda t: _whole(len(t.q)) and _power_of_two(t.q.shape[1]),
    ),
    _gap(
        "every S_q is a multiple of the block",
        "S_q is a multiple of 16 in every trial.",
        "Take an S_q of 20.",
        ("clamped rows",),
        lambda t: _whole(len(t.q)),
    ),
    _gap(
        "every D is a power of two",
        "D is a power of two in every trial, so that no column is padded.",
        "Take a D of 24.",
        ("D not masked",),
        lambda t: _power_of_two(t.q.shape[1]),
    ),
    _gap(
        "every row fits into one tile",
        "No trial has more than 16 keys: a row of scores is a single tile.",
        "Take an S_k of 40.",
        ("delta of the tile",),
        lambda t: len(t.k) <= BLOCK,
    ),
    _gap(
        "every test has ordinary values",
        "No trial has large scores, and none a large dO: whatever overflows survives.",
        "One trial with scores around 100, one with a dO around 10⁶.",
        ("exp(s) / exp(lse)", "dS in fp16"),
        lambda t: _scores(t) < OVERFLOWS and _dp(t) < LARGEST_FP16,
    ),
    _gap(
        "no scores are large",
        "In no trial are the scores large enough for their exponentials to overflow.",
        "Add a trial with scores around 100.",
        ("exp(s) / exp(lse)",),
        lambda t: _scores(t) < OVERFLOWS,
    ),
    _gap(
        "no dO is large",
        "In no trial is dO large enough for fp16 to overflow.",
        "Add a trial with a dO around 10⁶.",
        ("dS in fp16",),
        lambda t: _dp(t) < LARGEST_FP16,
    ),
)

CONDEMNED = Mistake(
    "A right kernel is rejected: a trial asks for more digits than it gives.",
    "Make the values of such a trial smaller: a trial is fair if every careful kernel passes it.",
)
NAMES = {
    **{gap.name: Mistake(gap.sentence, gap.next_step) for gap in GAPS},
    "a right kernel is condemned": CONDEMNED,
}


def _whole(length: int) -> bool:
    return length % BLOCK == 0


def _power_of_two(D: int) -> bool:
    return D >= BLOCK and not D & (D - 1)


def _scores(trial: Trial) -> float:
    return float((trial.alpha * trial.q @ trial.k.mT).abs().max())


def _dp(trial: Trial) -> float:
    return float((trial.do @ trial.v.mT).abs().max())


def lacking(suite: Sequence[Trial], survivors: set[str]) -> list[Gap]:
    """The fewest gaps of the suite that account for the survivors, as far as gaps do."""
    open_gaps = [gap for gap in GAPS if gap.hides & survivors and all(gap.holds(t) for t in suite)]
    found, left = [], set(survivors)
    while left:
        best = max(open_gaps, key=lambda gap: len(gap.hides & left), default=None)
        if best is None or not best.hides & left:
            break
        found.append(best)
        left -= best.hides
    return found


def _series(things: list[str]) -> str:
    """'a', 'a and b', 'a; b; and c'."""
    return " and ".join(things) if len(things) < 3 else f"{'; '.join(things[:-1])}; and {things[-1]}"


def verdict_on_suite(outcomes: Sequence[Any], answer: Answer) -> Finding:
    """How many mutants were killed, what the suite never tries, and whether right kernels were spared."""
    guilty = [d.guilty for d in DEFENDANTS]
    wrong = [o.case.sizes["number"] for o in outcomes if not all(check.ok for check in o.outputs)]
    survivors = [DEFENDANTS[i] for i in wrong if guilty[i]]
    condemned = [DEFENDANTS[i] for i in wrong if not guilty[i]]
    if len(wrong) == len(guilty):  # no trial spares every mutant and kills every right kernel
        step = "Return a list of trials, each made by Trial(q, k, v, do, alpha) or by draw(…)."
        return Finding(Explained(TENSORS, step, ("launcher",)))
    sentences = [f"Your suite kills {sum(guilty) - len(survivors)} of {sum(guilty)} mutants."]
    suite = _trials(answer)
    gaps = lacking(suite, {d.fault for d in survivors})
    hidden = {fault for gap in gaps for fault in gap.hides}
    others = [d.nature for d in survivors if d.fault not in hidden]
    sentences += [gap.sentence for gap in gaps]
    if gaps and others:
        sentences.append("The cases below name further survivors.")
    elif others:
        one = f"The first survivor: {survivors[0].nature}."
        sentences.append(one if len(survivors) < 2 else f"{one} The cases below name the others.")
    steps = [gap.next_step for gap in gaps]
    names = [gap.name for gap in gaps] or ["explained"] * bool(survivors)
    if condemned:
        every = len(condemned) == guilty.count(False)
        rejected = "every right kernel" if every else _series([d.nature for d in condemned])
        sentences.append(f"It also rejects {rejected}.")
        sentences.append(_unfair(suite, [d.fault for d in condemned]))
        steps.append(CONDEMNED.next_step)
        names.append("a right kernel is condemned")
    elif not gaps:
        steps.append("Which trial would break what the first survivor takes for granted?")
    return Finding(Explained(" ".join(sentences), " ".join(steps), tuple(names)))


def _unfair(suite: Sequence[Trial], condemned: Sequence[str]) -> str:
    """Which trials reject right kernels, and how exact their scores can be."""
    unfair = [i for i, trial in enumerate(suite) if any(mutants.kills(trial, fault) for fault in condemned)]
    if not unfair:
        return ""
    scores = {i: _scores(suite[i]) for i in unfair}
    who = _series([f"{i} (scores up to {scores[i]:.1g})" for i in unfair])
    does = "number {} does" if len(unfair) == 1 else "numbers {} do"
    sentence = f"Of your trials, counted from 0, {does.format(who)} so."
    largest = max(scores.values())
    off = 2.0 ** (math.floor(math.log2(largest)) - 24) if largest else 0.0  # half of two numbers' distance
    if off < NOTICEABLE:
        return sentence
    return f"{sentence} Rounding a score of {largest:.1g} to fp32 changes it by up to {off:.2g}."


def _trials(answer: Answer) -> list[Trial]:
    """The learner's suite once more, for its trials."""
    first = mutants.draw(32, 32)
    given = dict(zip(("q", "k", "v", "do", "alpha"), first[:5], strict=True))
    suite = answer.run(given, PlainCall()).completed().returned
    return [] if isinstance(suite, Tensor) else mutants.checked(suite)
