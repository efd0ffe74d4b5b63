"""Wrong answers to dkv_kernel_causal; and one that looks wrong and is right."""

from __future__ import annotations

from tests.corpus import edited, right, wrong
from tests.lessons.lesson_08_dk_dv.answers.right import (
    dkdv_tutorial_causal,
    dkv_causal_backwards,
    dkv_causal_pairs,
)

START = "start_m = tl.maximum(0, start_n - (N_KV - N_Q)) // BLOCK_M1 * BLOCK_M1"
MASK = "keep = keep & (offs_m[None, :] + (N_KV - N_Q) >= offs_n[:, None])"

right(
    "dkv_kernel_causal", "tiles that begin at the first query that sees a key, not at a multiple of the block"
)(edited(dkdv_tutorial_causal, (START, "start_m = tl.maximum(0, start_n - (N_KV - N_Q))")))
right("dkv_kernel_causal", "128 × 16 tiles, D padded to 64 at least")(
    edited(
        dkdv_tutorial_causal,
        ("max(16, triton.next_power_of_2(HEAD_DIM))", "max(64, triton.next_power_of_2(HEAD_DIM))"),
        ("BLOCK_M1=32, BLOCK_N1=16", "BLOCK_M1=16, BLOCK_N1=128"),
    )
)


def causal(says: str, *names: str):
    return wrong("dkv_kernel_causal", says, *names)


# ---------------------------------------------------------------- the tutorial's kernel

causal("Mask and loop start are those of square matrices, as in the tutorial.", "mask aligned top-left")(
    edited(
        dkdv_tutorial_causal,
        (START, "start_m = start_n // BLOCK_M1 * BLOCK_M1"),
        (MASK, "keep = keep & (offs_m[None, :] >= offs_n[:, None])"),
        title="the tutorial's start and mask",
    )
)
causal("The mask is aligned top-left, the loop start is right.", "mask aligned top-left")(
    edited(dkdv_tutorial_causal, (MASK, "keep = keep & (offs_m[None, :] >= offs_n[:, None])"))
)
causal("The loop starts at the program's own block, as if S_q were S_k.", "loop start without S_k − S_q")(
    edited(dkdv_tutorial_causal, (START, "start_m = start_n // BLOCK_M1 * BLOCK_M1"))
)
causal("The loop starts one tile after the first that sees the keys.", "loop starts one block late")(
    edited(dkdv_tutorial_causal, (START, f"{START} + BLOCK_M1"), title="start_m + BLOCK_M1")
)
causal(
    "The start is rounded up to a whole tile instead of down.",
    "the first block that sees the keys is left out",
)(
    edited(
        dkdv_tutorial_causal,
        (START, "start_m = tl.cdiv(tl.maximum(0, start_n - (N_KV - N_Q)), BLOCK_M1) * BLOCK_M1"),
    )
)
causal(
    "The steps are counted from the block's own number, whatever the start: the last tiles are left out.",
    "last tile missing",
)(
    edited(
        dkdv_tutorial_causal,
        ("num_steps = tl.cdiv(N_Q - start_m, BLOCK_M1)", "num_steps = tl.cdiv(N_Q - start_n, BLOCK_M1)"),
    )
)
causal("There is no mask at all.", "mask forgotten", "leak from the future", "diagonal tiles")(
    edited(
        dkdv_tutorial_causal, (f"            {MASK}\n", "            keep = keep & True\n"), title="no mask"
    )
)
causal("A key is not seen by its own query.", "mask hides the diagonal")(
    edited(dkdv_tutorial_causal, ("(N_KV - N_Q) >= offs_n", "(N_KV - N_Q) > offs_n"))
)
causal(
    "The mask is set before the exponential, and a row that sees nothing has LSE = −∞: ∞ − ∞.",
    "no guard for queries that see nothing",
    "inf minus inf",
)(
    edited(
        dkdv_tutorial_causal,
        (
            "pT = tl.math.exp2(qkT * (sm_scale * LOG2E) - (m * LOG2E)[None, :])",
            "scores = qkT * (sm_scale * LOG2E)",
        ),
        (
            "pT = tl.where(keep, pT, 0.0)",
            'pT = tl.math.exp2(tl.where(keep, scores, float("-inf")) - (m * LOG2E)[None, :])',
        ),
        title="−inf into scores, no guard",
    )
)
causal(
    "dV is summed from the P that was not masked; dK is right.",
    "mask forgotten",
    "leak from the future",
)(
    edited(
        dkdv_tutorial_causal,
        (
            "        pT = tl.where(keep, pT, 0.0)\n",
            "        pT_all = tl.where(mmask[None, :], pT, 0.0)\n        pT = tl.where(keep, pT, 0.0)\n",
        ),
        ("        ppT = pT\n", "        ppT = pT_all\n"),
        title="dv of the unmasked P",
    )
)
causal(
    "Two mistakes: the mask hides the diagonal, and LSE is read as base 2.",
    "mask hides the diagonal + LSE read as base 2",
)(
    edited(
        dkdv_tutorial_causal,
        ("(N_KV - N_Q) >= offs_n", "(N_KV - N_Q) > offs_n"),
        ("(m * LOG2E)[None, :]", "m[None, :]"),
    )
)
causal(
    "Two mistakes: the loop starts at the top-left diagonal, and delta is omitted.",
    "loop start without S_k − S_q + delta omitted",
)(
    edited(
        dkdv_tutorial_causal,
        (START, "start_m = start_n // BLOCK_M1 * BLOCK_M1"),
        ("dsT = pT * (dpT - Di[None, :])", "dsT = pT * dpT"),
    )
)
causal(
    "Two mistakes: top-left alignment, and dK and dV come back exchanged.",
    "mask aligned top-left + outputs exchanged",
    "mask aligned top-left + dK and dV exchanged",
)(
    edited(
        dkdv_tutorial_causal,
        (MASK, "keep = keep & (offs_m[None, :] >= offs_n[:, None])"),
        ("    return dk, dv\n", "    return dv, dk\n"),
    )
)
causal("dS goes through fp16 whatever the inputs are.", "precision", "dS cast to fp16", "one edit")(
    edited(dkdv_tutorial_causal, ("dsT = dsT.to(qT.dtype)", "dsT = dsT.to(tl.float16).to(qT.dtype)"))
)

# ---------------------------------------------------------------- backwards, and by pairs

causal("The diagonal is shifted the wrong way.", "S_k − S_q with the wrong sign")(
    edited(
        dkv_causal_backwards,
        ("i[:, None] >= j[None, :] - (S_k - S_q)", "i[:, None] >= j[None, :] + (S_k - S_q)"),
    )
)
causal(
    "The scan ends before the tile in which the first query that sees a key lies inside.",
    "the first block that sees the keys is left out",
    "diagonal tiles",
)(edited(dkv_causal_backwards, ("while i0 + BQ > first and", "while i0 >= first and")))
causal("The rows are clamped: padded queries are the last one again.", "padded queries repeat the last one")(
    edited(
        dkv_causal_backwards, ("i = i0 + tl.arange(0, BQ)", "i = tl.minimum(i0 + tl.arange(0, BQ), S_q - 1)")
    )
)
causal("The mask is one key too generous.", "mask shows one key too many", "one edit")(
    edited(
        dkv_causal_backwards,
        ("i[:, None] >= j[None, :] - (S_k - S_q)", "i[:, None] >= j[None, :] - (S_k - S_q) - 1"),
    )
)
causal("alpha is nowhere but in S.", "alpha is missing from dK")(
    edited(dkv_causal_backwards, ("- delta[:, None]) * alpha", "- delta[:, None])"))
)
causal(
    "A pair of tiles is skipped unless the block's first query sees its first key.",
    "the first block that sees the keys is left out",
)(edited(dkv_causal_pairs, ("j0 <= i0 + BM - 1 + N - M", "j0 <= i0 + N - M")))
causal(
    "Two mistakes: top-left alignment, and alpha is missing from dK.",
    "mask aligned top-left + alpha is missing from dK",
)(
    edited(
        dkv_causal_pairs,
        ("(j[None, :] - i[:, None] <= N - M)", "(j[None, :] <= i[:, None])"),
        ("a * tl.dot(tl.trans(ds), q", "tl.dot(tl.trans(ds), q"),
    )
)
causal("dK and dV are added to what torch.empty left there.", "uninitialised memory")(
    edited(
        dkv_causal_pairs,
        (
            "dk, dv = torch.zeros(B, H, N, W), torch.zeros(B, H, N, W)",
            "dk, dv = torch.empty(B, H, N, W), torch.empty(B, H, N, W)",
        ),
    )
)
causal(
    "Hidden pairs get exp(0) = 1: the score is set to 0 after LSE was subtracted.", "hidden pairs weigh 1"
)(edited(dkv_causal_pairs, ("s - lse[:, None], -1.0e30)", "s - lse[:, None], 0.0)")))
