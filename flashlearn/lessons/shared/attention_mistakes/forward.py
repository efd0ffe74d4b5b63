"""What people get wrong in FlashAttention's forward pass, where no mask hides anything."""

from __future__ import annotations

from flashlearn.exercise import Mistake
from flashlearn.lessons.shared.faulty_formulas.faults import FaultyFormula


def forward(formula: FaultyFormula) -> dict[str, Mistake]:
    """The mistakes of a kernel without a causal mask."""
    return {
        **common(formula),
        "padded keys are not masked": Mistake(
            "Keys from S_k on take part with the score 0 where the last tile is not full: each adds exp(0 − "
            "m) to l.",
            "Keys from S_k on do not exist: which score gives them no weight?",
            **formula("padded keys"),
        ),
        "one padded key is not masked": Mistake(
            "The key with number S_k takes part, and there is none: its score is 0. Keys are counted from 0 "
            "to S_k − 1.",
            "Key j exists if j < S_k.",
            **formula("one padded key"),
        ),
        "loop ends one tile early": Mistake(
            "The last, incomplete tile of keys is missing, as if there were only S_k // BLOCK_K tiles, "
            "rounded down.",
            "Where does key S_k − 1, the last one, enter the sums?",
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
            "The scores carry alpha²: alpha is applied once too often.",
            "Which operations put alpha into the scores? One of them is enough.",
            **formula("alpha twice"),
        ),
        "alpha's sign is lost": Mistake(
            "With a negative alpha the scores have the wrong sign, as if |alpha|, or 1/√D, were used where "
            "alpha belongs.",
            "alpha is an argument and may be any number: multiply q · k by it as it is.",
            **formula("alpha without its sign"),
        ),
        "acc not rescaled": Mistake(
            "The numerator of O keeps the weights of the old maximum when a later tile raises it: it is "
            "not rescaled, or not by the right factor.",
            "When the maximum moves, the numerator of O is multiplied by the same factor as l.",
            **formula("acc not rescaled"),
        ),
        "the new product is rescaled too": Mistake(
            "The factor exp(m_old − m_new) also scales the new tile's P V, whose P is already relative to "
            "the new maximum. In the first tile it is 0, and the product is lost.",
            "Which of the two summands was computed relative to the old maximum? Only that one is scaled.",
            **formula("product rescaled too"),
        ),
        "the new sum is rescaled too": Mistake(
            "The factor exp(m_old − m_new) also scales the sum of the new tile's exponentials, which are "
            "already relative to the new maximum. In the first tile it is 0, and the sum is lost.",
            "Which of the two summands of l was computed relative to the old maximum? Only that one is "
            "scaled.",
            **formula("new sum rescaled too", also=(("new sum rescaled too", "sum guarded"),)),
        ),
        "l not rescaled": Mistake(
            "The sum l keeps the old maximum's exponentials when a later tile raises it: it is not "
            "rescaled, or not by the right factor.",
            "When the maximum moves, l is multiplied by the same factor as the numerator of O.",
            **formula("l not rescaled"),
        ),
        "nothing rescaled": Mistake(
            "Exponentials relative to different maxima are added up unchanged, in "
            "O and in LSE: what was summed before is not rescaled, or is rescaled by 1, as happens if the "
            "old maximum is overwritten before the factor is computed.",
            "What was summed before is multiplied by exp(m_old − m_new), with m_old the maximum before this "
            "tile.",
            **formula("nothing rescaled"),
        ),
        "the maximum is not subtracted": Mistake(
            "Large scores give NaN, as they do without the row's own maximum subtracted: exp(89) "
            "is infinite in fp32, and ∞/∞ is NaN.",
            "What is subtracted from the scores in the exponent?",
            **formula("no maximum"),
        ),
        "m is never updated": Mistake(
            "O is that of the last tile alone, and LSE is −inf, as where the new maximum is computed and "
            "not kept: then the old one is −inf in every step, and the factor exp(−inf) = 0 drops what "
            "was summed before.",
            "The new maximum is the old one of the next step.",
            **formula("m never updated"),
        ),
        "one maximum for all rows": Mistake(
            "The rows whose scores lie far below those of other rows of their block are wrong, as they are "
            "if one maximum is taken over the whole tile: their exponentials lose digits, and 104 below it "
            "they are 0 even in fp32.",
            "Each query has a maximum of its own, over its own scores.",
            **formula("one maximum for all rows", also=(("one maximum for all rows", "padded queries"),)),
        ),
        "m starts at 0": Mistake(
            "The rows whose scores all lie far below 0, or below another finite number, are wrong, as if the "
            "maximum could not fall below it. Any m is right in exact arithmetic, but from about 90 below m "
            "on, exp(s − m) loses digits, and from 104 on it is 0 even in fp32.",
            "Which numbers that are not scores can become the maximum? Each of them must be −inf.",
            **formula("m from 0", also=("m from −10⁴",)),
        ),
        "not divided by l": Mistake(
            "O is not divided by l: each row is too large by the sum of its exponentials.",
            "After the last tile, what turns sums of exponentials into a mean of values?",
            **formula("not divided"),
        ),
        "each tile has its own softmax": Mistake(
            "Every tile is normalised by its own sum, and the results are added: with n tiles the weights "
            "of a row sum to n.",
            "Add exponentials, relative to one running maximum, and divide once, after the last tile.",
            **formula("softmax per tile"),
        ),
        "LSE in base 2": Mistake(
            "LSE is the right one times log2 e = 1.4427: it is a logarithm to base 2.",
            "LSE is a natural logarithm: one to base 2 has to be multiplied by ln 2.",
            **formula("lse in base 2"),
        ),
        "LSE without m": Mistake(
            "LSE is log l alone. l sums exponentials relative to the maximum, so that has to be added back.",
            "LSE_i = m_i + log l_i, with m_i the row's maximum and l_i its sum: lesson 04 derives it.",
            **formula("lse is log l"),
        ),
        "LSE without log l": Mistake(
            "LSE is the row's maximum alone.",
            "LSE_i = m_i + log l_i, with m_i the row's maximum and l_i its sum: lesson 04 derives it.",
            **formula("lse is m"),
        ),
        "log l is subtracted": Mistake(
            "LSE is m − log l: the logarithm of the sum has the wrong sign.",
            "LSE_i = m_i + log l_i, with m_i the row's maximum and l_i its sum: lesson 04 derives it.",
            **formula("lse is m − log l"),
        ),
        "LSE is m + l": Mistake(
            "LSE is m + l: the logarithm of the sum is missing.",
            "LSE_i = m_i + log l_i, with m_i the row's maximum and l_i its sum: lesson 04 derives it.",
            **formula("lse is m + l"),
        ),
        "mask before alpha": Mistake(
            "With a negative alpha the result is NaN, as it is where the mask's −inf is multiplied by "
            "alpha afterwards: it becomes +∞, the hidden keys win every maximum, and ∞ − ∞ is NaN.",
            "Scale first, then mask.",
            **formula("mask before alpha"),
        ),
        "alpha folded into the maximum": Mistake(
            "The results are as if the maximum were alpha times that of q · k: with a negative alpha that "
            "is the smallest score, and exp(s − m) overflows when scores are far apart.",
            "alpha · max(x) is max(alpha · x) only for alpha ≥ 0. Take the maximum of the scaled scores.",
            **formula("maximum before alpha"),
        ),
        "the maximum lacks alpha": Mistake(
            "The exponents have the scaled scores, and the results are as if the maximum of q · k without "
            "alpha were subtracted from them. Any m is right in exact arithmetic, but where it lies far "
            "above the scores every exponential is 0, and 0/0 is NaN.",
            "What is subtracted must be the largest of the scaled scores, alpha · q · k.",
            **formula("maximum without alpha"),
        ),
        "log2 e is missing from S": Mistake(
            "The exponentials are 2^(s − m), where e^(s − m) belongs: log2 e is missing, so every exponent "
            "is too small by the factor ln 2, and O is a softmax of S ln 2.",
            "e^x is 2^(x log2 e).",
            **formula(
                "exp2 of natural numbers", also=(("exp2 of natural numbers", "lse of the base-2 sum"),)
            ),
        ),
        "acc rescaled twice": Mistake(
            "The numerator of O is multiplied by the factor of the risen maximum twice in each step, and "
            "l once.",
            "When the maximum rises, the numerator of O is multiplied by the factor once, as l is.",
            **formula("acc rescaled twice"),
        ),
        "divided in every step": Mistake(
            "The numerator of O is divided by l in every step, and the next step goes on with the quotient "
            "as if it were still the numerator.",
            "Divide once, after the last tile, or multiply by the old l before the next one.",
            **formula("divided in every step"),
        ),
        "V's pointer is not advanced": Mistake(
            "Every step multiplies by the first tile of V, while K advances.",
            "In each step V is read at the same keys as K.",
            **formula("V stays"),
        ),
        "K's pointer is not advanced": Mistake(
            "Every step computes the scores of the first tile of K, while V advances.",
            "In each step K is read at the same keys as V.",
            **formula("K stays"),
        ),
        "rescale with the wrong sign": Mistake(
            "What was summed so far is multiplied by exp(m_new − m_old), which is 1 or more. It should "
            "shrink, by the factor exp(m_old − m_new).",
            "The new maximum is the larger one, so the factor is at most 1.",
            **formula("rescale inverted"),
        ),
        "the maximum of one tile": Mistake(
            "The results are as if the new maximum were that of the tile alone. In exact arithmetic that "
            "would do, but where a tile lies far below an earlier one the rescaling overflows.",
            "The maximum so far never falls: it is the larger of the old one and the tile's.",
            **formula("maximum of the tile alone"),
        ),
        "divided by l twice": Mistake(
            "O is divided by l twice.",
            "One division by l is enough.",
            **formula("divided twice"),
        ),
        "LSE is l": Mistake(
            "LSE holds the sum l itself, neither its logarithm nor the maximum.",
            "LSE_i = m_i + log l_i, with m_i the row's maximum and l_i its sum: lesson 04 derives it.",
            **formula("lse is l"),
        ),
        "LSE mixes two bases": Mistake(
            "Your LSE is m + log2 l: the maximum is natural, and the logarithm of the sum has base 2.",
            "Both terms of LSE must be natural: which logarithm of the sum do you take?",
            **formula("lse mixes bases"),
        ),
        "LSE's maximum is in base 2": Mistake(
            "Your LSE is m log2 e + log l, with m the maximum of alpha q · k: a maximum of scores times "
            "log2 e, as exp2 needs them, is added to a natural logarithm.",
            "Bring the maximum back to natural units, times ln 2, before you add log l.",
            **formula("lse mixes bases in m"),
        ),
        "K and V of the first head": Mistake(
            "Every head sees the keys and values of the first one.",
            "Head h of batch entry b lies b batch strides and h head strides from the start.",
            **formula("first head"),
        ),
        "loop over S_q": Mistake(
            "The loop over keys ends at S_q, the number of queries: where the keys fill more tiles than the "
            "queries, the last of them are missing.",
            "This program scans keys. How many are there?",
            **formula("ends at S_q"),
        ),
        "first tile missing": Mistake(
            "The first tile of keys is missing from every row.",
            "Where do the keys of the first tile enter the sums?",
            **formula("first tile skipped"),
        ),
    }
