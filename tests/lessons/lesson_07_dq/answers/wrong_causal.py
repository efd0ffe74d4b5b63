"""Wrong answers to dq_kernel_causal; and two that look wrong and are right."""

from __future__ import annotations

from tests.corpus import edited, right, wrong
from tests.lessons.lesson_07_dq.answers.right import dq_causal_with_an_if, dq_tutorial_causal

NO_GUARD = ('m = tl.where(m == float("-inf"), 0.0, m)', "m = m + 0.0")

right("dq_kernel_causal", "no guard for an LSE of −∞, since P is set to 0 after the exponential")(
    edited(dq_tutorial_causal, NO_GUARD)
)
right("dq_kernel_causal", "the mask is applied to dS instead of P")(
    edited(
        dq_tutorial_causal,
        ("            p = tl.where(mask, p, 0.0)\n", ""),
        (
            "        ds = p * (dp - Di[:, None])\n",
            "        ds = p * (dp - Di[:, None])\n"
            "        if CAUSAL:\n            ds = tl.where(mask, ds, 0.0)\n",
        ),
        title="where on dS",
    )
)
right("dq_kernel_causal", "an if in the loop instead of an end, and D padded to 64 at least")(
    edited(dq_causal_with_an_if, ("max(16, triton.next_power_of_2(D))", "max(64, triton.next_power_of_2(D))"))
)
right("dq_kernel_causal", "tiles of 128 × 32, D padded to 32 at least")(
    edited(
        dq_tutorial_causal,
        ("max(16, triton.next_power_of_2(D))", "max(32, triton.next_power_of_2(D))"),
        ("BLOCK_M=16, BLOCK_N=64", "BLOCK_M=128, BLOCK_N=32"),
    )
)


def causal(says: str, *names: str):
    return wrong("dq_kernel_causal", says, *names)


causal("The mask is aligned top-left, as in a tutorial that knows only N_CTX.", "mask aligned top-left")(
    edited(
        dq_tutorial_causal,
        ("mask = offs_m[:, None] + (N - M) >= curr_n[None, :]", "mask = offs_m[:, None] >= curr_n[None, :]"),
    )
)
causal("Mask and loop end are both top-left.", "mask aligned top-left")(
    edited(
        dq_tutorial_causal,
        ("mask = offs_m[:, None] + (N - M) >= curr_n[None, :]", "mask = offs_m[:, None] >= curr_n[None, :]"),
        ("start_m + BLOCK_M + (N - M))", "start_m + BLOCK_M)"),
    )
)
causal("The loop ends at the top-left diagonal, though the mask is right.", "loop end without S_k − S_q")(
    edited(
        dq_tutorial_causal, ("start_m + BLOCK_M + (N - M))", "start_m + BLOCK_M)"), title="hi without N − M"
    )
)
causal(
    "The loop ends before the tiles that the diagonal crosses.", "loop ends one block early", "diagonal tiles"
)(edited(dq_tutorial_causal, ("start_m + BLOCK_M + (N - M))", "start_m + (N - M))")))
causal(
    "There is no mask inside the tiles on the diagonal.",
    "mask forgotten",
    "leak from the future",
    "diagonal tiles",
)(
    edited(
        dq_tutorial_causal,
        ("            p = tl.where(mask, p, 0.0)\n", ""),
        title="the mask is computed and never used",
    )
)
causal("A query does not see its own key.", "mask hides the diagonal")(
    edited(dq_tutorial_causal, ("(N - M) >= curr_n", "(N - M) > curr_n"))
)
causal("The mask compares the key's number within its tile.", "leak from the future")(
    edited(dq_tutorial_causal, ("(N - M) >= curr_n[None, :]", "(N - M) >= offs_n[None, :]"))
)
causal("delta is read for the first block's rows in every program.", "delta of other rows")(
    edited(
        dq_tutorial_causal,
        (
            "Delta + hz * M + offs_m, mask=offs_m < M",
            "Delta + hz * M + tl.arange(0, BLOCK_M), mask=tl.arange(0, BLOCK_M) < M",
        ),
        title="delta of the first block's rows",
    )
)
causal(
    "Two mistakes: top-left alignment, and alpha is missing from dQ.",
    "mask aligned top-left + alpha is missing from dQ",
)(
    edited(
        dq_tutorial_causal,
        ("mask = offs_m[:, None] + (N - M) >= curr_n[None, :]", "mask = offs_m[:, None] >= curr_n[None, :]"),
        ("    dq *= sm_scale\n", ""),
    )
)
causal(
    "Two mistakes: the mask hides the diagonal, and delta is omitted.",
    "mask hides the diagonal + delta omitted",
)(
    edited(
        dq_tutorial_causal,
        ("(N - M) >= curr_n", "(N - M) > curr_n"),
        ("ds = p * (dp - Di[:, None])", "ds = p * dp"),
    )
)
causal("V's pointer is not advanced.", "V's pointer is not advanced")(
    edited(dq_tutorial_causal, ("        vT_ptrs += BLOCK_N * s_vn\n", ""), title="vT_ptrs stays where it is")
)
causal("V is read without a mask beyond S_k.", "out_of_bounds")(
    edited(dq_tutorial_causal, ("vT = tl.load(vT_ptrs, mask=kmask, other=0.0)", "vT = tl.load(vT_ptrs)"))
)
causal(
    "Two mistakes: alpha is squared, and LSE is read as base 2.", "alpha applied twice + LSE read as base 2"
)(
    edited(
        dq_tutorial_causal,
        ("dq *= sm_scale", "dq *= sm_scale * sm_scale"),
        ("mask=offs_m < M, other=0.0) * RLN2", "mask=offs_m < M, other=0.0)"),
    )
)
causal("The mask is one key too generous.", "mask shows one key too many", "one edit")(
    edited(dq_causal_with_an_if, ("i[:, None] + Sk - Sq)", "i[:, None] + Sk - Sq + 1)"))
)
causal("The diagonal is shifted by S_q − S_k, the wrong way.", "S_k − S_q with the wrong sign")(
    edited(dq_causal_with_an_if, ("i[:, None] + Sk - Sq)", "i[:, None] + Sq - Sk)"))
)
causal("The tiles that the diagonal crosses are left out.", "loop ends one block early", "diagonal tiles")(
    edited(dq_causal_with_an_if, ("(tl.program_id(0) + 1) * B + Sk - Sq", "tl.program_id(0) * B + Sk - Sq"))
)
causal(
    "A query that sees nothing: −∞ + ∞ in the exponent.",
    "no guard for queries that see nothing",
    "inf minus inf",
)(
    edited(
        dq_causal_with_an_if,
        ('    L = tl.where(L == float("-inf"), float("inf"), L)\n', ""),
        title="no guard",
    )
)
causal("delta comes with the wrong sign.", "delta added")(
    edited(dq_causal_with_an_if, ("- p * delta[:, None]", "+ p * delta[:, None]"))
)
causal("The scan backwards stops before the first tile.", "first tile missing")(
    edited(dq_causal_with_an_if, ("for back in range(tiles)", "for back in range(tiles - 1)"))
)
