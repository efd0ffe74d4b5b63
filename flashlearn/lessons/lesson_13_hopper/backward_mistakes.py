"""The named mistakes of `fa3_backward`: waits and fences of its own, and what earlier lessons know."""

from __future__ import annotations

from flashlearn.exercise import Mistake
from flashlearn.lessons.lesson_13_hopper.backward_faults import faulty
from flashlearn.lessons.lesson_13_hopper.backward_formulas import faulty_gradients
from flashlearn.lessons.shared.faulty_formulas.faults import faulty_formula
from flashlearn.lessons.shared.named_mistakes.causal_gradients import causal_only
from flashlearn.lessons.shared.named_mistakes.dkv import dkv
from flashlearn.lessons.shared.named_mistakes.dq import dq
from flashlearn.outcome import Status

_formula = faulty_formula(faulty_gradients)


def _crashes(fault: str, sentence: str, next_step: str) -> Mistake:
    return Mistake(sentence, next_step, launcher=faulty(fault), status=Status.CRASHED)


OF_TIME = {
    "K and V are not waited for": _crashes(
        "no wait for keys",
        "K and V come by TMA as everything else does, once for the whole program, and have a barrier of "
        "their own.",
        "Before the first product: which barrier do the copies of K and V report to?",
    ),
    "the block of queries is not waited for": _crashes(
        "no wait for queries",
        "The products read Q and dO of a slot that may still be on its way.",
        "Before the products of block i: the barrier of its slot, and the phase that this block completes.",
    ),
    "the phase never turns": _crashes(
        "phase never turns",
        "The same parity is asked for in every turn of the ring.",
        "How often has this slot been full before block i?",
    ),
    "the bytes of Q alone": _crashes(
        "q's bytes alone",
        "`full` was told of fewer bytes than the copies of a block bring.",
        "Add up what comes with one block of queries.",
    ),
    "the first emptying is waited for": _crashes(
        "waits for the first emptying",
        "Before anything has been sent the producer waits for the consumers, and they wait for it.",
        "A phase before the first counts as over. Which parity has it?",
    ),
    "slots are never given back": _crashes(
        "never given back",
        "The producer waits for slots that no consumer reports as empty: it comes to its end only where all "
        "blocks fit into the ring.",
        "Who tells the producer that Q and dO of a block have been read, and when?",
    ),
    "given back while products read it": _crashes(
        "given back too early",
        "The slot is reported as empty while dV's and dK's products may still be reading Q and dO.",
        "Which products read Q and dO, and which line waits for the last of them?",
    ),
    "dS without a fence": _crashes(
        "dS without a fence",
        "dSᵀ is written by ordinary stores, and the product for dQ reads it through the tensor core's own "
        "door.",
        "What has to stand between `ds_tile.store` and the product that reads it?",
    ),
    "dQ without a fence": _crashes(
        "dQ without a fence",
        "dQ's block is written by ordinary stores, and the copy engine reads it through a door of its own.",
        "What has to stand between `dq_tile.store` and the addition?",
    ),
    "dQ's tile is still being read": _crashes(
        "dQ's tile still read",
        "The copy engine adds the block before from the tile that this block is written to.",
        "`tma.store_wait` waits for additions as for copies out. Where in the loop does it stand so that the "
        "addition has the most time?",
    ),
    "a product is used too early": _crashes(
        "dP too early",
        "A product is used that no wait has named yet, or that may be among those which a wait left under "
        "way.",
        "Which products are under way in this line, and which of them did the wait before it return?",
    ),
}  # fmt: skip

OF_SUMS = {
    "stored, not added": _crashes(
        "stored, not added",
        "Each consumer stores its share of dQ over those of the others: what remains is the share of whoever "
        "came last.",
        "dQ is a sum over all keys, and they belong to several programs: the copy engine can add.",
    ),
    "dQ of the first consumer alone": Mistake(
        "dQ is made of every second block of 64 keys: the shares of the second consumers are missing.",
        "Both consumers have keys, and both have a share of dQ to add.",
        **_formula("dQ of the first consumer"),
    ),
    "mask forgotten": Mistake(
        "Hidden pairs take part: exp(S − LSE) of a key that the forward pass masked is no probability, and "
        "may even exceed 1.",
        "P is 0 for key j of query i where j > i + S_k − S_q.",
        **_formula("no mask in the loop", also=("no causal mask", ("no causal mask", "no guard"))),
    ),
    "mask aligned top-left": Mistake(
        "Your mask is j ≤ i. Here the last query sees the last key (bottom-right): j ≤ i + S_k − S_q. The "
        "two agree only for S_q = S_k.",
        "Which key does the last query see if S_k is larger than S_q?",
        **_formula("top-left mask in the loop", also=("top-left", "top-left mask")),
    ),
    "log2 e is missing from LSE": Mistake(
        "P is 2^(alpha x log2 e − LSE): the scores were brought to base 2, and LSE is natural.",
        "Multiply LSE by log2 e too, once per query.",
        **_formula("LSE in base 2"),
    ),
    "alpha is missing from dQ": dq(_formula)["alpha is missing from dQ"],
    "alpha is missing from dK": dkv(_formula)["alpha is missing from dK"],
    "alpha is missing from dQ and dK": Mistake(
        "The factor alpha is missing: besides the one in the exponent, dQ = alpha dS K and dK = alpha dSᵀ Q "
        "carry one of their own.",
        "Multiply the finished sums of dQ and dK by alpha.",
        **_formula("alpha not on dQ", "alpha not on dK"),
    ),
    "delta along the keys": Mistake(
        "delta lies along the wrong axis of the tile. Here rows are keys and columns queries.",
        "A number per query is [None, :] in such a tile.",
        **_formula("delta along the keys"),
    ),
    "LSE along the keys": Mistake(
        "LSE lies along the wrong axis of the tile. Here rows are keys and columns queries.",
        "A number per query is [None, :] in such a tile.",
        **_formula("LSE along the keys"),
    ),
}  # fmt: skip

BACKWARD = {**OF_TIME, **OF_SUMS}

OLDER = (
    "alpha on dV",
    "alpha is missing from S",
    "alpha's sign is lost",
    "dK and dV exchanged",
    "dV from O",
    "dS meets K",
    "dP from K",
    "delta omitted",
    "delta subtracted after P",
    "P in front forgotten",
    "LSE forgotten",
    "log2 e is missing",
    "log2 e is missing from S",
    "dS transposed",
    "P not transposed",
    "mask hides the diagonal",
    "mask shows one key too many",
)
"""What somebody who rewrites a right backward pass gets wrong anew."""


def _older() -> dict[str, Mistake]:
    known = {**dkv(_formula), **dq(_formula), **causal_only(_formula, keys=True)}
    return {name: known[name] for name in OLDER}


OLDER_BACKWARD = _older()
