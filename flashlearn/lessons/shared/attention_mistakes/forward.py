"""What people get wrong in FlashAttention's forward pass, where no mask hides anything."""

from __future__ import annotations

from flashlearn.exercise import Mistake
from flashlearn.lessons.shared.faulty_formulas.faults import FaultyFormula


def forward(formula: FaultyFormula) -> dict[str, Mistake]:
    """The mistakes of a kernel without a causal mask."""
    return {
        **common(formula),
        "padded keys are not masked": Mistake(
            "Keys beyond S_k take part: their row of zeros gives the score 0, hence exp(0 − m) in l_i "
            "(which is 1 where m is 0). O is too small and LSE too large wherever the last tile is not full.",
            "A filler of 0 is right for the load and wrong for a score. Set s to −inf where columns ≥ S_k.",
            **formula("padded keys"),
        ),
        "one padded key is not masked": Mistake(
            "The key with number S_k takes part, and there is none: its score is 0. Keys are counted from 0 "
            "to S_k − 1.",
            "Does the mask say < or ≤?",
            **formula("one padded key"),
        ),
        "loop ends one tile early": Mistake(
            "The last, incomplete tile of keys is never visited: the loop runs S_k // BLOCK_K times, rounded "
            "down.",
            "range(0, S_k, BLOCK_K) reaches the ragged tile too; the mask takes care of what is too much.",
            **formula("loop one tile short"),
        ),
    }


def common(formula: FaultyFormula) -> dict[str, Mistake]:
    """The mistakes that can be made with and without a causal mask."""
    return {
        "alpha forgotten": Mistake(
            "The scores are not scaled: S is Q Kᵀ instead of alpha Q Kᵀ.",
            "Multiply the product q · k by alpha, once, before anything else happens to it.",
            **formula("alpha forgotten"),
        ),
        "alpha applied twice": Mistake(
            "The scores are scaled by alpha²: once too often. Is q multiplied by alpha, and the product "
            "again?",
            "Count the places where alpha is used: there must be one.",
            **formula("alpha twice"),
        ),
        "alpha's sign is lost": Mistake(
            "With a negative alpha the scores have the wrong sign: |alpha|, or 1/√D, is used where alpha "
            "belongs.",
            "alpha is an argument and may be any number: it goes onto q · k as it is.",
            **formula("alpha without its sign"),
        ),
        "acc not rescaled": Mistake(
            "acc keeps the weights of the old maximum when a later tile raises m_i: l_i is rescaled and acc "
            "is not. Rows whose maximum lies in the first tile come out right.",
            "acc and l_i are sums of the same exponentials: both are multiplied by exp(m_i - m_new).",
            **formula("acc not rescaled"),
        ),
        "l not rescaled": Mistake(
            "l_i keeps the old maximum's exponentials when a later tile raises m_i: acc is rescaled and l_i "
            "is not, so O is too small and LSE too large.",
            "acc and l_i are sums of the same exponentials: both are multiplied by exp(m_i - m_new).",
            **formula("l not rescaled"),
        ),
        "nothing rescaled": Mistake(
            "Neither l_i nor acc is multiplied by exp(m_i - m_new): exponentials relative to different "
            "maxima are added up as if they were of one kind.",
            "Before a tile is added, bring what was summed so far to the new maximum.",
            **formula("nothing rescaled"),
        ),
        "the maximum is not subtracted": Mistake(
            "The exponentials are taken of the scores as they are: exp(89) is infinite in fp32, and ∞/∞ is "
            "NaN. With scores of ordinary size the result is right, which is why only large values show it.",
            "Exponentiate s - m_new, and let m_new be the larger of m_i and the tile's maximum.",
            **formula("no maximum"),
        ),
        "m is never updated": Mistake(
            "m_i stays −inf: the new maximum is computed and not kept. So every rescale is exp(−inf) = 0 and "
            "drops what was summed before, O is that of the last tile alone, and LSE is −inf.",
            "The loop's last line: m_i = m_new.",
            **formula("m never updated"),
        ),
        "m starts at 0": Mistake(
            "m_i starts at 0 instead of −inf. Any m gives the right answer in exact arithmetic, but exp(s − "
            "0) loses digits where all of a row's scores lie below some −90, and below −104 it is 0 even in "
            "fp32, and 0/0 is NaN.",
            'Start m_i at -float("inf"), the neutral element of a maximum.',
            **formula("m from 0"),
        ),
        "not divided by l": Mistake(
            "O is acc, which was never divided by l_i: each row is too large by the sum of its exponentials.",
            "After the loop: o = acc / l_i[:, None].",
            **formula("not divided"),
        ),
        "each tile has its own softmax": Mistake(
            "Every tile is normalised by its own sum and the results are added: with n tiles the weights of "
            "a row sum to n.",
            "Add exponentials, relative to one running maximum, and divide once, after the last tile.",
            **formula("softmax per tile"),
        ),
        "LSE in base 2": Mistake(
            "LSE is the right one times log2 e = 1.4427: it is a logarithm to base 2.",
            "This course keeps natural logarithms: m_i + tl.log(l_i), with m_i a maximum of alpha q · k.",
            **formula("lse in base 2"),
        ),
        "LSE without m": Mistake(
            "LSE is log l_i alone. l_i sums exponentials relative to m_i, so the maximum has to be added "
            "back.",
            "LSE_i = m_i + log l_i: lesson 04 derives it.",
            **formula("lse is log l"),
        ),
        "LSE without log l": Mistake(
            "LSE is m_i alone, the row's maximum.",
            "LSE_i = m_i + log l_i: lesson 04 derives it.",
            **formula("lse is m"),
        ),
        "log l is subtracted": Mistake(
            "LSE is m_i − log l_i: the logarithm of l_i has the wrong sign.",
            "LSE_i = m_i + log l_i: lesson 04 derives it.",
            **formula("lse is m − log l"),
        ),
        "LSE is m + l": Mistake(
            "LSE is m_i + l_i: the logarithm of l_i is missing.",
            "LSE_i = m_i + log l_i: lesson 04 derives it.",
            **formula("lse is m + l"),
        ),
        "mask before alpha": Mistake(
            "The mask's −inf is multiplied by alpha afterwards. With a negative alpha it becomes +∞: the "
            "hidden keys win every maximum, and ∞ − ∞ is NaN.",
            "Scale first, then mask.",
            **formula("mask before alpha"),
        ),
        "alpha folded into the maximum": Mistake(
            "The maximum is taken of q · k and multiplied by alpha afterwards. With a negative alpha that "
            "is the smallest score of the tile: exp(s − m) is 1 or more, and overflows when scores are far "
            "apart.",
            "alpha · max(x) is max(alpha · x) only for alpha ≥ 0. Take the maximum of the scaled scores.",
            **formula("maximum before alpha"),
        ),
        "the maximum lacks alpha": Mistake(
            "The maximum is that of q · k without alpha, and the exponents have the scaled scores. Any m is "
            "right in exact arithmetic, but where this one lies far above the scores every exponential is 0, "
            "and 0/0 is NaN.",
            "Scale the scores before their maximum is taken.",
            **formula("maximum without alpha"),
        ),
        "log2 e is missing from S": Mistake(
            "The exponentials are powers of two of natural numbers: 2^(s − m) where e^(s − m) belongs, so "
            "every exponent is too small by the factor ln 2, and O is a softmax of S ln 2.",
            "e^x is 2^(x log2 e): multiply the scores by 1.4427 before tl.exp2, or use tl.exp.",
            **formula(
                "exp2 of natural numbers", also=(("exp2 of natural numbers", "lse of the base-2 sum"),)
            ),
        ),
        "acc rescaled twice": Mistake(
            "acc is multiplied by the rescale factor twice in each step, and l_i once.",
            "One of the two multiplications is too many: acc = acc * rescale[:, None] + …",
            **formula("acc rescaled twice"),
        ),
        "divided in every step": Mistake(
            "acc is divided by l_i in every step, and the divided sum is carried on as if it were not.",
            "Add exponentials, rescale them, and divide once, after the last tile.",
            **formula("divided in every step"),
        ),
        "V's pointer is not advanced": Mistake(
            "Every step multiplies with the first tile of V, while K moves on.",
            "The addresses of V contain the step: start + keys, as those of K do.",
            **formula("V stays"),
        ),
        "K's pointer is not advanced": Mistake(
            "Every step takes the scores of the first tile of K, while V moves on.",
            "The addresses of K contain the step: start + keys, as those of V do.",
            **formula("K stays"),
        ),
        "rescale with the wrong sign": Mistake(
            "What was summed so far is multiplied by exp(m_new − m_i), which grows: it must shrink, by "
            "exp(m_i − m_new).",
            "The new maximum is the larger one, so the factor is at most 1.",
            **formula("rescale inverted"),
        ),
        "the maximum of one tile": Mistake(
            "m_new is the maximum of the tile alone, not of all tiles so far. The result stays right in "
            "exact arithmetic, but where a tile lies far below an earlier one the rescaling overflows.",
            "m_new = tl.maximum(m_i, tl.max(s, axis=1)).",
            **formula("maximum of the tile alone"),
        ),
        "divided by l twice": Mistake(
            "O is divided by l_i twice: once in the loop or before, and once at the end.",
            "One division, after the loop.",
            **formula("divided twice"),
        ),
        "LSE is l": Mistake(
            "LSE holds l_i, the sum itself, neither its logarithm nor the maximum.",
            "LSE_i = m_i + log l_i: lesson 04 derives it.",
            **formula("lse is l"),
        ),
        "LSE mixes two bases": Mistake(
            "LSE is m_i + log2 l_i: the maximum is natural, and the logarithm of l_i has base 2.",
            "Natural both: m_i + tl.log(l_i).",
            **formula("lse mixes bases"),
        ),
        "LSE's maximum is in base 2": Mistake(
            "LSE is m log2 e + log l, with m the maximum of alpha q · k: the maximum is that of the scores "
            "for tl.exp2, which carry log2 e, and the logarithm of l_i is natural.",
            "Bring the maximum back to natural units, times ln 2, before you add log l_i.",
            **formula("lse mixes bases in m"),
        ),
        "K and V of the first head": Mistake(
            "Every head sees the keys and values of the first one: the offset of batch and head is missing "
            "where K and V are addressed.",
            "Each pointer moves by its own batch and head strides before a tile's rows are added.",
            **formula("first head"),
        ),
        "first tile missing": Mistake(
            "The loop over keys begins one tile late: the first BLOCK_K keys are never met.",
            "The loop starts at 0.",
            **formula("first tile skipped"),
        ),
    }
