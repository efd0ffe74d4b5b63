"""`clinic_5`: early queries come out too small."""

from __future__ import annotations

from flashlearn.exercise import Mistake
from flashlearn.lessons.lesson_10_clinic import catalogue
from flashlearn.lessons.lesson_10_clinic.patient_exercises import (
    GENTLE,
    LOW_IN_WHOLE_TILES,
    SHARED,
    causal_forward,
    causal_forward_rounded,
    forward_patient,
    products_work,
    sdpa_causal,
    wrong_cure,
)
from flashlearn.lessons.lesson_10_clinic.patients import sick
from flashlearn.lessons.shared import quantities, readouts

SUM_L = "        l_i = l_i * rescale + tl.sum(p, axis=1)\n"
MASK_P = "        p = tl.where(seen, p, 0.0)\n"
MAX_S = "        m_new = tl.maximum(m_i, tl.max(s, axis=1))\n"

MISTAKES = {
    "mask applied after l is summed": Mistake(
        "The patient's mistake is still there: O is too small and LSE too large for the queries that see "
        "little.",
        "O = acc / l: which keys are in acc, and which are in l?",
        launcher=sick("clinic_5"),
    ),
    "hidden scores set to 0": wrong_cure(
        "clinic_5",
        "A hidden score of 0 is a score like any other: exp(0 − m) still goes into l.",
        "For which s is exp(s − m) 0?",
        (MAX_S, f"        s = tl.where(seen, s, 0.0)\n{MAX_S}"),
    ),
    "hidden scores set to 0 after the maximum": wrong_cure(
        "clinic_5",
        "A hidden score set to 0 after the maximum is found is still a score: exp(0 − m) goes into l.",
        "For which s is exp(s − m) 0?",
        ("tl.exp(s - m_new[:, None])", "tl.exp(tl.where(seen, s, 0.0) - m_new[:, None])"),
    ),
    "only l is masked": wrong_cure(
        "clinic_5",
        "The hidden keys are gone from l, but their P is still multiplied by V.",
        "Both sums need the same P, masked for both.",
        (SUM_L, "        l_i = l_i * rescale + tl.sum(tl.where(seen, p, 0.0), axis=1)\n"),
        (MASK_P, ""),
    ),
    "one key too few in l": wrong_cure(
        "clinic_5",
        "l lacks a key that the numerator of O has: the last one that the query may see.",
        "Both sums need the same P.",
        (
            SUM_L,
            "        own = columns[None, :] < rows[:, None] + S_k - S_q\n"
            "        l_i = l_i * rescale + tl.sum(tl.where(own, p, 0.0), axis=1)\n",
        ),
    ),
    "l is not rescaled": wrong_cure(
        "clinic_5",
        "l keeps the exponentials of the old maximum when a later tile raises it: the numerator of O is "
        "rescaled, and l is not.",
        "l and the numerator of O are sums of the same exponentials: a new maximum changes both.",
        (SUM_L, f"{MASK_P}        l_i = l_i + tl.sum(p, axis=1)\n"),
    ),
    "m starts at 0": wrong_cure(
        "clinic_5",
        "The rows whose scores all lie far below 0 are wrong: the running maximum starts at 0 and cannot "
        "fall below it, and exp(s − 0) vanishes there.",
        "Which number is below every score?",
        ('m_i = tl.full((BLOCK,), -float("inf"), tl.float32)', "m_i = tl.full((BLOCK,), 0.0, tl.float32)"),
        (SUM_L, f"{MASK_P}{SUM_L}"),
    ),
    "only the padding is masked in time": wrong_cure(
        "clinic_5",
        "The keys that do not exist are out of l, but those that exist and are hidden from the query are "
        "still in it.",
        "Which condition excludes both kinds of keys?",
        (SUM_L, f"        p = tl.where(in_keys[None, :], p, 0.0)\n{SUM_L}"),
    ),
}

clinic_5 = forward_patient(
    5,
    "Early queries come out too small",
    reference=causal_forward,
    twins=(causal_forward_rounded,),
    peer=sdpa_causal,
    peer_name="sdpa_causal",
    work=products_work(1, "q"),
    quantities=quantities.causal_forward,
    weights=readouts.readout(readouts.forward_weights, causal=True),
    catalogue=catalogue.forward(causal=True),
    cases=(*SHARED, *GENTLE, *LOW_IN_WHOLE_TILES),
    mistakes=MISTAKES,
)
