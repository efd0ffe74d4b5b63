"""The named mistakes of FlashAttention-3's forward pass.

`FORWARD` is what this kernel is about: waits, slots, layouts, powers of two. What lesson 06 is about stands
in `OLDER_FORWARD`, which a check tries after them.
"""

from __future__ import annotations

from collections.abc import Callable

from flashlearn.exercise import Mistake
from flashlearn.lessons.lesson_13_hopper import fa3_formulas
from flashlearn.lessons.lesson_13_hopper.fa3_faulty_kernels import faulty
from flashlearn.lessons.shared import grouped
from flashlearn.lessons.shared.faulty_formulas.faults import faulty_formula
from flashlearn.lessons.shared.named_mistakes.causal_forward import causal_forward
from flashlearn.lessons.shared.named_mistakes.forward import forward
from flashlearn.outcome import Status


def _at_work(launcher: str) -> Callable[..., Mistake]:
    """For mistakes that no formula makes: the launcher with a fault, and what is said of it."""

    def made(fault: str, sentence: str, next_step: str, status: Status = Status.CRASHED) -> Mistake:
        return Mistake(sentence, next_step, launcher=faulty(launcher, fault), status=status)

    return made


_forward = _at_work("fa3_forward")
_scores = faulty_formula(fa3_formulas.faulty_forward)
_forwards = {**forward(_scores), **causal_forward(_scores)}

FORWARD = {
    "log2 e is missing": Mistake(
        "P is 2^(alpha x − m): the factor that makes e^y of 2^y is missing.",
        "Which factor comes onto alpha in the launcher, and which onto s in the kernel?",
        **_scores(
            "exp2 of natural numbers", also=(("exp2 of natural numbers", "lse of the base-2 sum"),)
        ),
    ),
    "log2 e applied twice": Mistake(
        "The scores meet log2 e twice: once in `scale`, and once more. The result is that of a larger alpha.",
        "`scale` is alpha · log2 e already. Where else does 1.4427 stand?",
        **_scores(fa3_formulas.TWICE),
    ),
    "LSE in base 2": Mistake(
        "LSE is left in base 2, in which the loop computes; the backward pass expects a natural logarithm.",
        "m_i and log2 l_i are both exponents of 2. Which factor brings them back?",
        **_scores("lse in base 2", also=("lse mixes bases", "lse mixes bases in m")),
    ),
    "acc not rescaled": _forwards["acc not rescaled"],
    "the ragged end is not masked": Mistake(
        "Keys from S_k on take part. The copy engine fills them with zeros, and 0 is a score like any other.",
        "Without a causal mask, which key is the last that a query sees?",
        **_scores("padded keys", also=("one padded key",)),
    ),
    "no causal mask": _forwards["no causal mask"],
    "loop ends one block early": Mistake(
        "The keys that the last queries of a tile see nearest to themselves are never visited.",
        "A program's last query is `first_row + 2 * ROWS - 1`, that of the second consumer. Both "
        "consumers and the producer need the same number of blocks.",
        **_scores("loop one tile short"),
    ),
    "blocks are counted for the first consumer": _forward(
        "blocks of the first consumer",
        "Under the causal mask the number of blocks is that of the first consumer's queries: where the "
        "second one's see a block more, it is never visited.",
        "Producer and consumers need the same number. Which of the program's 128 queries sees most?",
        Status.WRONG,
    ),
    "both consumers take the first one's queries": _forward(
        "the first one's queries",
        "The second consumer's queries are those of the first one: its rows of O and LSE repeat theirs.",
        "`q` has a tile for each consumer. At which row does each of them begin?",
        Status.WRONG,
    ),
    "both consumers mask as the first": _forward(
        "consumer 1 masks as consumer 0",
        "Under the causal mask the second consumer hides keys as if its queries were the first one's: each "
        "sees 64 keys too few.",
        "`last_seen` follows from `rows`. Where do those of consumer 1 begin?",
        Status.WRONG,
    ),
    "the last P V is missing": _forward(
        "last P V missing",
        "O lacks the last block of keys, and LSE has it. In the loop a block's P meets V one step later: for "
        "the last block there is no later step.",
        "What is left to be done behind the loop?",
        Status.WRONG,
    ),
    "rescaled before the older block came in": _forward(
        "rescaled before",
        "acc is multiplied by `rescale` before O += P V of the block before is in it. That P was taken with "
        "the older maximum: its product has to be rescaled as well.",
        "In step i acc has to hold blocks 0 … i − 1 when it is multiplied. Behind which wait does it?",
        Status.WRONG,
    ),
    "Q is not waited for": _forward(
        "Q not waited for",
        "The first product reads Q before anybody knows that it is there.",
        "Q has a barrier too, and uses it once.",
    ),
    "K is not waited for": _forward(
        "K not waited for",
        "A consumer multiplies whatever lies in K's slot.",
        "What tells a consumer that the slot is full?",
    ),
    "V is not waited for": _forward(
        "V not waited for",
        "A consumer multiplies whatever lies in V's slot: there is no wait for it, or one for another slot.",
        "V comes behind K, with barriers of its own. Which block's V meets P in step i?",
    ),
    "V is waited for in K's phase": _forward(
        "V with K's phase",
        "The slot is that of block i − 1, and the parity that of block i: they differ where the ring turns.",
        "Which block's V meets P in step i? Slot and parity both follow from its number.",
    ),
    "K's phase never turns": _forward(
        "K's phase never turns",
        "A consumer asks for the same parity of K in every turn of the ring.",
        "How often has this slot been full before block i?",
    ),
    "V's phase never turns": _forward(
        "V's phase never turns",
        "A consumer asks for the same parity of V in every turn of the ring.",
        "How often has this slot been full before block i − 1?",
    ),
    "filled without being empty": _forward(
        "producer does not wait for V",
        "The producer fills a slot of V that nobody has reported as empty.",
        "Two rings, two waits for empty.",
    ),
    "the first emptying is waited for": _forward(
        "waits for the first emptying",
        "Before anything has been loaded the producer waits for consumers, and they wait for it.",
        "A phase before the first counts as over. Which parity has it?",
    ),
    "V is given back before its product is over": _forward(
        "V given back early",
        "V's slot is reported as empty while O += P V may still read it.",
        "Which wait says that this product is over?",
    ),
    "K is never given back": _forward(
        "K never given back",
        "No consumer reports K's slots as empty: the producer stops when the ring is full.",
        "When has K been read? There is a wait behind which one knows.",
    ),
    "V is never given back": _forward(
        "V never given back",
        "No consumer reports V's slots as empty: the producer stops when the ring is full.",
        "When has V been read? There is a wait behind which one knows.",
    ),
    "one consumer is enough": _forward(
        "K's empty counts 1",
        "A phase of K's `empty` is over with the first of two consumers.",
        "How many report that a slot is empty?",
    ),
    "the bytes of one tile of Q": _forward(
        "bytes of one tile of Q",
        "Q's barrier was told of one tile, and two come: one for each consumer.",
        "Add up what is copied behind this `expect`.",
    ),
    "a product is used before its wait": _forward(
        "S used early",
        "The scores, or acc, are used while the product that makes them may still be under way.",
        "Two products are under way, and S is the older one: how many may be left when the softmax begins, "
        "and how many when acc is rescaled?",
    ),
    "P is no left operand": _forward(
        "P in the accumulator's layout",
        "P has a layout that is not the one in which WGMMA reads its left operand from registers, or changes "
        "it in the loop.",
        "`gl.convert_layout(…, operand_a(output))`, before the loop and in it.",
    ),
}  # fmt: skip
OF_THE_FORWARD_PASS = (
    "alpha forgotten",
    "alpha's sign is lost",
    "l not rescaled",
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
OLDER_FORWARD = {
    **{name: _forwards[name] for name in OF_THE_FORWARD_PASS},
    "heads dealt round": Mistake(
        "Head h of Q takes head h % H_k of K and V. Groups are neighbours: head h belongs to h // (H / H_k).",
        "With 4 heads of Q and 2 of K, which two share the first one?",
        **_scores(grouped.HEADS),
    ),
}
