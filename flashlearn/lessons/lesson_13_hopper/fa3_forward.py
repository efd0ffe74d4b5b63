"""`fa3_forward`: FlashAttention-3's forward pass.

`MISTAKES` are those that this kernel is about: waits, slots, layouts, powers of two. A check tries those of
lesson 06, the `CATALOGUE`, after them.
"""

from __future__ import annotations

import torch
from torch.nn.attention import SDPBackend

from flashlearn.exercise import Case, Exercise, HowExplained, HowJudged, HowTimed, Kind, Mistake
from flashlearn.kernels import torch_attention
from flashlearn.lessons.lesson_13_hopper import fa3_formulas
from flashlearn.lessons.lesson_13_hopper.by_hardware import multiplied_by_hardware
from flashlearn.lessons.lesson_13_hopper.fa3_forward_edits import kernel
from flashlearn.lessons.lesson_13_hopper.matrices import HOPPER
from flashlearn.lessons.shared import grouped, readouts, reference
from flashlearn.lessons.shared import grouped_cases as cases
from flashlearn.lessons.shared.attention_cases import BF16, FP16, attention_case, score_count
from flashlearn.lessons.shared.attention_mistakes.causal_forward import causal_forward
from flashlearn.lessons.shared.attention_mistakes.forward import forward
from flashlearn.lessons.shared.attention_mistakes.shared_heads import at_heads_of_q
from flashlearn.lessons.shared.faulty_formulas.faults import faulty_formula
from flashlearn.lessons.shared.grouped_cases import LAYOUTS, flagged
from flashlearn.outcome import Status

formula = faulty_formula(fa3_formulas.faulty_forward)
SHARED = {**forward(formula), **causal_forward(formula)}

MISTAKES = {
    "log2 e is missing": Mistake(
        "P is 2^(S − m), not e^(S − m): the factor that turns 2^y into e^y, log2 e, is missing.",
        "e^y is 2^(y log2 e).",
        **formula(
            "exp2 of natural numbers", also=(("exp2 of natural numbers", "lse of the base-2 sum"),)
        ),
    ),
    "log2 e applied twice": Mistake(
        "The scores are multiplied by log2 e twice. The result is that of a larger alpha.",
        "The exponent carries log2 e once.",
        **formula(fa3_formulas.TWICE),
    ),
    "LSE in base 2": Mistake(
        "The maximum in LSE, the logarithm of the sum, or both are in base 2. The backward pass expects a "
        "natural logarithm.",
        "An exponent or a logarithm to base 2 becomes natural when it is multiplied by ln 2.",
        **formula("lse in base 2", also=("lse mixes bases", "lse mixes bases in m")),
    ),
    "acc not rescaled": SHARED["acc not rescaled"],
    "the new product is rescaled too": SHARED["the new product is rescaled too"],
    "the last product meets an old sum": Mistake(
        "Where the last block raises a row's maximum, the sum of O keeps the older one when the last P V is "
        "added: in this step it is not rescaled.",
        "Before the last P V is added, the sum of O has to be relative to the last maximum.",
        **formula("acc not rescaled in the last step"),
    ),
    "the ragged end is not masked": Mistake(
        "Keys from S_k on take part. The copy engine fills them with zeros, and 0 is a score like any other.",
        "Without a causal mask, which key is the last that a query sees?",
        **formula("padded keys", also=("one padded key",)),
    ),
    "no causal mask": SHARED["no causal mask"],
    "loop ends one block early": Mistake(
        "The keys nearest to the last queries of a tile are never visited.",
        "Which key is the last one that the program's last query sees?",
        **formula("loop one tile short"),
    ),
    "blocks are counted for the first consumer": kernel.mistake(
        "blocks of the first consumer",
        "Under the causal mask the number of blocks is that of the first consumer's queries: where the "
        "second one's queries see one more block, it is never visited.",
        "Which of the program's 128 queries sees most keys?",
        Status.WRONG,
    ),
    "both consumers take the first one's queries": kernel.mistake(
        "the first one's queries",
        "The second consumer's rows of O and LSE repeat those of the first.",
        "At which row do the second consumer's queries begin?",
        Status.WRONG,
    ),
    "both consumers mask as the first": kernel.mistake(
        "consumer 1 masks as consumer 0",
        "Under the causal mask the second consumer hides keys as if its queries were the first one's: each "
        "sees 64 keys too few.",
        "At which row do the second consumer's queries begin?",
        Status.WRONG,
    ),
    "the last P V is missing": kernel.mistake(
        "last P V missing",
        "O lacks the last block of keys, but LSE includes it.",
        "If P meets V one step later, the last block's product remains to be done after the loop.",
        Status.WRONG,
    ),
    "rescaled before the older block came in": kernel.mistake(
        "rescaled before",
        "The sum of O is rescaled before the product P V of the block before is in it. That P was taken "
        "with the older maximum: its product has to be rescaled as well.",
        "When the sum is rescaled in step i, it has to hold the blocks 0 … i − 1.",
        Status.WRONG,
    ),
    "Q is not waited for": kernel.mistake(
        "Q not waited for",
        "The first product reads Q without knowing that it is there.",
        "Q has a barrier too, and uses it once.",
    ),
    "K is not waited for": kernel.mistake(
        "K not waited for",
        "A consumer multiplies whatever lies in K's slot.",
        "What tells a consumer that the slot is full?",
    ),
    "V is not waited for": kernel.mistake(
        "V not waited for",
        "A consumer multiplies whatever lies in V's slot: there is no wait for it, or one for another slot.",
        "Which block's V is multiplied by P in step i?",
    ),
    "V is waited for in K's phase": kernel.mistake(
        "V with K's phase",
        "The slot is that of block i − 1, and the parity that of block i: they differ where the ring turns.",
        "Slot and parity both follow from the number of the block whose V is multiplied.",
    ),
    "K's phase never turns": kernel.mistake(
        "K's phase never turns",
        "A consumer asks for the same parity of K in every turn of the ring.",
        "How often has this slot been full before block i?",
    ),
    "V's phase never turns": kernel.mistake(
        "V's phase never turns",
        "A consumer asks for the same parity of V in every turn of the ring.",
        "How often has this slot been full before block i − 1?",
    ),
    "filled without being empty": kernel.mistake(
        "producer does not wait for V",
        "The producer fills a slot of V that has not been reported as empty.",
        "Each of the two rings has a wait for empty slots of its own.",
    ),
    "the first emptying is waited for": kernel.mistake(
        "waits for the first emptying",
        "The producer waits for consumers to release what it has not filled yet, and they wait for it.",
        "The phase before the first counts as complete, and its parity is 1.",
    ),
    "V is given back before its product is over": kernel.mistake(
        "V given back early",
        "V's slot is reported as empty while the product P V may still read it.",
        "Which wait says that this product is over?",
    ),
    "K is never given back": kernel.mistake(
        "K never given back",
        "No consumer reports K's slots as empty: the producer stops when the ring is full.",
        "After which wait has K been read for sure?",
    ),
    "V is never given back": kernel.mistake(
        "V never given back",
        "No consumer reports V's slots as empty: the producer stops when the ring is full.",
        "After which wait has V been read for sure?",
    ),
    "one consumer is enough": kernel.mistake(
        "K's empty counts 1",
        "The barrier of K's emptied slots completes a phase as soon as the first of two consumers "
        "arrives: the other one may not have read the slot yet.",
        "How many consumers report that a slot is empty?",
    ),
    "the bytes of one tile of Q": kernel.mistake(
        "bytes of one tile of Q",
        "Q's barrier expects one tile, and two arrive: one for each consumer.",
        "Add up the bytes of both tiles of Q.",
    ),
    "a product is used before its wait": kernel.mistake(
        "S used early",
        "The scores, or the sum of O, are used while the product that makes them may still be under way.",
        "`warpgroup_mma_wait(n)` may leave the last n products under way.",
    ),
    "P is no left operand": kernel.mistake(
        "P in the accumulator's layout",
        "P has a layout that is not the one in which WGMMA reads its left operand from registers, or changes "
        "it in the loop.",
        "A value that a loop carries has the same layout before the loop as in it, here that of a left "
        "operand.",
    ),
}  # fmt: skip
FROM_LESSON_06 = (
    "alpha forgotten",
    "alpha's sign is lost",
    "l not rescaled",
    "the new sum is rescaled too",
    "acc rescaled twice",
    "not divided by l",
    "LSE without m",
    "LSE without log l",
    "mask before alpha",
    "alpha folded into the maximum",
    "K and V of the first head",
    "padded keys are not masked",
    "no causal mask",
    "the diagonal is hidden",
    "one key too many",
    "top-left alignment",
    "loop end without S_k − S_q",
    "rows that see nothing are NaN",
    "a finite number for −inf",
)
CATALOGUE = {
    **{name: SHARED[name] for name in FROM_LESSON_06},
    "heads dealt round": Mistake(
        "In your answer head h of Q takes head h % H_k of K and V. The heads of a group are adjacent: head "
        "h uses head h // (H / H_k) of K and V.",
        "With 4 heads of Q and 2 of K, which two heads of Q use the first head of K?",
        **formula(grouped.HEADS),
    ),
    **at_heads_of_q(formula),
}


def attention(
    S_q: int, S_k: int, D: int, causal: bool, H_k: int = 0, dtype: torch.dtype = BF16, **more: object
) -> Case:
    """q of S_q rows, k and v of S_k, in H_k heads each."""
    return flagged(attention_case(S_q, S_k, D, dtype=dtype, **more), causal, H_k)


ON_A_GPU = (
    attention(1024, 1024, 128, True, B=2, H=8, gpu=True, seed=30),
    attention(1000, 1500, 64, False, B=2, H=8, H_k=2, gpu=True, seed=31),
    attention(777, 500, 64, True, B=1, H=4, dtype=FP16, gpu=True, seed=32),
)
CASES = (
    attention(64, 128, 64, False, seed=1),  # one tile of queries, one block of keys
    attention(128, 300, 64, False, dtype=FP16, seed=2),
    attention(100, 700, 64, False, seed=3),  # six blocks of keys: three turns of a ring of two
    attention(130, 300, 64, True, seed=4),  # the second 64 queries see a block more than the first
    attention(110, 70, 64, True, dtype=FP16, seed=5),  # 40 queries see no key
    attention(70, 150, 64, True, H=4, H_k=2, layout="strided", seed=6),
    attention(33, 140, 64, False, B=2, H=2, data=LAYOUTS, seed=7),
    attention(65, 200, 128, True, seed=8),
    attention(64, 37, 64, False, dtype=FP16, data="negative alpha", seed=9),
    attention(80, 400, 64, False, magnitude=3.0, seed=10),
    attention(129, 130, 64, True, seed=112),  # a tile begins with the last key that is seen
    attention(2, 128, 64, True, seed=12),  # a tile of which only the last key is hidden
    attention(1, 1, 64, False, B=2, H=3, magnitude=3000.0, seed=13),  # scores to −10⁷
    *ON_A_GPU,
)
TIMED = attention(4096, 4096, 128, False, B=4, H=16, gpu=True, seed=40)

fa3_forward = Exercise(
    name="fa3_forward",
    lesson="13",
    kind=Kind.KERNEL,
    title="FlashAttention-3: a softmax under the product of another block",
    signature="(q, k, v, causal, alpha) -> (o, lse)",
    outputs=("o", "lse"),
    inputs=cases.forward_inputs,
    cases=CASES,
    judged=HowJudged(
        needs=HOPPER,
        reference=grouped.forward(reference.attention_forward),
        twins=tuple(map(grouped.forward, cases.FORWARD_TWINS)),
        output_dtypes={"lse": torch.float32},
        work=cases.forward_work,
        grows=score_count,
        seen=multiplied_by_hardware,
    ),
    explained=HowExplained(
        quantities=cases.forward_quantities,
        weights=readouts.readout(readouts.forward_weights),
        mistakes=MISTAKES,
        catalogue=CATALOGUE,
    ),
    timed=HowTimed(
        peer=torch_attention.by_backend(SDPBackend.FLASH_ATTENTION),
        peer_name="sdpa_flash",
        peers={"sdpa_cudnn": torch_attention.by_backend(SDPBackend.CUDNN_ATTENTION)},
        grades=cases.FORWARD_GRADES,
        case=TIMED,
    ),
    points=5,
    solution="flashlearn.lessons.lesson_13_hopper.simple_fa3:fa3_forward",
)
