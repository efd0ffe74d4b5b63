"""The named mistakes of lesson 06: what people get wrong in FlashAttention's forward pass.

Most are one line of the kernel's own loop, which faulty_forward has in torch; what torch cannot say is a
kernel of broken_06.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from flashlearn.exercise import Mistake
from flashlearn.exercises import broken_06 as broken
from flashlearn.exercises.faulty_forward import scan


def _made(causal: bool, *faults: str, also: tuple[tuple[str, ...], ...] = ()) -> dict[str, Any]:
    """A mistake's formula; `also` are sets of faults that make the same mistake in another way."""

    def formula(*names: str) -> Callable[..., Any]:
        return functools.partial(scan, causal=causal, faults=frozenset(names))

    return {"wrong": formula(*faults), "also": tuple(formula(*names) for names in also)}


def common(causal: bool) -> dict[str, Mistake]:
    """The mistakes that can be made with and without a causal mask."""

    def kernel(fault: str) -> Callable:
        return broken.launcher(fault, causal)

    return {
        "alpha forgotten": Mistake(
            "The scores are not scaled: S is Q Kᵀ instead of alpha Q Kᵀ.",
            "Multiply the product q · k by alpha, once, before anything else happens to it.",
            **_made(causal, "alpha forgotten"),
        ),
        "alpha applied twice": Mistake(
            "The scores are scaled by alpha²: once too often. Is q multiplied by alpha, and the product "
            "again?",
            "Count the places where alpha stands: there must be one.",
            **_made(causal, "alpha twice"),
        ),
        "acc not rescaled": Mistake(
            "acc keeps the weights of the old maximum when a later tile raises m_i: l_i is rescaled and acc "
            "is not. Rows whose maximum lies in the first tile come out right.",
            "acc and l_i are sums of the same exponentials: both are multiplied by exp(m_i - m_new).",
            **_made(causal, "acc not rescaled"),
        ),
        "l not rescaled": Mistake(
            "l_i keeps the old maximum's exponentials when a later tile raises m_i: acc is rescaled and l_i "
            "is not, so O is too small and LSE too large.",
            "acc and l_i are sums of the same exponentials: both are multiplied by exp(m_i - m_new).",
            **_made(causal, "l not rescaled"),
        ),
        "nothing rescaled": Mistake(
            "Neither l_i nor acc is multiplied by exp(m_i - m_new): exponentials relative to different "
            "maxima are added up as if they were of one kind.",
            "Before a tile is added, bring what was summed so far to the new maximum.",
            **_made(causal, "nothing rescaled"),
        ),
        "the maximum is not subtracted": Mistake(
            "The exponentials are taken of the scores as they are: exp(89) is infinite in fp32, and ∞/∞ is "
            "NaN. With scores of ordinary size the result is right, which is why only large values show it.",
            "Exponentiate s - m_new, and let m_new be the larger of m_i and the tile's maximum.",
            **_made(causal, "no maximum"),
        ),
        "m is never updated": Mistake(
            "m_i stays −inf: the new maximum is computed and not kept. So every rescale is exp(−inf) = 0 and "
            "drops what was summed before, O is that of the last tile alone, and LSE is −inf.",
            "The loop's last line: m_i = m_new.",
            **_made(causal, "m never updated"),
        ),
        "m starts at 0": Mistake(
            "m_i starts at 0 instead of −inf. Any m gives the right answer in exact arithmetic, but where "
            "all of a row's scores lie below −104 every exp(s − 0) is 0, and 0/0 is NaN.",
            'Start m_i at -float("inf"), the neutral element of a maximum.',
            **_made(causal, "m from 0"),
        ),
        "not divided by l": Mistake(
            "O is acc, which was never divided by l_i: each row is too large by the sum of its exponentials.",
            "After the loop: o = acc / l_i[:, None].",
            **_made(causal, "not divided"),
        ),
        "each tile has its own softmax": Mistake(
            "Every tile is normalised by its own sum and the results are added: with n tiles the weights of "
            "a row sum to n.",
            "Add exponentials, relative to one running maximum, and divide once, after the last tile.",
            **_made(causal, "softmax per tile"),
        ),
        "LSE in base 2": Mistake(
            "LSE is the right one times log2 e = 1.4427: it is a logarithm to base 2.",
            "This course keeps natural logarithms: m_i + tl.log(l_i), with m_i a maximum of alpha q · k.",
            **_made(causal, "lse in base 2"),
        ),
        "LSE without m": Mistake(
            "LSE is log l_i alone. l_i sums exponentials relative to m_i, so the maximum has to be added "
            "back.",
            "LSE_i = m_i + log l_i: lesson 04 derives it.",
            **_made(causal, "lse is log l"),
        ),
        "LSE without log l": Mistake(
            "LSE is m_i alone, the row's maximum.",
            "LSE_i = m_i + log l_i: lesson 04 derives it.",
            **_made(causal, "lse is m"),
        ),
        "LSE is m + l": Mistake(
            "LSE is m_i + l_i: the logarithm of l_i is missing.",
            "LSE_i = m_i + log l_i: lesson 04 derives it.",
            **_made(causal, "lse is m + l"),
        ),
        "mask before alpha": Mistake(
            "The mask's −inf is multiplied by alpha afterwards. With a negative alpha it becomes +∞: the "
            "hidden keys win every maximum, and ∞ − ∞ is NaN.",
            "Scale first, then mask.",
            **_made(causal, "mask before alpha"),
        ),
        "alpha folded into the maximum": Mistake(
            "The maximum is taken of q · k and multiplied by alpha afterwards. With a negative alpha that "
            "is the smallest score of the tile: exp(s − m) is 1 or more, and overflows when scores are far "
            "apart.",
            "alpha · max(x) is max(alpha · x) only for alpha ≥ 0. Take the maximum of the scaled scores.",
            **_made(causal, "maximum before alpha"),
        ),
        "the maximum lacks alpha": Mistake(
            "The maximum is that of q · k without alpha, and the exponents have the scaled scores. Any m is "
            "right in exact arithmetic, but where this one lies far above the scores every exponential is 0, "
            "and 0/0 is NaN.",
            "Scale the scores before their maximum is taken.",
            **_made(causal, "maximum without alpha"),
        ),
        "accumulator in half precision": Mistake(
            "acc is carried in the dtype of q. fp16 overflows at 65504, long before acc / l_i would, and "
            "every addition rounds to 11 bits (8 in bf16).",
            "Keep m_i, l_i and acc in tl.float32; convert once, in front of the store.",
            launcher=kernel("accumulator in half"),
        ),
        "P cast to fp16 whatever V is": Mistake(
            "P is converted to fp16 by name. tl.dot wants both operands of one dtype: with V in bf16 or "
            "fp32 the kernel does not compile.",
            "Write p.to(v.dtype): it is right for whatever V holds.",
            launcher=kernel("p in fp16"),
            status="CRASHED",
        ),
        "l sums over the queries": Mistake(
            "l_i is a sum along the wrong axis of p: over the block's queries, for each key. The shapes fit "
            "because the tile is square.",
            "A row of p is a query, a column a key: l_i sums along the row, tl.sum(p, axis=1).",
            launcher=kernel("sum along the queries"),
        ),
        "the first tile again and again": Mistake(
            "Every step reads the first tile of K and V, and the keys from BLOCK_K on are never seen. With a "
            "single tile of keys the answer is right.",
            "The keys of a step are start + keys: use them in both addresses, and in both masks.",
            launcher=kernel("first tile again"),
        ),
        "K is not transposed": Mistake(
            "The product takes k as it was loaded, [BLOCK_K, BLOCK_D]. Q Kᵀ sums over D, so the second "
            "operand must be [BLOCK_D, BLOCK_K].",
            "tl.dot(q, tl.trans(k)), or load the tile with its two index vectors exchanged.",
            launcher=kernel("k not transposed"),
            status="CRASHED",
        ),
        "keys loaded without a mask": Mistake(
            "The last tile reaches beyond S_k, and for the last head beyond the tensor.",
            "Mask the load with columns < S_k (and d < D), with other=0.0.",
            launcher=kernel("keys without a mask"),
            status="OUT_OF_BOUNDS",
        ),
        "D is not masked": Mistake(
            "BLOCK_D is D rounded up to a power of two, 16 at least: the columns from D on belong to the "
            "next row, and in the last row to nobody.",
            "Every load and store of a tile needs d < D in its mask.",
            launcher=kernel("D without a mask"),
            status="OUT_OF_BOUNDS",
        ),
        "strides of q used for k": Mistake(
            "K is read with the strides of Q. They agree only if both have one layout and one length.",
            "Address K with k_batch, k_head, k_row and k_col (and V with its own four).",
            launcher=kernel("strides of q for k"),
        ),
        "log2 e is missing from S": Mistake(
            "The exponentials are powers of two of natural numbers: 2^(s − m) where e^(s − m) belongs, so "
            "every exponent is too small by the factor ln 2, and O is a softmax of S ln 2.",
            "e^x is 2^(x log2 e): multiply the scores by 1.4427 before tl.exp2, or use tl.exp.",
            wrong=functools.partial(scan, causal=causal, faults=frozenset({"exp2 of natural numbers"})),
            also=(
                functools.partial(
                    scan,
                    causal=causal,
                    faults=frozenset({"exp2 of natural numbers", "lse of the base-2 sum"}),
                ),
            ),
        ),
        "acc rescaled twice": Mistake(
            "acc is multiplied by the rescale factor twice in each step, and l_i once.",
            "One of the two multiplications is too many: acc = acc * rescale[:, None] + …",
            **_made(causal, "acc rescaled twice"),
        ),
        "divided in every step": Mistake(
            "acc is divided by l_i in every step, and the divided sum is carried on as if it were not.",
            "Add exponentials, rescale them, and divide once, after the last tile.",
            **_made(causal, "divided in every step"),
        ),
        "V's pointer is not advanced": Mistake(
            "Every step multiplies with the first tile of V, while K moves on.",
            "The addresses of V contain the step: start + keys, as those of K do.",
            **_made(causal, "V stays"),
        ),
        "K's pointer is not advanced": Mistake(
            "Every step takes the scores of the first tile of K, while V moves on.",
            "The addresses of K contain the step: start + keys, as those of V do.",
            **_made(causal, "K stays"),
        ),
        "rescale with the wrong sign": Mistake(
            "What was summed so far is multiplied by exp(m_new − m_i), which grows: it must shrink, by "
            "exp(m_i − m_new).",
            "The new maximum is the larger one, so the factor is at most 1.",
            **_made(causal, "rescale inverted"),
        ),
        "the maximum of one tile": Mistake(
            "m_new is the maximum of the tile alone, not of all tiles so far. The result stays right in "
            "exact arithmetic, but where a tile lies far below an earlier one the rescaling overflows.",
            "m_new = tl.maximum(m_i, tl.max(s, axis=1)).",
            **_made(causal, "maximum of the tile alone"),
        ),
        "divided by l twice": Mistake(
            "O is divided by l_i twice: once in the loop or before, and once at the end.",
            "One division, after the loop.",
            **_made(causal, "divided twice"),
        ),
        "LSE is l": Mistake(
            "LSE holds l_i, the sum itself, neither its logarithm nor the maximum.",
            "LSE_i = m_i + log l_i: lesson 04 derives it.",
            **_made(causal, "lse is l"),
        ),
        "LSE mixes two bases": Mistake(
            "LSE is m_i + log2 l_i: the maximum is natural, and the logarithm of l_i has base 2.",
            "Natural both: m_i + tl.log(l_i).",
            **_made(causal, "lse mixes bases", also=(("lse mixes bases in m",),)),
        ),
        "first tile missing": Mistake(
            "The loop over keys begins one tile late: the first BLOCK_K keys are never met.",
            "The loop starts at 0.",
            **_made(causal, "first tile skipped"),
        ),
    }


FORWARD = {
    **common(causal=False),
    "the mask of keys lies along the queries": Mistake(
        "s is masked along the wrong axis: where the tile lacks a key, a query's row is set to −inf, and "
        "the padded keys still take part. The shapes fit because the tile is square.",
        'Keys are the columns of s: tl.where((columns < S_k)[None, :], s, -float("inf")).',
        launcher=broken.launcher("mask along the queries"),
    ),
    "padded keys are not masked": Mistake(
        "Keys beyond S_k take part: their row of zeros gives the score 0, hence exp(0 − m) in l_i "
        "(which is 1 where m is 0). O is too small and LSE too large wherever the last tile is not full.",
        "A filler of 0 is right for the load and wrong for a score. Set s to −inf where columns ≥ S_k.",
        **_made(False, "padded keys"),
    ),
    "loop ends one tile early": Mistake(
        "The last, incomplete tile of keys is never visited: the loop runs S_k // BLOCK_K times, rounded "
        "down.",
        "range(0, S_k, BLOCK_K) reaches the ragged tile too; the mask takes care of what is too much.",
        **_made(False, "loop one tile short"),
    ),
}


CAUSAL = {
    **common(causal=True),
    "no causal mask": Mistake(
        "Every query sees every key: the answer is that of flash_forward.",
        "Hide the keys with j > i + S_k − S_q: s = −inf there.",
        **_made(True, "no causal mask"),
    ),
    "the diagonal is hidden": Mistake(
        "The mask is one key too strict: query i sees the keys j < i + S_k − S_q, without its own.",
        "The comparison is columns <= rows + S_k - S_q: a token attends to itself.",
        **_made(True, "diagonal hidden", also=(("diagonal hidden", "no guards"),)),
    ),
    "one key too many": Mistake(
        "The mask is one key too generous: query i sees the keys up to i + 1 + S_k − S_q, one from the "
        "future.",
        "The comparison is columns <= rows + S_k - S_q.",
        **_made(True, "one key too many", also=(("one key too many in the mask",),)),
    ),
    "top-left alignment": Mistake(
        "The mask is j ≤ i, aligned top-left. With S_q = S_k that is the same; here they differ, and the "
        "last query must see the last key.",
        "Shift the diagonal by S_k − S_q, in the mask and in the end of the loop.",
        **_made(
            True,
            "top-left",
            also=(("top-left mask",), ("top-left", "no guards"), ("top-left mask", "no guards")),
        ),
    ),
    "mask after l": Mistake(
        "The hidden keys are set to zero in p after l_i has been summed: they are gone from O's numerator "
        "and still in its denominator, and in LSE.",
        "Mask s, with −inf, before the maximum and the exponential: then everything that follows is masked.",
        **_made(
            True, "mask after l", also=(("mask after l", "no early end"), ("mask after l", "padded keys"))
        ),
    ),
    "only whole tiles are hidden": Mistake(
        "The loop ends at the diagonal, but the tiles that the diagonal crosses are not masked inside: a "
        "query sees every key of the tiles that its block visits.",
        "Ending the loop early saves work; the mask makes it right. Both are needed.",
        **_made(True, "only whole tiles", also=(("only whole tiles", "padded keys"),)),
    ),
    "loop end without S_k − S_q": Mistake(
        "The loop ends at (pid + 1) · BLOCK_Q, which is right only for S_q = S_k: with more keys than "
        "queries the last S_k − S_q keys are never visited.",
        "The block's last query sees the keys up to (pid + 1) · BLOCK_Q − 1 + S_k − S_q.",
        **_made(True, "loop end without the offset"),
    ),
    "loop ends one tile early": Mistake(
        "The tile that the diagonal crosses is never visited: the loop ends where that tile begins.",
        "That tile belongs to the loop: its end is (pid + 1) · BLOCK_Q + S_k − S_q, not pid · BLOCK_Q + S_k "
        "− S_q.",
        **_made(True, "loop one tile short"),
    ),
    "rows that see nothing are NaN": Mistake(
        "Queries that see no key come out as NaN: −inf − (−inf) in the exponent, and 0/0 in the division.",
        "Subtract 0 instead of m_new where m_new is −inf, and divide by 1 where l_i is 0.",
        **_made(True, "no guards"),
    ),
    "a finite number for −inf": Mistake(
        "Hidden scores are set to a large negative number instead of −inf. Where a row sees nothing, all "
        "its scores are that number, every p is exp(0) = 1, and O is a mean of values that the query must "
        "not see.",
        'Use -float("inf"), and guard the rows in which it is all there is.',
        **_made(
            True,
            "finite filler",
            also=(
                ("filler −10³⁰",),
                ("filler −10⁶",),
                ("filler −10⁴",),
            ),
        ),
    ),
    "S_k − S_q with the wrong sign": Mistake(
        "The diagonal is shifted the wrong way: the mask is j ≤ i + S_q − S_k. It is right only for S_q = "
        "S_k.",
        "The last query sees the last key: for i = S_q − 1 the mask must let j = S_k − 1 through.",
        **_made(True, "offset turned round"),
    ),
    "hidden scores set to 0": Mistake(
        "Hidden scores are set to 0 and take part like any other: exp(0 − m) is a weight.",
        "What must not be seen gets the score −inf, before the maximum is taken.",
        **_made(True, "hidden scores are 0"),
    ),
    "a tile on the diagonal is skipped": Mistake(
        "The first of the tiles that the diagonal crosses is left out: each query misses its nearest keys.",
        "Whole tiles end where the block's first query stops seeing; the masked loop begins just there.",
        **_made(True, "diagonal tile skipped", also=(("diagonal tile skipped", "no guards"),)),
    ),
}
