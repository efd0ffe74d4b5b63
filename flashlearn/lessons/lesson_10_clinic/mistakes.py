"""The named mistakes of lesson 10: each patient as admitted, the cures that do not cure, and blind suites.

The first mistake of each patient is its disease. Its sentence says what an examination finds and its next
step which one to make next, but not which line it is: finding that is the exercise.
"""

from __future__ import annotations

from collections.abc import Callable

from torch import Tensor

from flashlearn.exercise import Mistake
from flashlearn.lessons.lesson_10_clinic.mutants import Trial, draw
from flashlearn.lessons.lesson_10_clinic.patients import sick, variant
from flashlearn.lessons.shared import reference
from flashlearn.outcome import Status

DS = "ds = p * (dp - delta_i[:, None])"


def _wrong_cure(patient: str, sentence: str, next_step: str, *edits: tuple[str, str]) -> Mistake:
    return Mistake(sentence, next_step, launcher=variant(patient, *edits))


STORE_DK = "tl.store(dk_ptr + key_tile, dk, mask"

CLINIC_1 = {
    "alpha is missing from dK": Mistake(
        "As admitted: dQ and dV are right, and dK is 1/alpha times too large, every element of it.",
        "dQ comes from the same dS. Which lines does dK have for itself, and which factor has dQ that it "
        "has not?",
        launcher=sick("clinic_1"),
    ),
    "alpha applied twice to dK": _wrong_cure(
        "clinic_1",
        "Now dK is too small by the factor alpha: it carries alpha twice.",
        "dK = alpha dSᵀ Q. Once is enough.",
        (STORE_DK, "tl.store(dk_ptr + key_tile, alpha * alpha * dk, mask"),
    ),
    "alpha put into dS": _wrong_cure(
        "clinic_1",
        "dK is right now, and dQ has caught the disease: it was right before, and now it carries alpha "
        "twice. dS is shared by both.",
        "Mend a line that belongs to dK alone.",
        (DS, "ds = alpha * p * (dp - delta_i[:, None])"),
    ),
    "alpha on dV as well": _wrong_cure(
        "clinic_1",
        "dK is right, but dV, which was right, now carries alpha as well. O = P V has no alpha of its own.",
        "Leave the store of dV as it was.",
        (STORE_DK, "tl.store(dk_ptr + key_tile, alpha * dk, mask"),
        ("tl.store(dv_ptr + key_tile, dv,", "tl.store(dv_ptr + key_tile, alpha * dv,"),
    ),
}

LOAD_DK = "    so_far = tl.load(dk_ptr + key_tile, mask=in_keys[:, None], other=0.0)\n"
ADD_DK = "tl.store(dk_ptr + key_tile, so_far + alpha * dk, mask=in_keys[:, None])"
SUM_DK = "        dk += tl.dot(tl.trans(ds.to(q.dtype)), q, input_precision=\"ieee\")\n"  # fmt: skip

CLINIC_2 = {
    "two programs add without atomics": Mistake(
        "As admitted: between the load and the store of one, the other may have stored, and its share is "
        "lost.",
        "dV is shared by the same two programs, and never loses anything: what does its line do differently?",
        launcher=sick("clinic_2"),
        status=Status.RACE,
    ),
    "what was there is added again": Mistake(
        "The addition is atomic now, and it adds too much: what was read is in memory already, and is added "
        "once more, if the other program had stored by then.",
        "An atomic addition reads by itself. Which line is no longer needed?",
        launcher=variant(
            "clinic_2",
            (ADD_DK, ADD_DK.replace("tl.store", "tl.atomic_add")),
        ),
        status=Status.RACE,
    ),
    "exchanged, not added": _wrong_cure(
        "clinic_2",
        "Atomic, but not a sum: each program replaces what the other one left, so that dK holds the share of "
        "whoever came last.",
        "An exchange, a maximum and a sum are different atomics: here the two shares are to be added.",
        (LOAD_DK, ""),
        (ADD_DK, "tl.atomic_xchg(dk_ptr + key_tile, alpha * dk, mask=in_keys[:, None])"),
    ),
    "the larger share, not the sum": _wrong_cure(
        "clinic_2",
        "Atomic, but a maximum: of the two shares dK holds the larger one, element by element, or the 0 that "
        "was there before.",
        "An exchange, a maximum and a sum are different atomics: here the two shares are to be added.",
        (LOAD_DK, ""),
        (ADD_DK, "tl.atomic_max(dk_ptr + key_tile, alpha * dk, mask=in_keys[:, None])"),
    ),
    "added after every tile": _wrong_cure(
        "clinic_2",
        "dk is a running sum. Added to memory after every tile, the first tiles count again and again; with "
        "one tile per program it would be right.",
        "Add once, after the loop.",
        (LOAD_DK, ""),
        (f"    {ADD_DK}\n", ""),
        (SUM_DK, f"{SUM_DK}        tl.atomic_add(dk_ptr + key_tile, alpha * dk, mask=in_keys[:, None])\n"),
    ),
    "one program left, with half of the work": _wrong_cure(
        "clinic_2",
        "Nobody is left to race with, and nobody does the second half: the one program of a block still "
        "scans half of the queries.",
        "Two programs are as they should be. Let both of them add.",
        ("grid = (triton.cdiv(S_k, BLOCK), 2)", "grid = (triton.cdiv(S_k, BLOCK), 1)"),
    ),
    "alpha lost in the cure": _wrong_cure(
        "clinic_2",
        "The race is gone, and alpha with it: dK is 1/alpha times too large.",
        "The sick lines did two things. Keep the other one.",
        (LOAD_DK, ""),
        (ADD_DK, "tl.atomic_add(dk_ptr + key_tile, dk, mask=in_keys[:, None])"),
    ),
}

SCAN = "for start in range(0, S_q, BLOCK):"

CLINIC_3 = {
    "several programs add the same tile": Mistake(
        "As admitted: dK and dV are four times too large, in every element and every time.",
        "A constant factor that is a number of programs: watch two programs of one block of keys. Which "
        "queries does each of them scan?",
        launcher=sick("clinic_3"),
    ),
    "the programs start apart and overlap": _wrong_cure(
        "clinic_3",
        "Each program begins at a tile of its own, but goes on through those of the others: the first tile "
        "counts once, the second twice, and from the fourth on all count four times.",
        "A program that starts at its part's tile has to skip the tiles of the other parts: what is its "
        "step?",
        (SCAN, "for start in range(part * BLOCK, S_q, BLOCK):"),
    ),
    "each program scans one tile only": _wrong_cure(
        "clinic_3",
        "Each program scans a single tile, so that everything beyond the fourth is left out. Up to S_q = 64 "
        "it is right.",
        "How many tiles are there for PARTS programs when S_q is 100?",
        (SCAN, "for start in range(part * BLOCK, min(S_q, (part + 1) * BLOCK), BLOCK):"),
    ),
    "the parts scan the same tiles": _wrong_cure(
        "clinic_3",
        "Each program goes on by PARTS tiles, but all of them begin with the first: every fourth tile counts "
        "four times, and the others are left out.",
        "The step is right. Where does program p begin?",
        (SCAN, "for start in range(0, S_q, PARTS * BLOCK):"),
    ),
    "parts counted in queries": _wrong_cure(
        "clinic_3",
        "The loop counts queries, `part` and PARTS count tiles: program p begins at query p and goes on by "
        "PARTS queries, so that its tiles overlap and most queries count many times.",
        "At which query does tile number p begin?",
        (SCAN, "for start in range(part, S_q, PARTS):"),
    ),
    "parts begin a query apart": _wrong_cure(
        "clinic_3",
        "Program p begins at query p, not at its tile, and goes on by PARTS tiles: the four programs scan "
        "nearly the same queries, and others are left out.",
        "At which query does tile number p begin?",
        (SCAN, "for start in range(part, S_q, PARTS * BLOCK):"),
    ),
    "parts that are no whole tiles": _wrong_cure(
        "clinic_3",
        "Each program has its quarter of the queries, but a whole tile reaches beyond it, and nothing in the "
        "mask ends at the quarter; what S_q // PARTS leaves over belongs to nobody.",
        "Share out tiles, not queries: tile p, p + PARTS, p + 2·PARTS, …",
        (SCAN, "for start in range(part * (S_q // PARTS), (part + 1) * (S_q // PARTS), BLOCK):"),
    ),
    "divided in dV alone": _wrong_cure(
        "clinic_3",
        "dV is right because it is divided by the number of programs, dK is still four times too large. And "
        "dividing treats the symptom: every program still does the work of all.",
        "Let each program scan only its share of the tiles.",
        ("tl.atomic_add(dv_ptr + key_tile, dv,", "tl.atomic_add(dv_ptr + key_tile, dv / PARTS,"),
    ),
    "divided in dK alone": _wrong_cure(
        "clinic_3",
        "dK is right because it is divided by the number of programs, dV is still four times too large. And "
        "dividing treats the symptom: every program still does the work of all.",
        "Let each program scan only its share of the tiles.",
        (
            "tl.atomic_add(dk_ptr + key_tile, alpha * dk,",
            "tl.atomic_add(dk_ptr + key_tile, alpha * dk / PARTS,",
        ),
    ),
}

P_4 = "p = tl.where((columns < S_k)[None, :], tl.exp(s - lse_i[:, None]), 0.0)"

CLINIC_4 = {
    "padded queries repeat the last one": Mistake(
        "As admitted: dK and dV are right where S_q is a multiple of 16, and wrong everywhere else.",
        "Dump p of the last tile of queries, and look at the rows that no query belongs to.",
        launcher=sick("clinic_4"),
    ),
    "only dS is masked": _wrong_cure(
        "clinic_4",
        "dK is right. dV still counts the last query too often: it is made of P, not of dS.",
        "Both sums use p; zero it before the first of them.",
        (P_4, "p = tl.exp(s - lse_i[:, None])"),
        (DS, "ds = tl.where((rows < S_q)[:, None], p * (dp - delta_i[:, None]), 0.0)"),
    ),
    "only dO is masked": _wrong_cure(
        "clinic_4",
        "dV is right, for P meets a dO of zeros. dK is not: with dO = 0, dS = P ∘ (0 − delta), and delta of "
        "the last query is still there.",
        "It is P that must be zero in a row without a query.",
        (P_4, "p = tl.exp(s - lse_i[:, None])"),
        (
            "do = tl.load(do_ptr + query_tile)",
            "do = tl.load(do_ptr + query_tile, mask=(rows < S_q)[:, None], other=0.0)",
        ),
    ),
    "the last query is left out": _wrong_cure(
        "clinic_4",
        "The rows without a query are gone, and with them the last query, which exists: the comparison is "
        "off by one.",
        "The last query has the number S_q − 1, so a row exists where rows < S_q.",
        (P_4, "p = tl.where((rows < S_q - 1)[:, None], tl.exp(s - lse_i[:, None]), 0.0)"),
    ),
    "one row too many": _wrong_cure(
        "clinic_4",
        "All rows without a query are gone but the first one of them, so that the last query counts twice.",
        "The last query has the number S_q − 1, so a row exists where rows < S_q.",
        (P_4, "p = tl.where((rows <= S_q)[:, None], tl.exp(s - lse_i[:, None]), 0.0)"),
    ),
    "rows compared with the number of keys": _wrong_cure(
        "clinic_4",
        "The rows are masked, but by S_k, the number of keys: it is right only where both lengths agree.",
        "A row belongs to a query. How many queries are there?",
        (P_4, "p = tl.where((rows < S_k)[:, None], tl.exp(s - lse_i[:, None]), 0.0)"),
    ),
    "keys compared with the number of queries": _wrong_cure(
        "clinic_4",
        "The mask still asks about keys, and now with the number of queries: the keys from S_q on are lost, "
        "and the rows without a query still count.",
        "Which of `rows` and `columns` numbers the queries, and along which axis of the tile does it lie?",
        (P_4, "p = tl.where((columns < S_q)[None, :], tl.exp(s - lse_i[:, None]), 0.0)"),
    ),
    "the last block is left out": _wrong_cure(
        "clinic_4",
        "The rows without a query are gone, and with them the queries of the last block that do exist.",
        "The loop was right. What do the surplus rows of its last block contribute?",
        (P_4, "p = tl.exp(s - lse_i[:, None])"),
        ("range(0, S_q, BLOCK)", "range(0, S_q // BLOCK * BLOCK, BLOCK)"),
    ),
}

SUM_L = "        l_i = l_i * rescale + tl.sum(p, axis=1)\n"
MASK_P = "        p = tl.where(seen, p, 0.0)\n"
MAX_S = "        m_new = tl.maximum(m_i, tl.max(s, axis=1))\n"

CLINIC_5 = {
    "mask applied after l is summed": Mistake(
        "As admitted: O is too small and LSE too large for the queries that see little. The last query sees "
        "every key: where S_k is a multiple of 16, it is right.",
        "O · exp(LSE) is acc · exp(m), and it is right. So what is wrong is what O is divided by.",
        launcher=sick("clinic_5"),
    ),
    "hidden scores set to 0": _wrong_cure(
        "clinic_5",
        "A hidden score of 0 is a score like any other: exp(0 − m) still goes into l.",
        "What would s have to be for exp(s − m) to be 0? Or leave s alone and zero p in time.",
        (MAX_S, f"        s = tl.where(seen, s, 0.0)\n{MAX_S}"),
    ),
    "only l is masked": _wrong_cure(
        "clinic_5",
        "LSE is right now, and O is not: the hidden keys are gone from l, but their p still meets V.",
        "l and acc need the same p, masked for both.",
        (SUM_L, "        l_i = l_i * rescale + tl.sum(tl.where(seen, p, 0.0), axis=1)\n"),
        (MASK_P, ""),
    ),
    "one key too few in l": _wrong_cure(
        "clinic_5",
        "acc is right, and l lacks a key: the one with the query's own number, which it may see.",
        "l and acc need the same p. What tells the mask of l from `seen`?",
        (
            SUM_L,
            "        own = columns[None, :] < rows[:, None] + S_k - S_q\n"
            "        l_i = l_i * rescale + tl.sum(tl.where(own, p, 0.0), axis=1)\n",
        ),
    ),
    "only the padding is masked in time": _wrong_cure(
        "clinic_5",
        "The keys that do not exist are out of l, but those that exist and are hidden from the query are "
        "still in it.",
        "`seen` knows both.",
        (SUM_L, f"        p = tl.where(in_keys[None, :], p, 0.0)\n{SUM_L}"),
    ),
}

LSE_6 = "m_i + tl.log2(l_i), mask"


def _with_constant(ln2: float) -> Callable[..., tuple[Tensor, Tensor]]:
    """(O, LSE) where LSE was converted from base 2 by this number."""

    def converted(q: Tensor, k: Tensor, v: Tensor, alpha: float) -> tuple[Tensor, Tensor]:
        o, lse = reference.attention_forward(q, k, v, alpha)
        return o, lse * reference.LOG2E * ln2

    return converted


CLINIC_6 = {
    "LSE in base 2": Mistake(
        "As admitted: O is right to the last digit, and LSE is 1.4427 times too large, everywhere.",
        "1.4427 is log2 e. In which unit do m and l count here, and in which does the backward pass read "
        "LSE?",
        launcher=sick("clinic_6"),
    ),
    "multiplied by log2 e once more": _wrong_cure(
        "clinic_6",
        "LSE is now too large by the square of log2 e, 2.08: the conversion goes the wrong way.",
        "2^(x log2 e) = e^x. From the exponent of 2 back to that of e, is it a product or a quotient?",
        (LSE_6, "(m_i + tl.log2(l_i)) * log2e, mask"),
    ),
    "only m is converted": _wrong_cure(
        "clinic_6",
        "m is in natural units now, but log2 l is not: a sum of two units.",
        "LSE is m + log l, both in the same base.",
        (LSE_6, "m_i / log2e + tl.log2(l_i), mask"),
    ),
    "only l is converted": _wrong_cure(
        "clinic_6",
        "The logarithm of l is natural now, but m still counts in powers of two: s was multiplied by log2 e "
        "before the maximum was taken.",
        "LSE is m + log l, both in the same base.",
        (LSE_6, "m_i + tl.log(l_i), mask"),
    ),
    "a constant with too few digits": Mistake(
        "The conversion is the right one, with a constant that has too few digits: LSE is off by the same "
        "small part of itself everywhere.",
        "fp32 has seven digits. `log2e` is in the kernel already, with all of them.",
        wrong=_with_constant(0.6931),
        also=tuple(_with_constant(c) for c in (0.693, 0.69315, 1 / 1.44, 1 / 1.443, 1 / 1.4427)),
    ),
}

DS_7 = "ds = p * dp"

CLINIC_7 = {
    "delta forgotten": Mistake(
        "As admitted: dQ is wrong in every row, by far more than rounding. The rows of its dS do not sum to "
        "zero.",
        "Compare line by line with the twin: s, p and dp first, then ds.",
        launcher=sick("clinic_7"),
    ),
    "delta of one tile": _wrong_cure(
        "clinic_7",
        "You subtract the mean over the keys of the tile. delta is the mean over all keys of the row; the "
        "two agree as long as a row fits into one tile.",
        "delta of the whole row was loaded before the loop.",
        (DS_7, "ds = p * (dp - tl.sum(p * dp, axis=1)[:, None])"),
    ),
    "delta subtracted after the product": _wrong_cure(
        "clinic_7",
        "delta is subtracted from P ∘ dP as it is, not weighted with P.",
        "dS = P ∘ (dP − delta): mind the parentheses.",
        (DS_7, "ds = p * dp - delta_i[:, None]"),
    ),
    "delta divided by the number of keys": _wrong_cure(
        "clinic_7",
        "delta is divided by S_k: it is a mean already, with the weights P, and not a sum.",
        "delta_i is Σ_j P_ij dP_ij, and a row of P sums to 1. Subtract it as it is.",
        (DS_7, "ds = p * (dp - delta_i[:, None] / S_k)"),
    ),
    "the plain mean of the tile": _wrong_cure(
        "clinic_7",
        "You subtract the mean of dP over the keys of the tile, all keys alike. delta is the mean over all "
        "keys of the row, each with its weight P.",
        "delta of the whole row was loaded before the loop.",
        (DS_7, "ds = p * (dp - (tl.sum(dp, axis=1) / BLOCK)[:, None])"),
    ),
    "LSE in the place of delta": _wrong_cure(
        "clinic_7",
        "LSE is subtracted from dP. It belongs to the scores and has done its part in p; what dP is compared "
        "with is its mean, delta.",
        "Two numbers per query were loaded before the loop. Which one has not been used?",
        (DS_7, "ds = p * (dp - lse_i[:, None])"),
    ),
    "delta added": _wrong_cure(
        "clinic_7",
        "delta is there, with the wrong sign: the rows of dS sum to 2 delta.",
        "dS = P ∘ (dP − delta), deviations from the mean.",
        (DS_7, "ds = p * (dp + delta_i[:, None])"),
    ),
}

ACC_8 = "acc = tl.zeros((BLOCK, D), v_ptr.dtype.element_ty)"
PV_8 = 'pv = tl.dot(p.to(v.dtype), v, input_precision="ieee")'
SUM_8 = "acc = (acc * rescale[:, None] + pv).to(acc.dtype)"

CLINIC_8 = {
    "the accumulator is in half precision": Mistake(
        "As admitted: in fp32 and bf16 all is well, in fp16 O is infinite where V is large.",
        "Watch acc over the tiles, and compare it with the largest number of fp16, 65504. O = acc / l would "
        "fit.",
        launcher=sick("clinic_8"),
    ),
    "the accumulator is in bf16": _wrong_cure(
        "clinic_8",
        "bf16 has the range, so nothing overflows any more, but only 8 bits of precision, and the sum loses "
        "what each tile adds. Now fp32 inputs suffer as well.",
        "An accumulator needs range and precision.",
        (ACC_8, "acc = tl.zeros((BLOCK, D), tl.bfloat16)"),
    ),
    "the accumulator is always in fp16": _wrong_cure(
        "clinic_8",
        "acc is in fp16 for all inputs now, also for those in fp32 and bf16, which were right before.",
        "An accumulator needs range and precision: which dtype has both?",
        (ACC_8, "acc = tl.zeros((BLOCK, D), tl.float16)"),
    ),
    "the accumulator is clamped": _wrong_cure(
        "clinic_8",
        "Clamped at 65504 there is no infinity any more, only a wrong number: O is too small where acc was "
        "cut.",
        "The number 65504 belongs to a format. Choose another one for acc.",
        (SUM_8, "acc = tl.minimum(acc * rescale[:, None] + pv, 65504.0).to(acc.dtype)"),
    ),
    "the tile's product is rounded": _wrong_cure(
        "clinic_8",
        "acc is in fp32, but each tile's product is rounded to half precision before it is added; sixteen "
        "values of 10⁴ are too many for fp16 already.",
        "tl.dot answers in fp32: leave it there.",
        (ACC_8, "acc = tl.zeros((BLOCK, D), tl.float32)"),
        (PV_8, 'pv = tl.dot(p.to(v.dtype), v, input_precision="ieee").to(v.dtype)'),
    ),
}

SUM_9 = "acc = acc + pv"

CLINIC_9 = {
    "acc is not rescaled": Mistake(
        "As admitted: LSE is right, O is not. With one tile of keys O is right as well.",
        "LSE is right, so s, m, rescale, p and l are. O = acc / l: what is left?",
        launcher=sick("clinic_9"),
    ),
    "the new product is rescaled": _wrong_cure(
        "clinic_9",
        "The new tile's product is multiplied by rescale. It is the only part that is in units of the new "
        "maximum already; the old sum is not.",
        "rescale = exp(m_old − m_new) turns the old unit into the new one.",
        (SUM_9, "acc = acc + pv * rescale[:, None]"),
    ),
    "old and new are rescaled": _wrong_cure(
        "clinic_9",
        "The factor reaches both terms. For the first tile it is exp(−inf) = 0, and the tile is lost "
        "altogether.",
        "Only the old sum changes its unit.",
        (SUM_9, "acc = (acc + pv) * rescale[:, None]"),
    ),
    "divided by rescale": _wrong_cure(
        "clinic_9",
        "The old sum is divided by the factor that it is to be multiplied with. In front of the first tile "
        "the factor is exp(−∞) = 0, and 0/0 is NaN.",
        "rescale = exp(m_old − m_new) is at most 1: when the maximum grows, the old sum counts less.",
        (SUM_9, "acc = acc / rescale[:, None] + pv"),
    ),
    "rescaled by the quotient of the sums": _wrong_cure(
        "clinic_9",
        "acc is divided by l at the end, once. Inside the loop only its unit changes, and that is rescale.",
        "l and acc are two sums over the same keys: they are treated alike.",
        (SUM_9, "acc = acc * (rescale / l_i)[:, None] + pv"),
    ),
}

LAUNCH_10 = "delta, dk, dv, alpha, S_k, S_q, D=D"

CLINIC_10 = {
    "S_q and S_k are swapped": Mistake(
        "As admitted: every square test passes, and where S_q and S_k differ the kernel leaves its tensors "
        "or forgets some queries.",
        "The message names a tensor, an index and a bound. Which length does the kernel believe this tensor "
        "to have?",
        launcher=sick("clinic_10"),
        status=Status.OUT_OF_BOUNDS,
    ),
    "the smaller of both": _wrong_cure(
        "clinic_10",
        "The smaller of the two lengths counts for both: queries are left out, or keys never written.",
        "The kernel has two bounds because there are two lengths.",
        (LAUNCH_10, "delta, dk, dv, alpha, min(S_q, S_k), min(S_q, S_k), D=D"),
    ),
    "the larger of both": Mistake(
        "The larger length for both is too much for one of them.",
        "The kernel has two bounds because there are two lengths.",
        launcher=variant("clinic_10", (LAUNCH_10, "delta, dk, dv, alpha, max(S_q, S_k), max(S_q, S_k), D=D")),
        status=Status.OUT_OF_BOUNDS,
    ),
    "the number of queries for both": Mistake(
        "The kernel is told the number of queries twice: where there are fewer keys, it reads beyond them, "
        "and where there are more, the last ones are never written.",
        "The kernel has two bounds because there are two lengths.",
        launcher=variant("clinic_10", (LAUNCH_10, "delta, dk, dv, alpha, S_q, S_q, D=D")),
        status=Status.OUT_OF_BOUNDS,
    ),
    "the number of keys for both": Mistake(
        "The kernel is told the number of keys twice: where there are fewer queries, it reads beyond them, "
        "and where there are more, the last ones are left out.",
        "The kernel has two bounds because there are two lengths.",
        launcher=variant("clinic_10", (LAUNCH_10, "delta, dk, dv, alpha, S_k, S_k, D=D")),
        status=Status.OUT_OF_BOUNDS,
    ),
    "the grid is swapped too": Mistake(
        "Now the grid counts blocks of queries, though a program owns a block of keys.",
        "The grid was right: S_k blocks of keys. Look at what the kernel is told.",
        launcher=variant(
            "clinic_10", ("grid = (triton.cdiv(S_k, BLOCK),)", "grid = (triton.cdiv(S_q, BLOCK),)")
        ),
        status=Status.OUT_OF_BOUNDS,
    ),
}

# ---------------------------------------------------------------- suites that do not see


def _large(trial: Trial) -> tuple[Trial, Trial]:
    return trial._replace(q=10 * trial.q, k=10 * trial.k), trial._replace(do=1e6 * trial.do)


def _k_by_columns(trial: Trial) -> Trial:
    return trial._replace(k=trial.k.T.contiguous().T)


def _suite(trials: Callable[[Trial], list[Trial]]) -> Callable:
    """An answer to tests_on_trial that adds these trials to the one it is given, which is square."""
    return lambda q, k, v, do, alpha: trials(Trial(q, k, v, do, alpha))


TRIALS = {
    "one ordinary test": Mistake(
        "Your suite sees what one square test of ordinary numbers sees: the loudest faults, and no others.",
        "Take the assumptions of that test one by one: its sizes, its alpha, its mask, its layout, its "
        "values.",
        launcher=_suite(lambda first: [first]),
    ),
    "every test is square": Mistake(
        "In every trial S_q = S_k. All survivors have that in common: they confuse two lengths, or two "
        "corners of the mask, or have never met a query that sees nothing.",
        "Take more queries than keys, and more keys than queries, both with a causal mask.",
        launcher=_suite(
            lambda first: [
                _k_by_columns(draw(20, 20, 24, alpha=0.4)),
                draw(40, 40, causal=True),
                *_large(first),
            ]
        ),
    ),
    "every test is a multiple of the block": Mistake(
        "Every length is a multiple of 16, and every D a power of two. What goes wrong at a ragged edge is "
        "never met.",
        "One trial with odd lengths and an odd D is enough.",
        launcher=_suite(
            lambda first: [
                _k_by_columns(draw(16, 32, alpha=0.4, causal=True)),
                draw(48, 32, causal=True),
                *_large(first),
            ]
        ),
    ),
    "every test has ordinary values": Mistake(
        "Sizes, masks and layouts are varied, the values are not: whatever overflows survives.",
        "One trial with scores around 100, one with a large dO.",
        launcher=_suite(
            lambda first: [_k_by_columns(draw(20, 40, 24, alpha=0.4, causal=True)), draw(40, 20, causal=True)]
        ),
    ),
    "a right kernel is condemned": Mistake(
        "Your suite condemns right kernels: a trial asks for more digits than fp32 has. "
        "Very large scores do (those of 10⁷ have rounding errors of about 1), and a query that sees a single "
        "key does: its dS is the difference of two equal numbers.",
        "Which trial is it? Every trial is fair that a careful kernel gets right.",
        launcher=_suite(lambda first: [first._replace(q=1000 * first.q, k=1000 * first.k)]),
    ),
}
