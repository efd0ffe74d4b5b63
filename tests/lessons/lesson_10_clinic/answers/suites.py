"""Lesson 10: suites for `tests_on_trial`."""

from __future__ import annotations

import torch

from flashlearn.lessons.lesson_10_clinic.mutants import Trial, draw
from tests.corpus import right, wrong


@right("tests_on_trial", "three trials of random sizes and three large ones, k by columns throughout")
def several(q, k, v, do, alpha):
    trials = [Trial(q, k, v, do, alpha)]
    for S_q, S_k, D, causal in ((21, 50, 20, True), (50, 21, 16, True), (37, 33, 16, False)):
        trial = draw(S_q, S_k, D, alpha=0.3, causal=causal, seed=S_q)
        trials.append(trial._replace(k=trial.k.T.contiguous().T))
    first = trials[0]
    trials.append(first._replace(q=8 * q, k=12 * k))
    trials.append(first._replace(do=2e6 * do))
    return trials


@wrong(
    "tests_on_trial",
    "No trial is causal, so neither the mask nor its empty rows are met.",
    "no trial is causal",
)
def never_causal(q, k, v, do, alpha):
    first = Trial(q, k, v, do, alpha)
    odd = [draw(S_q, S_k, 24, alpha=0.4) for S_q, S_k in ((20, 40), (40, 20))]
    odd = [t._replace(k=t.k.T.contiguous().T) for t in odd]
    return [first, *odd, first._replace(q=10 * q, k=10 * k), first._replace(do=1e6 * do)]


@wrong(
    "tests_on_trial",
    "alpha is 1/√D in every trial: a kernel that takes it for granted survives.",
    "every test has the default alpha",
)
def the_usual_alpha(q, k, v, do, alpha):
    first = Trial(q, k, v, do, alpha)
    one = draw(20, 40, 24, causal=True)
    one = one._replace(k=one.k.T.contiguous().T)
    return [
        first,
        one,
        draw(40, 20, causal=True),
        first._replace(q=10 * q, k=10 * k),
        first._replace(do=1e6 * do),
    ]


@wrong(
    "tests_on_trial",
    "Every tensor is contiguous: a kernel that reads k with q's strides survives.",
    "every tensor is contiguous",
)
def all_contiguous(q, k, v, do, alpha):
    first = Trial(q, k, v, do, alpha)
    large = [first._replace(q=10 * q, k=10 * k), first._replace(do=1e6 * do)]
    return [draw(20, 40, 24, alpha=0.4, causal=True), draw(40, 20, causal=True), *large]


@wrong(
    "tests_on_trial",
    "All trials have 32 queries and 32 keys, and no scores are large enough to overflow.",
    "every test is square + every test is a multiple of the block + no scores are large",
)
def only_values(q, k, v, do, alpha):
    trials = [Trial(f * q, f * k, v, do, a, c) for f in (1, 3, 10) for a in (0.1, 0.4) for c in (False, True)]
    return [*trials[:7], Trial(q, k.T.contiguous().T, v, 1e6 * do, alpha)]


@wrong(
    "tests_on_trial",
    "The suite kills right kernels too: scores of 10⁶ leave fp32 no digits.",
    "a right kernel is condemned",
)
def too_strict(q, k, v, do, alpha):
    one = draw(20, 40, 24, alpha=0.4, causal=True)
    one = one._replace(k=one.k.T.contiguous().T)
    return [
        one,
        draw(40, 20, causal=True),
        Trial(400 * q, 400 * k, v, do, alpha),
        Trial(q, k, v, 1e6 * do, alpha),
    ]


@wrong("tests_on_trial", "Tensors were returned, not trials.", "shape", "launcher", "crashed")
def tensors(q, k, v, do, alpha):
    return torch.cat([q, k]), torch.cat([v, do])
