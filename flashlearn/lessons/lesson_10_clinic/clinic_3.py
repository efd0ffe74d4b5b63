"""`clinic_3`: dK and dV are four times too large."""

from __future__ import annotations

from flashlearn.exercise import Earlier, Mistake
from flashlearn.lessons.lesson_10_clinic.patient_exercises import (
    CASES,
    LONG,
    backward_inputs,
    backward_patient,
    wrong_cure,
)
from flashlearn.lessons.lesson_10_clinic.patients import sick, too_much_changed
from flashlearn.running.answer import Answer
from flashlearn.running.run_modes import Observed

SCAN = "for start in range(0, S_q, BLOCK):"

MISTAKES = {
    "several programs add the same tile": Mistake(
        "The patient's mistake is still there: dK and dV are four times too large, in every element and "
        "every time.",
        "Which queries does each program of one block of keys scan?",
        launcher=sick("clinic_3"),
    ),
    "the programs start apart and overlap": wrong_cure(
        "clinic_3",
        "Each program begins at a tile of its own, but goes on through those of the others: the first tile "
        "counts once, the second twice, and from the fourth on all count four times.",
        "How many tiles later does a program's next tile come, if those between belong to the other parts?",
        (SCAN, "for start in range(part * BLOCK, S_q, BLOCK):"),
    ),
    "each program scans one tile only": wrong_cure(
        "clinic_3",
        "Each program scans a single tile, so that everything beyond the fourth is left out, from query 64 "
        "on.",
        "How many tiles are there for PARTS programs when S_q is 100?",
        (SCAN, "for start in range(part * BLOCK, min(S_q, (part + 1) * BLOCK), BLOCK):"),
    ),
    "the parts scan the same tiles": wrong_cure(
        "clinic_3",
        "Each program goes on by PARTS tiles, but all of them begin with the first: every fourth tile counts "
        "four times, and the others are left out.",
        "With which tile does program p begin?",
        (SCAN, "for start in range(0, S_q, PARTS * BLOCK):"),
    ),
    "parts counted in queries": wrong_cure(
        "clinic_3",
        "Program p begins at query p and goes on by PARTS queries, as if queries were tiles, so that its "
        "tiles overlap and most queries count many times.",
        "At which query does tile number p begin?",
        (SCAN, "for start in range(part, S_q, PARTS):"),
    ),
    "parts begin a query apart": wrong_cure(
        "clinic_3",
        "Program p begins at query p, not at its tile, and goes on by PARTS tiles: the four programs scan "
        "nearly the same queries, and others are left out.",
        "At which query does tile number p begin?",
        (SCAN, "for start in range(part, S_q, PARTS * BLOCK):"),
    ),
    "parts that are no whole tiles": wrong_cure(
        "clinic_3",
        "Each program has a quarter of the queries, which is not a whole number of tiles: its last tile "
        "reaches into the next quarter, and the queries there count more than once.",
        "Only whole tiles can be shared out.",
        (
            SCAN,
            "for start in range(part * tl.cdiv(S_q, PARTS), (part + 1) * tl.cdiv(S_q, PARTS), BLOCK):",
        ),
    ),
    "quarters rounded down": wrong_cure(
        "clinic_3",
        "Each program has a quarter of the queries, rounded down, which is not a whole number of tiles: its "
        "last tile reaches into the next quarter, and the queries there count more than once; the queries "
        "that are left where S_q is not a multiple of 4 may not count at all.",
        "Only whole tiles can be shared out.",
        (SCAN, "for start in range(part * (S_q // PARTS), (part + 1) * (S_q // PARTS), BLOCK):"),
    ),
    "divided in dV alone": wrong_cure(
        "clinic_3",
        "dK is still four times too large, and dV is not: as if dV were divided by the number of programs. "
        "Dividing treats the symptom: every program would still do the work of all.",
        "Let each program scan only its share of the tiles.",
        ("tl.atomic_add(dv_ptr + key_tile, dv,", "tl.atomic_add(dv_ptr + key_tile, dv / PARTS,"),
    ),
    "divided in dK alone": wrong_cure(
        "clinic_3",
        "dV is still four times too large, and dK is not: as if dK were divided by the number of programs. "
        "Dividing treats the symptom: every program would still do the work of all.",
        "Let each program scan only its share of the tiles.",
        (
            "tl.atomic_add(dk_ptr + key_tile, alpha * dk,",
            "tl.atomic_add(dk_ptr + key_tile, alpha * dk / PARTS,",
        ),
    ),
}


def shares_the_work(answer: Answer, earlier: Earlier) -> str:
    """Patient 3's review: a cure, not a rewriting, and no program that does the work of all."""
    complaint = too_much_changed("clinic_3")(answer, earlier)
    if complaint:
        return complaint
    case = CASES[1]
    inputs = backward_inputs(case, case.generator())
    done = answer.run(inputs, Observed()).completed().observation.operations.get("dot", 0)
    blocks = -(-case.sizes["S_q"] // 16) * -(-case.sizes["S_k"] // 16)
    if done < 2 * blocks * 4 * 2 * 16 * 16 * case.sizes["D"]:
        return ""
    return (
        "The outputs are right now, but each of the programs that share a block still computes the whole "
        "sum. That treats the symptom: let each of them scan only its share of the tiles."
    )


clinic_3 = backward_patient(
    3,
    "dK and dV are four times too large",
    (1, 2),
    products=4,
    atomics=True,
    cases=(*CASES, *LONG),
    mistakes=MISTAKES,
    review=shares_the_work,
)
