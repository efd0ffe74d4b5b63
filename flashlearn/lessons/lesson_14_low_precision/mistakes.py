"""The named mistakes of lesson 14: scales, saturation, parities, and what belongs to which block."""

from __future__ import annotations

from flashlearn.exercise import Mistake
from flashlearn.lessons.lesson_14_low_precision.attention import attention
from flashlearn.lessons.lesson_14_low_precision.eight_bits import quantized, rotated
from flashlearn.lessons.lesson_14_low_precision.faulty_kernels import faulty
from flashlearn.lessons.shared.faulty_formulas.faults import faulty_formula
from flashlearn.outcome import Status

of_blocks, of_rotation, of_attention = (
    faulty_formula(quantized),
    faulty_formula(rotated),
    faulty_formula(attention),
)

QUANTIZE = {
    "largest without its sign forgotten": Mistake(
        "The scale comes from the largest value, not from the largest magnitude: in a block whose negative "
        "numbers reach further, they are cut off at −448.",
        "What does tl.max see of −7 beside 3?",
        **of_blocks("signed maximum"),
    ),
    "multiplied by the scale": Mistake(
        "The values are x times the scale. Large blocks leave e4m3's range, small ones vanish in it.",
        "x ≈ value · scale: solve it for the value.",
        **of_blocks("multiplied"),
    ),
    "x is not scaled": Mistake(
        "The values are x itself in e4m3: what is beyond 448 is cut off, and what is far below 1 loses its "
        "bits. The scales are right, and unused.",
        "Divide by the block's scale before the cast.",
        **of_blocks("not scaled"),
    ),
    "the inverse scale is returned": Mistake(
        "The scales are the reciprocals, 448 over the largest magnitude.",
        "Whoever reads the result multiplies by the scale.",
        **of_blocks("inverse"),
    ),
    "scales laid out by columns": Mistake(
        "The scales lie in the order of columns: block (i, j) stores its own at i + j · rows of blocks.",
        "scales is contiguous, rows first: how far apart are the scales of the blocks (i, j) and (i + 1, j)?",
        **of_blocks("by columns"),
    ),
    "scaled to 1": Mistake(
        "The scale is the largest magnitude itself, so values lie between −1 and 1. e4m3 reaches 448: of its "
        "exponents above 0 none is used.",
        "To which value should the block's largest number go?",
        **of_blocks("no 448"),
    ),
    "scaled to 240": Mistake(
        "The largest magnitude goes to 240, the end of another e4m3 (fnuz). This format ends at 448.",
        "Take the largest exponent and the largest fraction that is no NaN: 2⁸ · 1.75.",
        **of_blocks("240"),
    ),
    "one scale for all blocks": Mistake(
        "Every block has the scale of the whole tensor.",
        "The maximum is one over this program's tile.",
        **of_blocks("one scale"),
    ),
    "a block of zeros divides by zero": Mistake(
        "In a block of zeros the scale is 0, and 0 / 0 is NaN.",
        "Which scale would do for a block that holds nothing but zeros?",
        **of_blocks("zero blocks"),
    ),
    "the tile is loaded without a mask": Mistake(
        "A tile that reaches beyond the matrix is loaded whole.",
        "Rows below M, and columns below N: `inside` says both.",
        launcher=faulty("quantize_blocks", "no mask"),
        status=Status.OUT_OF_BOUNDS,
    ),
}

ROTATE = {
    "not divided by √D": Mistake(
        "H without its factor makes every row √D times as long: H Hᵀ is D times the identity.",
        "An orthogonal matrix has rows of length 1.",
        **of_rotation("no root"),
    ),
    "divided by D": Mistake(
        "The result is divided by D: then rows get shorter, by √D.",
        "H Hᵀ = D · I. What must each of the two factors be divided by?",
        **of_rotation("divided by D"),
    ),
    "signs forgotten": Mistake(
        "The rows were not multiplied by the signs.",
        "x ∘ signs first, then H.",
        **of_rotation("no signs"),
    ),
    "signs after the product": Mistake(
        "The signs came after H. That is orthogonal too, and another rotation: an outlier in one column "
        "spreads in the same pattern in every row, signs or not.",
        "Diag(signs) stands on the left of H.",
        **of_rotation("signs after"),
    ),
    "shared, but not odd": Mistake(
        "An entry is −1 wherever i and j share a bit. It is −1 where they share an odd number of bits.",
        "i = j = 3 shares two bits, and its entry is 1.",
        **of_rotation("shared, not odd"),
    ),
    "only the last bit": Mistake(
        "Only the lowest bit of i and j is looked at: all odd rows of the matrix are the same.",
        "Fold the higher bits down with ^ before you take the last one.",
        **of_rotation("last bit"),
    ),
    "bits that differ": Mistake(
        "The parity is that of i ^ j, the bits in which they differ. That matrix has only two different "
        "rows.",
        "Common bits are i & j.",
        **of_rotation("xor"),
    ),
    "the rows are loaded without a mask": Mistake(
        "The last program's rows reach beyond the matrix.",
        "Rows below M: `in_rows` says it.",
        launcher=faulty("hadamard_rotate", "no mask"),
        status=Status.OUT_OF_BOUNDS,
    ),
}

FORWARD = {
    "Q's scale forgotten": Mistake(
        "The scores lack the scale of Q.",
        "q stands for q · q_scale: one number for the whole program.",
        **of_attention("no scale of q"),
    ),
    "K's scale forgotten": Mistake(
        "The scores lack the scale of K.",
        "k stands for k · k_scale[start // ROWS]: one number for the tile.",
        **of_attention("no scale of k"),
    ),
    "V's scale forgotten": Mistake(
        "O was made of v itself: V's scales are missing.",
        "Every tile's share of O belongs to a unit, v_scale[start // ROWS].",
        **of_attention("no scale of v"),
    ),
    "K's first scale for all blocks": Mistake(
        "Every block of keys has the scale of the first.",
        "k_scale_ptr has to move with `start`.",
        **of_attention("first scale of k"),
    ),
    "V's first scale for all blocks": Mistake(
        "Every block of V has the scale of the first.",
        "v_scale_ptr has to move with `start`.",
        **of_attention("first scale of v"),
    ),
    "the unit is not changed": Mistake(
        "All of O is in the last block's unit: what was summed before it stayed in its own.",
        "acc · unit must stay what it is when unit changes: by which factor has acc to change?",
        **of_attention("last scale of v"),
    ),
    "the change of unit upside down": Mistake(
        "acc is multiplied by new unit / old unit from block to block, and has to be divided by it: acc · "
        "unit must stay what it is.",
        "If the unit doubles, what has to become of acc?",
        **of_attention("unit upside down 128", also=("unit upside down 64",)),
    ),
    "256 left in O": Mistake(
        "O is 256 times too large: the factor of P is in the accumulator, and not in the sum it is divided "
        "by.",
        "If l_i sums the same 256 · P, the factor cancels.",
        **of_attention("256 in o"),
    ),
    "256 left in LSE": Mistake(
        "LSE is too large by 8 ln 2: l_i is 256 times the sum.",
        "log2(256) = 8 has to be taken off again.",
        **of_attention("256 in lse"),
    ),
    "LSE in base 2": Mistake(
        "LSE is a logarithm to base 2.",
        "Multiply by ln 2 at the end.",
        **of_attention("base 2"),
    ),
    "V's keys in another order than P's": Mistake(
        "The tile of V is stored in the order in which P's registers come, and P meets it in the old one: of "
        "every 16 keys, most get another key's probability.",
        "`as_stored(p)` renames P's columns, as `keys_last` did with V's.",
        **of_attention("order of keys"),
    ),
    "alpha's sign is lost": Mistake(
        "For a negative alpha the scores have the wrong sign.",
        "alpha is an argument and may be any number.",
        **of_attention("|alpha|"),
    ),
    "aligned top-left": Mistake(
        "The causal mask begins in the top-left corner: query i sees the keys up to i, not up to i + S_k − "
        "S_q.",
        "last_seen has the offset in it.",
        **of_attention("top-left"),
    ),
    "the mask is missing": Mistake(
        "Later keys are seen although causal is True.",
        "Where MASKED and CAUSAL, s is −∞ beyond last_seen.",
        **of_attention("no mask"),
    ),
}
