"""`clinic_2`: dK changes from run to run."""

from __future__ import annotations

from flashlearn.exercise import Mistake
from flashlearn.lessons.lesson_10_clinic.patient_exercises import (
    backward_patient,
    wrong_cure,
)
from flashlearn.lessons.lesson_10_clinic.patients import edited, sick
from flashlearn.outcome import Status

LOAD_DK = "    so_far = tl.load(dk_ptr + key_tile, mask=in_keys[:, None], other=0.0)\n"
ADD_DK = "tl.store(dk_ptr + key_tile, so_far + alpha * dk, mask=in_keys[:, None])"
SUM_DK = "        dk += tl.dot(tl.trans(ds.to(q.dtype)), q, input_precision=\"ieee\")\n"  # fmt: skip

MISTAKES = {
    "two programs add without atomics": Mistake(
        "The patient's mistake is still there: between one program's load and its store, the other program "
        "may have stored, and its share is lost.",
        "dV is shared by the same two programs, and never loses anything: what does its line do differently?",
        launcher=sick("clinic_2"),
        status=Status.RACE,
    ),
    "what was there is added again": Mistake(
        "The addition is now atomic, but it adds too much: the value that was read is already in memory. "
        "If the other program has added by then, its share counts twice.",
        "An atomic addition reads memory itself, and is given the share alone.",
        launcher=edited(
            "clinic_2",
            (ADD_DK, ADD_DK.replace("tl.store", "tl.atomic_add")),
        ),
        status=Status.RACE,
    ),
    "the sum is exchanged": Mistake(
        "The exchange is atomic, but not what comes before it: between the load of one program and its "
        "exchange the other may have stored, and its share is then replaced.",
        "An atomic addition reads, adds and writes memory in one step.",
        launcher=edited(
            "clinic_2",
            (ADD_DK, ADD_DK.replace("tl.store", "tl.atomic_xchg")),
        ),
        status=Status.RACE,
    ),
    "exchanged, not added": wrong_cure(
        "clinic_2",
        "Atomic, but not a sum: each program replaces what the other one left, so that dK holds the share of "
        "the program that came last.",
        "An exchange, a maximum and a sum are different atomics: here the two shares are to be added.",
        (LOAD_DK, ""),
        (ADD_DK, "tl.atomic_xchg(dk_ptr + key_tile, alpha * dk, mask=in_keys[:, None])"),
    ),
    "the larger share, not the sum": wrong_cure(
        "clinic_2",
        "Atomic, but a maximum: of the two shares dK holds the larger one, element by element, or the 0 that "
        "was there before.",
        "An exchange, a maximum and a sum are different atomics: here the two shares are to be added.",
        (LOAD_DK, ""),
        (ADD_DK, "tl.atomic_max(dk_ptr + key_tile, alpha * dk, mask=in_keys[:, None])"),
    ),
    "added after every tile": wrong_cure(
        "clinic_2",
        "dK's first tiles count again and again, as if a running sum were added to memory after every tile.",
        "Add once, after the loop.",
        (LOAD_DK, ""),
        (f"    {ADD_DK}\n", ""),
        (SUM_DK, f"{SUM_DK}        tl.atomic_add(dk_ptr + key_tile, alpha * dk, mask=in_keys[:, None])\n"),
    ),
    "one program left, with half of the work": wrong_cure(
        "clinic_2",
        "Half of the queries are missing from dK and dV, as if only one of a block's two programs were left.",
        "Both programs of a block have to add their share.",
        ("grid = (triton.cdiv(S_k, BLOCK), 2)", "grid = (triton.cdiv(S_k, BLOCK), 1)"),
    ),
    "alpha lost in the cure": wrong_cure(
        "clinic_2",
        "The race is gone, and alpha with it: dK is too large by a factor of 1/alpha.",
        "The faulty lines did two things: they multiplied by alpha, and they stored. Keep the first.",
        (LOAD_DK, ""),
        (ADD_DK, "tl.atomic_add(dk_ptr + key_tile, dk, mask=in_keys[:, None])"),
    ),
}

clinic_2 = backward_patient(
    2,
    "dK changes from run to run",
    (1, 2),
    products=4,
    atomics=True,
    mistakes=MISTAKES,
)
