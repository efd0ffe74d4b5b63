"""`gqa`: groups of query heads share a head of K and V."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from flashlearn.exercise import Case, Exercise, HowExplained, HowTimed, Inputs, Kind, Mistake
from flashlearn.kernels import variants
from flashlearn.lessons.lesson_15_variants import passes
from flashlearn.lessons.lesson_15_variants import variant_cases as cases
from flashlearn.lessons.lesson_15_variants.variant_cases import variant_case
from flashlearn.lessons.shared.attention_cases import BF16, FP16
from flashlearn.lessons.shared.faulty_formulas.faults import NONE, Faults, faulty_formula
from flashlearn.lessons.shared.variants import variant
from flashlearn.outcome import Status

READ: dict[str, Callable[[int, int, int], int]] = {
    "read: h % H_k": lambda h, H, H_k: h % H_k,
    "read: the first": lambda h, H, H_k: 0,
}
"""The head of K and V that head h of Q reads, which is h // (H // H_k)."""
SUMMED: dict[str, Callable[[int, int, int], range]] = {
    "summed: every H_k-th": lambda h_k, H, H_k: range(h_k, H, H_k),
    "summed: the first of the group": lambda h_k, H, H_k: _group(h_k, H, H_k)[:1],
    "summed: the last of the group": lambda h_k, H, H_k: _group(h_k, H, H_k)[-1:],
    "summed: its own number": lambda h_k, H, H_k: range(h_k, h_k + 1),
    "summed: from its own number": lambda h_k, H, H_k: range(h_k, h_k + H // H_k),
    "summed: from the first head": lambda h_k, H, H_k: range(H // H_k),
    "summed: up to the group's size": lambda h_k, H, H_k: range(h_k * (H // H_k), H // H_k),
    "summed: all": lambda h_k, H, H_k: range(H),
    "summed: all but the last": lambda h_k, H, H_k: _group(h_k, H, H_k)[:-1],
}
"""The heads of Q whose gradients add up in head h_k of K and V."""


def _group(h_k: int, H: int, H_k: int) -> range:
    return range(h_k * (H // H_k), (h_k + 1) * (H // H_k))


def faulty_gqa(
    q: Tensor, k: Tensor, v: Tensor, do: Tensor, alpha: float, faults: Faults = NONE
) -> tuple[Tensor, ...]:
    """Both passes, with faults of the heads that Q reads and of those that dK and dV sum."""
    H, H_k = q.shape[1], k.shape[1]
    group = H // H_k
    reads = next((READ[fault] for fault in faults if fault in READ), lambda h, H, H_k: h // group)
    sums = next((SUMMED[fault] for fault in faults if fault in SUMMED), _group)
    read = [reads(h, H, H_k) for h in range(H)]
    o, lse = passes.forward(q, k[:, read], v[:, read], alpha)
    dq = passes.gradients(q, k[:, read], v[:, read], o, do, lse, alpha)[0]
    dk, dv = torch.zeros_like(k), torch.zeros_like(v)
    for h_k in range(H_k):
        heads = list(sums(h_k, H, H_k))
        if not heads:
            continue
        many = [passes.wide(t[:, [h_k] * len(heads)]) for t in (k, v)]
        of_heads = [t[:, heads] for t in (q, o, do, lse)]
        shares = passes.gradients(of_heads[0], *many, *of_heads[1:], alpha)[1:]
        parts = len(heads) if "the mean" in faults else 1
        dk[:, h_k], dv[:, h_k] = (share.sum(1) / parts for share in shares)
    return o, lse, dq, dk, dv


formula = faulty_formula(faulty_gqa)
AT_HEADS_OF_Q = variant(
    variants.gqa, variants.group_key_head, edits=(("return h // (H // H_k)", "return h"),)
)
BY_HEADS_OF_K = variant(
    variants.gqa, variants.group_key_head, edits=(("return h // (H // H_k)", "return h // H_k"),)
)

MISTAKES = {
    "heads dealt round": Mistake(
        "In your answer head h of Q meets head h % H_k of K and V. The heads of a group are adjacent: head "
        "h uses head h // (H / H_k) of K and V.",
        "With 6 heads of Q and 3 of K, which two heads of Q read the first head of K?",
        **formula("read: h % H_k", also=(("read: h % H_k", "summed: every H_k-th"),)),
    ),
    "heads dealt round for dK and dV": Mistake(
        "dK and dV of head h are the sums over the heads h, h + H_k, … of Q. The heads of a group are "
        "adjacent: head h of K serves the H / H_k heads from h · (H / H_k) on.",
        "With 6 heads of Q and 3 of K, which two heads of Q read the first head of K?",
        **formula("summed: every H_k-th"),
    ),
    "one head of the group": Mistake(
        "dK and dV hold the share of one head of Q. A head of K that several heads of Q read gets the sum of "
        "their shares.",
        "How many heads of Q read each head of K?",
        **formula(
            "summed: the first of the group",
            also=("summed: the last of the group", "summed: its own number"),
        ),
    ),
    "groups overlap": Mistake(
        "dK and dV of head h are the sums over as many heads of Q as a group has, beginning with head h of "
        "Q.",
        "How many heads of Q lie before the first one that reads head h of K?",
        **formula("summed: from its own number"),
    ),
    "the first group for all": Mistake(
        "dK and dV of every head are sums over the first heads of Q, as if all groups began at head 0.",
        "How many heads of Q lie before the first one that reads head h of K?",
        **formula("summed: from the first head"),
    ),
    "the group's size for its end": Mistake(
        "dK and dV of every head but the first are 0, as if each loop over a group's heads ended at the "
        "number of heads in a group: later groups begin at that number, or after it.",
        "Head h of K is read by the H / H_k heads of Q from h · (H / H_k) on.",
        **formula("summed: up to the group's size"),
    ),
    "all heads of Q": Mistake(
        "dK and dV of a head are sums over all heads of Q, those of other groups included.",
        "Which heads of Q read this head of K in the forward pass? Only these have a share.",
        **formula("summed: all"),
    ),
    "the last head of the group is missing": Mistake(
        "dK and dV lack the share of the last head of each group.",
        "Head h of K is read by H / H_k heads of Q, and gets a share of each.",
        **formula("summed: all but the last"),
    ),
    "the mean of the group": Mistake(
        "dK and dV are the mean over the heads of a group. A tensor that is used several times gets the sum "
        "of its gradients.",
        "Does anything in the forward pass divide by the number of heads?",
        **formula("the mean"),
    ),
    "K at the number of Q's head": Mistake(
        "K and V are read at the number of Q's own head, and have fewer heads: beyond the last one lies "
        "another batch, or nothing.",
        "With 6 heads of Q and 3 of K, which head of K does the last head of Q read?",
        launcher=AT_HEADS_OF_Q,
        status=Status.OUT_OF_BOUNDS,
    ),
    "divided by the number of heads of K": Mistake(
        "The number of Q's head is divided by the number of heads of K. It must be divided by the number of "
        "heads in a group, H / H_k: the two are equal only where H is H_k².",
        "With 6 heads of Q and 2 of K, how many heads of Q share one head of K?",
        launcher=BY_HEADS_OF_K,
        status=Status.OUT_OF_BOUNDS,
    ),
}  # fmt: skip


def inputs(case: Case, generator: torch.Generator) -> Inputs:
    """q, k, v, do, alpha."""
    return {**cases.tensors(case, generator), "alpha": cases.alpha_of(case)}


def of_groups(spelling: passes.Spelling) -> Callable[..., tuple[Tensor, ...]]:
    """(q, k, v, do, alpha) → both passes."""
    return lambda q, k, v, do, alpha: spelling(q, k, v, do, alpha)


gqa = Exercise(
    name="gqa",
    lesson="15",
    kind=Kind.KERNEL,
    title="Heads of Q that share a head of K and V",
    signature="(q, k, v, do, alpha) -> (o, lse, dq, dk, dv)",
    outputs=cases.OUTPUTS,
    inputs=inputs,
    cases=(
        *cases.common(H=6, H_k=2),
        variant_case(20, 33, 16, seed=23, H=6, H_k=3),
        variant_case(33, 48, 16, seed=20, B=2, H=4, H_k=1),
        variant_case(33, 48, 16, seed=21, H=8, H_k=2, dtype=FP16),
        variant_case(20, 37, 16, seed=22, H=3, H_k=3, dtype=BF16),
        *cases.on_a_gpu(H_k=2),
    ),
    judged=cases.judged(passes.both, passes.SPELLINGS, cases.every_key, real_sizes=cases.REAL_SIZES),
    explained=HowExplained(mistakes=MISTAKES),
    timed=HowTimed(peer=cases.sdpa_passes, peer_name="sdpa", case=cases.timed_case(H_k=4)),
    points=2,
    solution="flashlearn.kernels.variants:gqa",
)
