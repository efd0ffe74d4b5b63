"""`clinic_4`: wrong unless S_q is a multiple of 16."""

from __future__ import annotations

from flashlearn.exercise import Mistake
from flashlearn.lessons.lesson_10_clinic.patient_exercises import (
    CASES,
    LONG,
    backward_patient,
    wrong_cure,
)
from flashlearn.lessons.lesson_10_clinic.patients import sick

DS = "ds = p * (dp - delta_i[:, None])"
P_4 = "p = tl.where((columns < S_k)[None, :], tl.exp(s - lse_i[:, None]), 0.0)"

MISTAKES = {
    "padded queries repeat the last one": Mistake(
        "The patient's mistake is still there: where S_q is not a multiple of 16, numbers are wrong.",
        "Dump P of the last tile of queries, and look at the rows that no query belongs to.",
        launcher=sick("clinic_4"),
    ),
    "only dS is masked": wrong_cure(
        "clinic_4",
        "dV still counts the last query too often: it is made of P, not of dS.",
        "P must be zero in a row that belongs to no query.",
        (P_4, "p = tl.exp(s - lse_i[:, None])"),
        (DS, "ds = tl.where((rows < S_q)[:, None], p * (dp - delta_i[:, None]), 0.0)"),
    ),
    "only dO is masked": wrong_cure(
        "clinic_4",
        "dK still counts the last query too often: with dO = 0, dS = P ∘ (0 − delta), and delta of the "
        "last query is still there.",
        "P must be zero in a row that belongs to no query.",
        (P_4, "p = tl.exp(s - lse_i[:, None])"),
        (
            "do = tl.load(do_ptr + query_tile)",
            "do = tl.load(do_ptr + query_tile, mask=(rows < S_q)[:, None], other=0.0)",
        ),
    ),
    "only Q is masked": wrong_cure(
        "clinic_4",
        "dV still has a share of the rows without a query: Q is 0 there, so that P = exp(0 − LSE), and it "
        "meets the dO of the last query.",
        "P must be zero in a row that belongs to no query.",
        (P_4, "p = tl.exp(s - lse_i[:, None])"),
        (
            "q = tl.load(q_ptr + query_tile)",
            "q = tl.load(q_ptr + query_tile, mask=(rows < S_q)[:, None], other=0.0)",
        ),
    ),
    "LSE is 0 in rows without a query": wrong_cure(
        "clinic_4",
        "In the rows without a query LSE is 0, and Q and dO are still those of the last query: P is exp(S) "
        "there, which is no probability.",
        "Which LSE makes exp(s − LSE) zero, whatever s is?",
        (P_4, "p = tl.exp(s - lse_i[:, None])"),
        ("lse_i = tl.load(lse_ptr + safe)", "lse_i = tl.load(lse_ptr + rows, mask=rows < S_q, other=0.0)"),
    ),
    "the last query is left out": wrong_cure(
        "clinic_4",
        "The rows without a query are gone, and with them the last query, which exists.",
        "The last query has the number S_q − 1.",
        (P_4, "p = tl.where((rows < S_q - 1)[:, None], tl.exp(s - lse_i[:, None]), 0.0)"),
    ),
    "one row too many": wrong_cure(
        "clinic_4",
        "Of the rows without a query the first is still there, so that the last query counts twice.",
        "The last query has the number S_q − 1.",
        (P_4, "p = tl.where((rows <= S_q)[:, None], tl.exp(s - lse_i[:, None]), 0.0)"),
    ),
    "rows compared with the number of keys": wrong_cure(
        "clinic_4",
        "The rows are masked, but by S_k, the number of keys. The two agree only where both lengths do.",
        "A row belongs to a query. How many queries are there?",
        (P_4, "p = tl.where((rows < S_k)[:, None], tl.exp(s - lse_i[:, None]), 0.0)"),
    ),
    "keys compared with the number of queries": wrong_cure(
        "clinic_4",
        "The keys from S_q on are lost, and the rows without a query still count: keys are compared with "
        "the number of queries.",
        "Along which axis of the tile do the queries lie?",
        (P_4, "p = tl.where((columns < S_q)[None, :], tl.exp(s - lse_i[:, None]), 0.0)"),
    ),
    "the last block is left out": wrong_cure(
        "clinic_4",
        "The rows without a query are gone, and with them the queries of the last block that do exist.",
        "In the last block, only the rows from S_q on must not count.",
        (P_4, "p = tl.exp(s - lse_i[:, None])"),
        ("range(0, S_q, BLOCK)", "range(0, S_q // BLOCK * BLOCK, BLOCK)"),
    ),
}

clinic_4 = backward_patient(
    4,
    "Wrong unless S_q is a multiple of 16",
    (1, 2),
    products=4,
    cases=(*CASES, *LONG),
    mistakes=MISTAKES,
)
