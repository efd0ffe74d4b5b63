"""`train_with_your_kernel`: a training run whose attention is the learner's."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from flashlearn.exercise import Case, Earlier, Exercise, HowExplained, HowJudged, Inputs, Kind, Mistake
from flashlearn.lessons.lesson_09_into_pytorch import training
from flashlearn.lessons.lesson_09_into_pytorch.faulty_formulas.training_run import training_run
from flashlearn.lessons.shared.cases import build_case
from flashlearn.lessons.shared.faulty_formulas.faults import faulty_formula
from flashlearn.lessons.shared.own_formulas import counted, operations
from flashlearn.observation import Observation
from flashlearn.outcome import Outcome
from flashlearn.running.answer import Answer
from flashlearn.running.run_modes import Observed

formula = faulty_formula(training_run)

MISTAKES = {
    "the model sees the future": Mistake(
        "This is the curve of a model whose attention is not causal: positions see the "
        "characters that they should predict.",
        "The model passes q, k and v to the attention that it is given, and nothing about a mask.",
        **formula("no mask"),
    ),
    "attention with alpha = 1": Mistake(
        "This is the curve of a model whose attention has the scores q · k, with alpha = 1.",
        "Where no alpha is given, flash_attention takes 1/√D.",
        **formula("alpha of 1"),
    ),
    "q and k exchanged": Mistake(
        "This is the curve of a model whose attention takes q for k and k for q.",
        "The model gives q, k and v to its attention in this order.",
        **formula("q and k exchanged"),
    ),
    "k and v exchanged": Mistake(
        "This is the curve of a model whose attention takes k for v and v for k.",
        "The model gives q, k and v to its attention in this order.",
        **formula("k and v exchanged"),
    ),
    "read and wanted exchanged": Mistake(
        "What the model reads and what it should predict are exchanged: it reads all but the first "
        "character, and is asked at each position for the one before.",
        "Which of the two begins with the batch's first character?",
        **formula("read and wanted exchanged"),
    ),
    "probabilities in place of logits": Mistake(
        "The cross entropy is that of a softmax of the model's probabilities: softmax is applied twice.",
        "`F.cross_entropy` takes logits and applies log_softmax itself.",
        **formula("probabilities for logits"),
    ),
    "targets not shifted": Mistake(
        "The model is asked for the character that it has just read.",
        "Position i reads `batch[:, i]` and should predict `batch[:, i + 1]`.",
        **formula("targets not shifted"),
    ),
    "gradients pile up": Mistake(
        "Every step's gradient is added to those of all steps before: backward() adds to .grad, it does "
        "not replace it.",
        "Between two calls of backward(), .grad has to be reset.",
        **formula("gradients pile up"),
    ),
    "losses noted after the step": Mistake(
        "Each loss is that of the batch after the step that learnt from it.",
        "Record each loss before the optimiser's step that follows from it.",
        **formula("noted after the step"),
    ),
    "no step": Mistake(
        "These are the losses of the parameters at the start, for every batch: nothing was learnt.",
        "After each backward(), a step of the optimiser has to change the model's own parameters.",
        **formula("no step"),
    ),
    "logits reshaped instead of transposed": Mistake(
        "The logits are rearranged so that positions and characters are mixed, as a reshape to "
        "(B, characters, S) does.",
        "A transpose moves an axis, and a reshape mixes positions and characters.",
        **formula("logits reshaped"),
    ),
    "logits turned and then flattened": Mistake(
        "The logits' last two axes are exchanged, and then the rows are cut differently: a row of the result "
        "no longer belongs to one position.",
        "Either leave the characters last and flatten the first two axes, or put them second and flatten "
        "nothing.",
        **formula("logits turned and flattened"),
    ),
    "a new optimiser for every step": Mistake(
        "Adam has no moments from one step to the next: these are the losses of an "
        "optimiser that is recreated at every step.",
        "Create the optimiser once, before the loop.",
        **formula("new optimiser"),
    ),
    "the last position alone": Mistake(
        "Each loss is that of the last position alone. Every position predicts a character.",
        "A loss is the mean over all positions.",
        **formula("last position only"),
    ),
    "losses summed": Mistake(
        "Each loss is the sum over all positions, not their mean.",
        "`F.cross_entropy` takes the mean by itself.",
        **formula("losses summed"),
    ),
}


def run_inputs(case: Case, generator: torch.Generator) -> Inputs:
    """A size, the parameters at the start (one fp32 vector), and batches [steps, B, S + 1] of characters."""
    sizes = case.sizes
    size = replace(
        training.SMALL,
        layers=sizes["layers"], heads=sizes["H"], head_dim=sizes["D"], context=sizes["S"], batch=sizes["B"],
        steps=sizes["steps"],
    )  # fmt: skip
    seed = int(torch.randint(1 << 30, (1,), generator=generator))
    start = training.initial(size, seed)
    return {"size": size, "start": start, "batches": training.batches(training.text(), size, seed)}


def in_one_thread(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function with torch limited to one thread: these models are too small for more."""

    @functools.wraps(function)
    def limited(size: training.Size, start: Tensor, batches: Tensor) -> Any:
        with training.one_thread():
            return function(size, start, batches)

    return limited


def run_with_autograd(function: Callable[..., Any], given: Inputs) -> Any:
    """The learner's training run, with autograd."""
    with torch.enable_grad(), training.one_thread():
        return function(*given.values())


def by_formula(size: training.Size, start: Tensor, batches: Tensor) -> Tensor:
    """The same run with attention from its formula: right, and rounded in other places."""
    return training.train(size, start, batches, training.plain)


def by_coarse_attention(size: training.Size, start: Tensor, batches: Tensor) -> Tensor:
    """The same run with O carried at twelve bits: how far right kernels with coarser products may deviate."""

    def coarse(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        o = training.sdpa(q, k, v)
        return o + (o * 4097 - (o * 4097 - o) - o).detach()  # Dekker's splitting: 12 bits remain

    return training.train(size, start, batches, coarse)


def run_case(label: str, seed: int, **sizes: int) -> Case:
    """A run of these sizes; those not given are the usual ones."""
    return build_case(label, {"layers": 1, "B": 2, "H": 2, "S": 32, "D": 16, "steps": 8, **sizes}, seed=seed)


MOST = 2.0
"""What torch may compute beside products, as a multiple of that in a run with its own attention."""


SHORTCUTS = ("attention", "softmax", "bmm", "cdist", "convolution")
"""What no operation's name may have: the model needs none of these beside its attention."""


def attention_by_kernels(outcomes: Sequence[Outcome]) -> str:
    """A sentence if torch computed attention in any case's run, or too few kernels ran."""
    for outcome in outcomes:
        if outcome.observation is not None:
            steps, layers = outcome.case.sizes["steps"], outcome.case.sizes["layers"]
            with torch.enable_grad():
                inputs = run_inputs(outcome.case, outcome.case.generator())
                usual = counted(in_one_thread(training.train), inputs)
            if sentence := _by_torch(outcome.observation, steps * layers, usual):
                return sentence
    return ""


def _by_torch(observed: Observation, calls: int, usual: Mapping[str, int]) -> str:
    names = {name for name in observed.in_torch if "log_softmax" not in name}  # that one is the loss's
    named = any(part in name for name in names for part in SHORTCUTS)
    if named or _beside_products(observed.in_torch) > MOST * _beside_products(usual):
        return (
            "The curve is right, but it was computed with torch's attention. Pass your flash_attention to "
            "the model."
        )
    if (launched := len(observed.launches)) < 3 * calls:
        return (
            f"The curve is right, but {launched} kernels ran where the model called its attention {calls} "
            "times; with flash_attention there are at least three in each."
        )
    return ""


def _beside_products(in_torch: Mapping[str, int]) -> int:
    return operations({name: count for name, count in in_torch.items() if name not in ("mm", "bmm", "addmm")})


def review_training(answer: Answer, earlier: Earlier) -> str:
    """A sentence if the losses of a run keep their graphs."""
    size = training.Size(layers=1, heads=1, head_dim=16, context=16, batch=1, steps=2, learning_rate=3e-3)
    batches = training.batches(training.text(), size, seed=0)
    given = {"size": size, "start": training.initial(size, seed=0), "batches": batches}
    evidence = answer.run(given, Observed()).completed()
    if evidence.outputs[0].requires_grad:
        return (
            "The curve is right, but its losses are still attached to their graphs, so every step's tensors "
            "stay in memory until the end of the run. Keep loss.detach()."
        )
    return ""


train_with_your_kernel = Exercise(
    name="train_with_your_kernel",
    lesson="09",
    kind=Kind.TORCH,
    title="A training run whose attention is yours",
    signature="(size, start, batches) -> losses",
    outputs=("losses",),
    inputs=run_inputs,
    cases=(
        run_case("8 steps, one layer", 1),
        run_case("5 steps, two layers, S 37", 2, layers=2, S=37, B=1, steps=5),
    ),
    judged=HowJudged(
        reference=in_one_thread(training.train),
        twins=(in_one_thread(by_formula), in_one_thread(by_coarse_attention)),
        gradient=True,
        accumulates=False,
        call=run_with_autograd,
        time_limit=120.0,
        seen=attention_by_kernels,
        review=review_training,
    ),
    explained=HowExplained(mistakes=MISTAKES),
    points=2,
)
