"""The named mistakes of FlashAttention-3, forward and backward.

`FORWARD` and `BACKWARD` are what these kernels are about: waits, slots, layouts, and powers of two. What
lessons 06 to 08 are about stands in `OLDER_FORWARD` and `OLDER_BACKWARD`, which a check tries after them.
"""

from __future__ import annotations

from collections.abc import Callable

from flashlearn.exercise import Mistake
from flashlearn.lessons.lesson_13_hopper import fa3_formulas
from flashlearn.lessons.lesson_13_hopper.fa3_faulty_kernels import faulty
from flashlearn.lessons.shared import grouped
from flashlearn.lessons.shared.faulty_formulas.faults import ways
from flashlearn.lessons.shared.named_mistakes.causal_forward import causal_forward
from flashlearn.lessons.shared.named_mistakes.causal_gradients import causal_only
from flashlearn.lessons.shared.named_mistakes.dkv import dkv
from flashlearn.lessons.shared.named_mistakes.dq import dq
from flashlearn.lessons.shared.named_mistakes.forward import forward


def _at_work(launcher: str) -> Callable[..., Mistake]:
    """For mistakes that no formula makes: the launcher with a fault, and what is said of it."""

    def made(fault: str, sentence: str, next_step: str, status: str = "CRASHED") -> Mistake:
        return Mistake(sentence, next_step, launcher=faulty(launcher, fault), status=status)

    return made


_forward, _backward = _at_work("fa3_forward"), _at_work("fa3_backward")
_scores, _gradients = ways(fa3_formulas.faulty_forward), ways(grouped.faulty_backward)
_forwards = {**forward(_scores), **causal_forward(_scores)}
_dq, _dkv = dq(_gradients), dkv(_gradients)
_hidden = causal_only(_gradients, keys=True)

FORWARD = {
    "log2 e is missing": Mistake(
        "P is 2^(alpha x − m): the factor that makes e^y of 2^y is missing.",
        "Which factor comes onto alpha in the launcher, and which onto s in the kernel?",
        **_scores("exp2 of natural numbers"),
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
    "both consumers take the first one's queries": _forward(
        "the first one's queries",
        "The second consumer's queries are those of the first one: its rows of O and LSE repeat theirs.",
        "`q` has a tile for each consumer. At which row does each of them begin?",
        "WRONG",
    ),
    "both consumers mask as the first": _forward(
        "consumer 1 masks as consumer 0",
        "Under the causal mask the second consumer hides keys as if its queries were the first one's: each "
        "sees 64 keys too few.",
        "`last_seen` follows from `rows`. Where do those of consumer 1 begin?",
        "WRONG",
    ),
    "the last P V is missing": _forward(
        "last P V missing",
        "O lacks the last block of keys, and LSE has it. In the loop a block's P meets V one step later: for "
        "the last block there is no later step.",
        "What is left to be done behind the loop?",
        "WRONG",
    ),
    "rescaled before the older block came in": _forward(
        "rescaled before",
        "acc is multiplied by `rescale` before O += P V of the block before is in it. That P was taken with "
        "the older maximum: its product has to be rescaled as well.",
        "In step i acc has to hold blocks 0 … i − 1 when it is multiplied. Behind which wait does it?",
        "WRONG",
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
        "A consumer multiplies whatever lies in V's slot: K's barrier says nothing of V.",
        "V comes behind K, with barriers of its own.",
    ),
    "V is waited for in K's phase": _forward(
        "V with K's phase",
        "The slot is that of block i − 1, and the parity that of block i: they differ where the ring turns.",
        "Which block's V meets P in step i? Slot and parity both follow from its number.",
    ),
    "V is waited for in K's slot": _forward(
        "V with K's slot",
        "The barrier is that of block i, and the product reads V of block i − 1.",
        "Which block's V meets P in step i?",
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
    "S is used before its wait": _forward(
        "S used early",
        "The scores are scaled while their product may still be under way.",
        "Two products are under way, and S is the older one. How many may be left when the softmax begins?",
    ),
    "acc is used before its wait": _forward(
        "acc used early",
        "acc is rescaled while O += P V may still be adding to it.",
        "The softmax may run under that product; what reads acc may not.",
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
    "K and V of the first head",
    "the diagonal is hidden",
    "one key too many",
    "top-left alignment",
    "rows that see nothing are NaN",
)
OLDER_FORWARD = {
    **{name: _forwards[name] for name in OF_THE_FORWARD_PASS},
    "heads dealt round": Mistake(
        "Head h of Q takes head h % H_k of K and V. Groups are neighbours: head h belongs to h // (H / H_k).",
        "With 4 heads of Q and 2 of K, which two share the first one?",
        **_scores(grouped.HEADS),
    ),
}

BACKWARD = {
    "delta omitted": _dkv["delta omitted"],
    "alpha is missing from dK": _dkv["alpha is missing from dK"],
    "alpha applied twice to dK": _dkv["alpha applied twice to dK"],
    "dK and dV exchanged": _dkv["dK and dV exchanged"],
    "log2 e is missing from LSE": Mistake(
        "P is 2^(alpha x log2 e − LSE): the scores were brought to base 2, and LSE is natural.",
        "Multiply LSE by log2 e too, once per row.",
        **_gradients("LSE in base 2"),
    ),
    "hidden pairs are not zeroed": Mistake(
        "Pairs that the causal mask hides take part: 2^(s − LSE) of a key that the forward pass masked is no "
        "probability.",
        "P must be 0 where the key comes after the last one that the query sees.",
        **_gradients("no causal mask", also=(("no causal mask", "no guard"),)),
    ),
    "one head of the group": Mistake(
        "dK and dV hold the share of one query head; a key that several heads share gets the sum of theirs.",
        "Which heads' queries does the producer bring past a block of keys?",
        **_gradients("one head of the group"),
    ),
    "no guard for queries that see nothing": _hidden["no guard for queries that see nothing"],
    "dQ begins with anything": _backward(
        "dQ begins with anything",
        "The copy engine adds to what lies in memory, and the sum for dQ was never set to zero.",
        "What has to be in `dq_sum` before the kernel runs?",
        "WRONG",
    ),
    "dQ is stored, not added": _backward(
        "dQ stored, not added",
        "Programs with other keys write to the same rows of dQ: each stores its share over the others'.",
        "Every block of keys has a share in dQ: which operation of the copy engine adds?",
        "RACE",
    ),
    "dS is not transposed for dQ": _backward(
        "dS not transposed for dQ",
        "dQ takes dSᵀ for dS. The shapes fit because the tile is square.",
        "In `ds_tile` keys are rows. Which side of dQ = dS K do queries have to be on?",
        "WRONG",
    ),
    "both consumers own the first one's keys": _backward(
        "both own the first one's keys",
        "The second consumer's keys and values are those of the first one.",
        "There are two tiles of K and two of V. At which row does each begin?",
        "WRONG",
    ),
    "alpha in every block": _backward(
        "alpha in every block",
        "dK is multiplied by alpha after every block of queries: the first one's share carries it as often "
        "as there are blocks.",
        "Once, behind the loop.",
        "WRONG",
    ),
    "K and V are not waited for": _backward(
        "K and V not waited for",
        "The first product reads K and V before anybody knows that they are there.",
        "They have a barrier too, and use it once.",
    ),
    "the bytes of half of K and V": _backward(
        "bytes of half of K and V",
        "The barrier of K and V was told of fewer bytes than its copies bring: there are four.",
        "Add up what is copied behind this `expect`.",
    ),
    "the queries are not waited for": _backward(
        "queries not waited for",
        "A consumer multiplies whatever lies in the slots of Q and dO.",
        "What tells a consumer that the slot is full?",
    ),
    "the phase never turns": _backward(
        "phase never turns",
        "A consumer asks for the same parity in every turn of the ring.",
        "How often has this slot been full before?",
    ),
    "the phase turns with every block": _backward(
        "phase of the block",
        "The parity changes from block to block. A slot's barrier gets on by one phase in a turn of the "
        "ring.",
        "Block number `taken` is the how many-th in its slot?",
    ),
    "given back while it is read": _backward(
        "given back early",
        "The slot of Q and dO is reported as empty while dV or dK may still be reading it.",
        "Which of the five products are the last to read Q and dO?",
    ),
    "slots are never given back": _backward(
        "never given back",
        "The producer waits for slots that no consumer reports as empty.",
        "Who tells the producer that a slot has been read, and when?",
    ),
    "one consumer is enough": _backward(
        "empty counts 1",
        "A phase of `empty` is over with the first of two consumers: the other one may not have read the "
        "slot.",
        "How many report that a slot is empty?",
    ),
    "S is used before its wait": _backward(
        "S used early",
        "The exponentials are taken while the product of S may still be under way.",
        "Two products are under way, and S is the older one. How many may be left here?",
    ),
    "dP is used before its wait": _backward(
        "dP used early",
        "dS is made while the product of dP may still be under way.",
        "Between P and dS something has to be waited for.",
    ),
    "dS without a fence": _backward(
        "no fence behind dS",
        "The product of dQ reads dS past the door through which ordinary stores go.",
        "What has to stand between `ds_tile.store` and the product that reads the tile?",
    ),
    "dQ's tile is written again too early": _backward(
        "dQ's tile written again",
        "dQ's tile takes the next share while the copy engine may still be reading the one before.",
        "An addition by the copy engine belongs to a group, as a store does. Which call waits for it?",
    ),
    "dQ without a fence": _backward(
        "no fence behind dQ",
        "The copy engine reads dQ's tile past the door through which ordinary stores go.",
        "What has to stand between `dq_tile.store` and the addition?",
    ),
    "the sums are used before their wait": _backward(
        "sums not waited for",
        "dK and dV are used, or their operands given back, while their products may still be under way.",
        "Which wait comes before the slot is given back?",
    ),
}  # fmt: skip
OF_THE_BACKWARD_PASS = (
    "alpha on dV",
    "dV from O",
    "dS meets K",
    "dP from K",
    "delta subtracted after P",
    "delta added",
    "P in front forgotten",
    "LSE forgotten",
    "log2 e is missing",
)
OLDER_BACKWARD = {
    **{name: _dkv[name] for name in OF_THE_BACKWARD_PASS},
    "alpha is missing from dQ": _dq["alpha is missing from dQ"],
    "alpha is missing from S": _dkv["alpha is missing from S"],
    "mask hides the diagonal": _hidden["mask hides the diagonal"],
    "mask shows one key too many": _hidden["mask shows one key too many"],
    "mask aligned top-left": _hidden["mask aligned top-left"],
}
