"""Wrong answers to flash_forward_causal."""

from __future__ import annotations

from tests.corpus import edited, wrong
from tests.lessons.lesson_06_flash_forward.answers.right_causal import (
    early_return,
    from_the_diagonal_back,
    lse_first,
    split_loops,
)


def causal(says: str, *names: str):
    return wrong("flash_forward_causal", says, *names)


# ---------------------------------------------------------------- two loops, as in a tutorial

causal("The mask is aligned top-left: nobody thought of S_q ≠ S_k.", "top-left alignment")(
    edited(split_loops, ("shift = N - M", "shift = 0"))
)
causal("A query does not see its own key: > instead of ≥.", "the diagonal is hidden")(
    edited(
        split_loops, ("offs_m[:, None] + shift >= cols[None, :]", "offs_m[:, None] + shift > cols[None, :]")
    )
)
causal(
    "The loop with the mask starts one tile late: the first tile on the diagonal is skipped.",
    "a tile on the diagonal is skipped",
    "diagonal tiles",
    "never read",
)(edited(split_loops, ("q, K, V, whole, end, scale2", "q, K, V, whole + BLOCK_N, end, scale2")))
causal(
    "The tiles on the diagonal are treated like those below it, without a mask.",
    "only whole tiles are hidden",
    "diagonal tiles",
    "leak from the future",
)(edited(split_loops, ("BLOCK_N, True)", "BLOCK_N, False)")))
causal(
    "The loop without a mask runs through the diagonal tiles: its end is that of the block's last query.",
    "only whole tiles are hidden",
    "diagonal tiles",
    "leak from the future",
)(
    edited(
        split_loops,
        ("tl.minimum(N, start_m * BLOCK_M + shift + 1)", "tl.minimum(N, (start_m + 1) * BLOCK_M + shift)"),
    )
)
causal(
    "A row that has seen nothing yet: −∞ − (−∞) in the exponent.",
    "rows that see nothing are NaN",
    "inf minus inf",
)(edited(split_loops, ('m_safe = tl.where(m_ij == float("-inf"), 0.0, m_ij)', "m_safe = m_ij")))
causal("A row that sees nothing is divided by l = 0.", "rows that see nothing are NaN", "zero over zero")(
    edited(split_loops, ("acc / tl.where(nothing, 1.0, l_i)[:, None]", "acc / l_i[:, None]"))
)
causal("All batch entries write the LSE of one: the batch is missing from its offset.", "race")(
    edited(split_loops, ("tl.store(LSE + hz * M + offs_m", "tl.store(LSE + h * M + offs_m"))
)
causal("Two mistakes: top-left alignment, and LSE left in base 2.", "top-left alignment + LSE in base 2")(
    edited(
        split_loops,
        ("shift = N - M", "shift = 0"),
        ("(m_i + tl.log2(l_i)) / 1.4426950408889634)", "m_i + tl.log2(l_i))"),
    )
)
causal(
    "The loop without a mask and the one with it overlap: whole tiles below the diagonal are counted twice.",
    "tiles counted twice",
)(edited(split_loops, ("q, K, V, whole, end, scale2", "q, K, V, 0, end, scale2")))
causal("exp2 of scores that were never multiplied by log2 e.", "log2 e is missing from S")(
    edited(split_loops, ("scale2 = scale * 1.4426950408889634", "scale2 = scale"))
)

# ---------------------------------------------------------------- from the diagonal back, a finite filler

causal(
    "Rows that see nothing average over hidden keys: exp(−1e30 + 1e30) is 1.",
    "a finite number for −inf",
    "one edit",
)(
    edited(
        from_the_diagonal_back,
        ("tl.where(see, tl.exp(s - m_new[:, None]), 0.0)", "tl.exp(s - m_new[:, None])"),
    )
)
causal("P is masked after l has been summed.", "mask after l", "rows do not sum to 1")(
    edited(
        from_the_diagonal_back,
        (
            's = tl.where(see, tl.dot(q, tl.trans(k), input_precision="ieee"), NEG)',
            's = tl.dot(q, tl.trans(k), input_precision="ieee")',
        ),
        ("p = tl.where(see, tl.exp(s - m_new[:, None]), 0.0)", "p = tl.exp(s - m_new[:, None])"),
        ("tl.dot(p, v, input_precision", "tl.dot(tl.where(see, p, 0.0), v, input_precision"),
        title="p zeroed for the dot only",
    )
)
causal("The scan starts at the top-left diagonal though the mask is right.", "loop end without S_k − S_q")(
    edited(
        from_the_diagonal_back,
        ("tl.minimum(S_k, (qb + 1) * B + S_k - S_q) - 1", "tl.minimum(S_k, (qb + 1) * B) - 1"),
    )
)
causal("The first tile of keys is never visited.", "first tile missing")(
    edited(from_the_diagonal_back, ("while j0 >= 0", "while j0 > 0"))
)
causal(
    "Two mistakes: alpha applied twice, and the mask one key too generous.",
    "alpha applied twice + one key too many",
)(
    edited(
        from_the_diagonal_back,
        ("q.to(tl.float32) * alpha", "q.to(tl.float32) * alpha * alpha"),
        ("<= S_k - S_q) &", "<= S_k - S_q + 1) &"),
    )
)
causal("Hidden scores are set to 0 and take part like any other.", "hidden scores set to 0", "one edit")(
    edited(
        from_the_diagonal_back,
        ('input_precision="ieee"), NEG)', 'input_precision="ieee"), 0.0)'),
        ("p = tl.where(see, tl.exp(s - m_new[:, None]), 0.0)", "p = tl.exp(s - m_new[:, None])"),
        title="0 where −inf belongs",
    )
)

# ---------------------------------------------------------------- an early return, two passes

causal("Where a block sees nothing, O is written and LSE is not.", "never written")(
    edited(
        early_return,
        ('        tl.store(lse_at, tl.full((BQ,), float("-inf"), tl.float32), mask=row_ok)\n', ""),
        title="early return without LSE",
    )
)
causal(
    "Where a block sees nothing the program returns and leaves O and LSE as torch.empty made them.",
    "never written",
)(
    edited(
        early_return,
        ('        tl.store(lse_at, tl.full((BQ,), float("-inf"), tl.float32), mask=row_ok)\n', ""),
        (
            "        tl.store(o_at, tl.zeros((BQ, BD), tl.float32), mask=row_ok[:, None] & d_ok[None, :])\n",
            "",
        ),
        title="early return without stores",
    )
)
causal("The diagonal is shifted by S_q − S_k, the wrong way.", "S_k − S_q with the wrong sign")(
    edited(early_return, ("limit = rows + (Tk - Tq)", "limit = rows + (Tq - Tk)"))
)
causal(
    "The loop ends after the last key that the block's first query sees.",
    "loop ends one tile early",
    "last tile missing",
)(edited(early_return, ("tl.max(tl.where(row_ok, limit, -1), axis=0) + 1", "tl.min(limit, axis=0) + 1")))
causal(
    "Two mistakes: the mask hides the diagonal, and LSE is m + l.", "the diagonal is hidden + LSE is m + l"
)(
    edited(
        early_return,
        ("c[None, :] <= limit[:, None]", "c[None, :] < limit[:, None]"),
        ("m + tl.log(z)", "m + z"),
    )
)
causal(
    "The mask tests the number within the tile, not the key's own: later tiles are hidden too little.",
    "leak from the future",
)(edited(early_return, ("c[None, :] <= limit[:, None]", "tl.arange(0, BK)[None, :] <= limit[:, None]")))
causal(
    "The first pass sums over hidden keys too: LSE is too large and O too small.",
    "mask after l",
    "rows do not sum to 1",
)(
    edited(
        lse_first,
        (
            "s = tl.where((c[None, :] <= r[:, None] + N - M) & (c < N)[None, :], s,",
            "s = tl.where((c < N)[None, :], s,",
        ),
    )
)
causal(
    "Two mistakes: alpha is forgotten in both passes, and the second one shows a key too many.",
    "alpha forgotten + one key too many",
)(
    edited(
        lse_first,
        ("q = tl.load(q_ptr", "a = 1.0\n    q = tl.load(q_ptr"),
        ("seen = (c[None, :] <= r[:, None] + N - M)", "seen = (c[None, :] <= r[:, None] + N - M + 1)"),
    )
)
causal(
    "One wrong sign: the offset is S_q − S_k, in the mask and in the loop's end.",
    "S_k − S_q with the wrong sign",
)(edited(split_loops, ("shift = N - M", "shift = M - N")))
