"""Lesson 10: cures of the clinic's patients, right and wrong, as learners try them."""

from __future__ import annotations

from flashlearn.lessons.lesson_10_clinic.patients import sick_source
from tests.corpus import edited, right, wrong


def cure(patient: int, *changes: tuple[str, str], title: str):
    """The patient as admitted, with these lines changed."""
    return edited("from torch import Tensor\n\n\n" + sick_source(f"clinic_{patient}"), *changes, title=title)


DS = "ds = p * (dp - delta_i[:, None])"
SCAN = "for start in range(0, S_q, BLOCK):"
SO_FAR = "    so_far = tl.load(dk_ptr + key_tile, mask=in_keys[:, None], other=0.0)\n"
ADDED = "    tl.store(dk_ptr + key_tile, so_far + alpha * dk, mask=in_keys[:, None])\n"
STORE_DK = "tl.store(dk_ptr + key_tile, dk, mask=in_keys[:, None])"
SUM_DK = 'dk += tl.dot(tl.trans(ds.to(q.dtype)), q, input_precision="ieee")'
SUM_L = "l_i = l_i * rescale + tl.sum(p, axis=1)"
P_4 = "p = tl.where((columns < S_k)[None, :], tl.exp(s - lse_i[:, None]), 0.0)"
LSE_6 = "m_i + tl.log2(l_i), mask"

# ---------------------------------------------------------------- cures that cure

right("clinic_1", "alpha multiplied on in every step")(
    cure(
        1,
        (SUM_DK, 'dk += alpha * tl.dot(tl.trans(ds.to(q.dtype)), q, input_precision="ieee")'),
        title="alpha in the sum",
    )
)
right("clinic_3", "contiguous shares of the queries instead of every fourth tile")(
    cure(
        3,
        (f"    {SCAN}", f"    share = tl.cdiv(S_q, PARTS * BLOCK) * BLOCK\n    {SCAN}"),
        ("range(0, S_q, BLOCK)", "range(part * share, tl.minimum(S_q, (part + 1) * share), BLOCK)"),
        title="shares in one piece",
    )
)
right("clinic_4", "LSE of +∞ for rows that do not exist")(
    cure(
        4,
        (P_4, 'p = tl.exp(s - tl.where(rows < S_q, lse_i, float("inf"))[:, None])'),
        title="lse of padded rows is inf",
    )
)
right("clinic_5", "p masked where it is summed, and once more where it is used")(
    cure(
        5, (SUM_L, "l_i = l_i * rescale + tl.sum(tl.where(seen, p, 0.0), axis=1)"), title="where in both sums"
    )
)
right("clinic_6", "both summands converted on their own")(
    cure(6, (LSE_6, "m_i / log2e + tl.log(l_i), mask"), title="natural log, m divided")
)
right("clinic_7", "delta weighted on its own")(
    cure(7, ("ds = p * dp\n", "ds = p * dp - p * delta_i[:, None]\n"), title="P dP − P delta")
)
right("clinic_9", "acc rescaled in place before the product is added")(
    cure(9, ("acc = acc + pv", "acc *= rescale[:, None]\n        acc += pv"), title="two steps")
)
right("clinic_10", "the kernel's parameters are exchanged instead of the launch's")(
    cure(10, ("alpha, S_q, S_k,\n", "alpha, S_k, S_q,\n"), title="parameters exchanged")
)

# ---------------------------------------------------------------- cures that do not

wrong("clinic_1", "Nothing was changed that matters: dK still lacks alpha.", "alpha is missing from dK")(
    cure(1, (STORE_DK, "tl.store(dk_ptr + key_tile, dk * 1.0, mask=in_keys[:, None])"), title="times one")
)
wrong("clinic_1", "dK is divided by alpha, where it must be multiplied.", "constant factor")(
    cure(
        1,
        (STORE_DK, "tl.store(dk_ptr + key_tile, dk / alpha, mask=in_keys[:, None])"),
        title="divided by alpha",
    )
)
wrong(
    "clinic_1",
    "Q is scaled when it is loaded: dK is right, and S carries alpha twice, so that P is wrong.",
    "alpha twice in S",
)(
    cure(
        1,
        (
            "q = tl.load(q_ptr + query_tile, mask=in_queries[:, None], other=0.0)",
            "q = (alpha * tl.load(q_ptr + query_tile, mask=in_queries[:, None], other=0.0)).to(k.dtype)",
        ),
        title="q scaled at the load",
    )
)
wrong("clinic_2", "An atomic maximum is not a sum.", "the larger share, not the sum")(
    cure(
        2,
        (SO_FAR, ""),
        (ADDED, "    tl.atomic_max(dk_ptr + key_tile, alpha * dk, mask=in_keys[:, None])\n"),
        title="atomic_max",
    )
)
wrong(
    "clinic_2",
    "What was there is loaded and added once more: the first share counts twice.",
    "what was there is added again",
)(
    cure(
        2,
        (ADDED, "    tl.atomic_add(dk_ptr + key_tile, so_far + alpha * dk, mask=in_keys[:, None])\n"),
        title="atomic_add of so_far + dk",
    )
)
wrong(
    "clinic_2",
    "Both halves were given the whole: each share is added twice.",
    "written twice",
    "constant factor",
)(
    cure(
        2,
        (SO_FAR, ""),
        (ADDED, "    tl.atomic_add(dk_ptr + key_tile, alpha * dk, mask=in_keys[:, None])\n"),
        ("first = tl.program_id(1) * half", "first = 0 * half"),
        ("end = tl.minimum(S_q, first + half)", "end = S_q"),
        title="both scan everything",
    )
)
wrong("clinic_3", "Only dV is divided by the number of programs.", "divided in dV alone", "constant factor")(
    cure(
        3,
        ("tl.atomic_add(dv_ptr + key_tile, dv,", "tl.atomic_add(dv_ptr + key_tile, dv / PARTS,"),
        title="dv / PARTS",
    )
)
wrong(
    "clinic_3",
    "Every part scans the same tiles, every fourth one: the others are never seen.",
    "the parts scan the same tiles",
    "never read",
)(cure(3, (SCAN, "for start in range(0, S_q, PARTS * BLOCK):"), title="the step without the start"))
wrong(
    "clinic_4",
    "The last block is cut short by one row too many: the comparison is off by one.",
    "the last query is left out",
    "last tile missing",
)(
    cure(
        4,
        (P_4, "p = tl.where((rows < S_q - 1)[:, None], tl.exp(s - lse_i[:, None]), 0.0)"),
        title="rows < S_q − 1",
    )
)
wrong(
    "clinic_5",
    "The sum is masked after it was added up: l is masked by its own query.",
    "mask applied after l is summed",
)(
    cure(
        5,
        (SUM_L, "l_i = tl.where(rows < S_q, l_i * rescale + tl.sum(p, axis=1), 0.0)"),
        title="l masked by the rows",
    )
)
wrong(
    "clinic_5",
    "p is masked before acc and l, and l by one key too many.",
    "one key too few in l",
    "rows do not sum to 1",
)(
    cure(
        5,
        (
            SUM_L,
            "own = columns[None, :] < rows[:, None] + S_k - S_q\n"
            "        l_i = l_i * rescale + tl.sum(tl.where(own, p, 0.0), axis=1)",
        ),
        title="l without the diagonal",
    )
)
wrong("clinic_6", "log2 l is converted, m is not.", "only l is converted")(
    cure(6, (LSE_6, "m_i + tl.log2(l_i) / log2e, mask"), title="log2(l) / log2e alone")
)
wrong(
    "clinic_7",
    "delta is divided by the number of keys, as if it were a sum and not a mean.",
    "delta divided by the number of keys",
)(cure(7, ("ds = p * dp\n", "ds = p * (dp - delta_i[:, None] / S_k)\n"), title="delta / S_k"))
wrong(
    "clinic_7", "The mean of dP over the tile's keys is subtracted, unweighted.", "the plain mean of the tile"
)(
    cure(
        7,
        ("ds = p * dp\n", "ds = p * (dp - (tl.sum(dp, axis=1) / BLOCK)[:, None])\n"),
        title="the mean of the tile's dP",
    )
)
wrong(
    "clinic_8",
    "acc is wide, and rounded again in every step.",
    "the accumulator is in half precision",
    "precision",
    "overflow",
)(
    cure(
        8,
        ("acc = tl.zeros((BLOCK, D), v_ptr.dtype.element_ty)", "acc = tl.zeros((BLOCK, D), tl.float32)"),
        (".to(acc.dtype)", ".to(v.dtype).to(tl.float32)"),
        title="rounded in every step",
    )
)
wrong(
    "clinic_9",
    "acc is divided by the factor instead of multiplied.",
    "divided by rescale",
    "zero over zero",
)(cure(9, ("acc = acc + pv", "acc = acc / rescale[:, None] + pv"), title="divided by rescale"))
wrong(
    "clinic_9",
    "acc is rescaled by the factor of the next step: after m_i was updated it is 1.",
    "acc is not rescaled",
)(cure(9, ("acc = acc + pv", "acc = acc * tl.exp(m_new - m_new)[:, None] + pv"), title="a factor of one"))
wrong(
    "clinic_10",
    "S_q for both: with more keys than queries the last keys are never written.",
    "never written",
    "the smaller of both",
    "the number of queries for both",
    "out_of_bounds",
)(cure(10, ("alpha, S_k, S_q, D=D", "alpha, S_q, S_q, D=D"), title="S_q for both"))
