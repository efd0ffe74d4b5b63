"""Wrong answers to dkv_kernel; and two that look wrong and are right."""

from __future__ import annotations

from tests.corpus import edited, right, wrong
from tests.lessons.lesson_08_dk_dv.answers.right import dkdv_tutorial, dkv_backwards, dkv_pairs

right("dkv_kernel", "padded queries get P = 1, which meets a dO and a delta of zeros")(
    edited(
        dkdv_tutorial, ("keep = mmask[None, :] & (offs_n[:, None] < N_KV)", "keep = offs_n[:, None] < N_KV")
    )
)
right("dkv_kernel", "padded keys get a P of their own, in rows that are never stored")(
    edited(dkdv_tutorial, ("keep = mmask[None, :] & (offs_n[:, None] < N_KV)", "keep = mmask[None, :]"))
)


def dkv(says: str, *names: str):
    return wrong("dkv_kernel", says, *names)


# ---------------------------------------------------------------- the tutorial's kernel, transposed, base 2

dkv("dK is stored without alpha.", "alpha is missing from dK")(
    edited(dkdv_tutorial, ("    dk *= sm_scale\n", ""), title="no dk *= sm_scale")
)
dkv("dV is summed from dS instead of P.", "dV from dS")(
    edited(
        dkdv_tutorial,
        ('        dv += tl.dot(ppT, do, input_precision="ieee")\n', ""),
        (
            "        dsT = dsT.to(qT.dtype)\n",
            '        dsT = dsT.to(qT.dtype)\n        dv += tl.dot(dsT, do, input_precision="ieee")\n',
        ),
        title="dv from dsT",
    )
)
dkv("dS lacks its factor P.", "P in front forgotten")(
    edited(dkdv_tutorial, ("dsT = pT * (dpT - Di[None, :])", "dsT = dpT - Di[None, :]"))
)
dkv(
    "The counter of the loop is never advanced: the first tile of queries again and again.",
    "only the first tile",
)(edited(dkdv_tutorial, ("        curr_m += BLOCK_M1\n", ""), title="curr_m stays where it is"))
dkv(
    "The number of steps is rounded down.",
    "the last, incomplete block of queries is left out",
    "last tile missing",
)(edited(dkdv_tutorial, ("tl.cdiv(N_Q - start_m, BLOCK_M1)", "(N_Q - start_m) // BLOCK_M1")))
dkv("The number of steps is that of the keys.", "loop over S_k")(
    edited(dkdv_tutorial, ("tl.cdiv(N_Q - start_m, BLOCK_M1)", "tl.cdiv(N_KV - start_m, BLOCK_M1)"))
)
dkv("The launcher returns dV and dK in this order.", "dK and dV exchanged", "outputs exchanged")(
    edited(dkdv_tutorial, ("    return dk, dv\n", "    return dv, dk\n"))
)
dkv("dK is stored with S_q rows to a head; dV is right.", "out_of_bounds", "race", "never written")(
    edited(dkdv_tutorial, ("tl.store(DK + (bhid * N_KV + offs_n)", "tl.store(DK + (bhid * N_Q + offs_n)"))
)
dkv("dP takes K where it needs V.", "dP from K")(
    edited(dkdv_tutorial, ("dpT = tl.dot(v, tl.trans(do)", "dpT = tl.dot(k, tl.trans(do)"))
)
dkv("The scores are in base 2, LSE is natural.", "LSE read as base 2")(
    edited(dkdv_tutorial, ("(m * LOG2E)[None, :]", "m[None, :]"))
)
dkv("LSE was brought to base 2, the scores were not.", "log2 e is missing from S")(
    edited(dkdv_tutorial, ("(sm_scale * LOG2E)", "sm_scale"))
)
dkv("Two mistakes, both in dK: alpha is missing, and delta.", "alpha is missing from dK + delta omitted")(
    edited(dkdv_tutorial, ("    dk *= sm_scale\n", ""), ("dsT = pT * (dpT - Di[None, :])", "dsT = pT * dpT"))
)
dkv("alpha was put on dV instead of dK.", "alpha on dV + alpha is missing from dK")(
    edited(
        dkdv_tutorial,
        ("    dk *= sm_scale\n", ""),
        ("dv.to(DV.dtype.element_ty)", "(dv * sm_scale).to(DV.dtype.element_ty)"),
    )
)
dkv("dS meets dO where it needs Q.", "dK from dO")(
    edited(
        dkdv_tutorial,
        (
            'dk += tl.dot(dsT, tl.trans(qT), input_precision="ieee")',
            'dk += tl.dot(dsT, do, input_precision="ieee")',
        ),
    )
)
dkv("delta is read for the rows of the first tile in every step.", "delta of other rows")(
    edited(
        dkdv_tutorial,
        (
            "Di = tl.load(D_ + offs_m, mask=mmask",
            "Di = tl.load(D_ + tl.arange(0, BLOCK_M1), mask=tl.arange(0, BLOCK_M1) < N_Q",
        ),
    )
)
dkv("LSE is read without the head's offset.", "permuted heads", "some heads")(
    edited(dkdv_tutorial, ("    M_ += bhid * N_Q\n", ""), title="M_ of the first head")
)
dkv("dK and dV are accumulated in half precision.", "accumulated in half precision", "precision", "crashed")(
    edited(
        dkdv_tutorial,
        (
            'dv += tl.dot(ppT, do, input_precision="ieee")',
            'dv = (dv + tl.dot(ppT, do, input_precision="ieee")).to(do.dtype)',
        ),
        (
            'dk += tl.dot(dsT, tl.trans(qT), input_precision="ieee")',
            'dk = (dk + tl.dot(dsT, tl.trans(qT), input_precision="ieee")).to(do.dtype)',
        ),
    )
)

# ---------------------------------------------------------------- queries backwards, delta in the loop

dkv("dK carries alpha twice: in dS and before the store.", "alpha applied twice to dK")(
    edited(
        dkv_backwards,
        ("tl.store(dk_ptr + at_j, dk, mask=ok_j)", "tl.store(dk_ptr + at_j, dk * alpha, mask=ok_j)"),
    )
)
dkv(
    "The scan starts at the last full tile: what comes after it is left out.",
    "the last, incomplete block of queries is left out",
    "last tile missing",
)(edited(dkv_backwards, ("i0 = (S_q - 1) // BQ * BQ", "i0 = S_q // BQ * BQ - BQ")))
dkv("The scan backwards stops before the first tile.", "first tile missing")(
    edited(dkv_backwards, ("while i0 + BQ > first", "while i0 > first"))
)
dkv("delta is Σ O instead of Σ O dO.", "delta from O alone")(
    edited(
        dkv_backwards,
        ("tl.sum(o.to(tl.float32) * do.to(tl.float32), axis=1)", "tl.sum(o.to(tl.float32), axis=1)"),
    )
)
dkv(
    "Two mistakes: dV is summed from O, and dK carries alpha twice.", "dV from O + alpha applied twice to dK"
)(
    edited(
        dkv_backwards,
        ("dv = tl.dot(tl.trans(p).to(do.dtype), do, dv", "dv = tl.dot(tl.trans(p).to(do.dtype), o, dv"),
        ("tl.store(dk_ptr + at_j, dk, mask=ok_j)", "tl.store(dk_ptr + at_j, dk * alpha, mask=ok_j)"),
    )
)
dkv("P is not transposed on its way to dV; the tile is square.", "P not transposed")(
    edited(dkv_backwards, ("BQ=64, BK=16", "BQ=64, BK=64"), ("tl.dot(tl.trans(p).to", "tl.dot(p.to"))
)
dkv("dS is not transposed on its way to dK; the tile is square.", "dS not transposed")(
    edited(dkv_backwards, ("BQ=64, BK=16", "BQ=16, BK=16"), ("tl.dot(tl.trans(ds).to", "tl.dot(ds.to"))
)
dkv("delta lies along the keys; the tile is square.", "delta along the keys")(
    edited(
        dkv_backwards,
        ("BQ=64, BK=16", "BQ=64, BK=64"),
        ("- delta[:, None]) * alpha", "- delta[None, :]) * alpha"),
    )
)
dkv("The rows are clamped: padded queries are the last one again.", "padded queries repeat the last one")(
    edited(dkv_backwards, ("i = i0 + tl.arange(0, BQ)", "i = tl.minimum(i0 + tl.arange(0, BQ), S_q - 1)"))
)
dkv(
    "Two mistakes: dP takes Q where it needs dO, and dK and dV come back exchanged.",
    "dP from Q + dK and dV exchanged",
    "dP from Q + outputs exchanged",
)(
    edited(
        dkv_backwards,
        ("tl.dot(do, tl.trans(v)", "tl.dot(q, tl.trans(v)"),
        ("    return dk, dv\n", "    return dv, dk\n"),
    )
)
dkv("dS meets K where it needs Q; the tile is square.", "dS meets K")(
    edited(
        dkv_backwards,
        ("BQ=64, BK=16", "BQ=32, BK=32"),
        ("tl.dot(tl.trans(ds).to(q.dtype), q, dk", "tl.dot(tl.trans(ds).to(q.dtype), k, dk"),
    )
)

# ---------------------------------------------------------------- one program per pair of tiles

dkv("dK is added to memory that torch.empty left as it was.", "uninitialised memory")(
    edited(dkv_pairs, ("dk, dv = torch.zeros(B, H, N, W), torch", "dk, dv = torch.empty(B, H, N, W), torch"))
)
dkv("dK is stored where it must be added: programs for other queries overwrite it.", "race")(
    edited(dkv_pairs, ("tl.atomic_add(DK +", "tl.store(DK +"))
)
dkv(
    "The axes of the grid are exchanged: it counts keys where the kernel expects queries.",
    "never read",
    "last tile missing",
    "only the first tile",
)(
    edited(
        dkv_pairs,
        (
            "(triton.cdiv(M, BM), triton.cdiv(N, BN), B * H)",
            "(triton.cdiv(N, BN), triton.cdiv(M, BM), B * H)",
        ),
    )
)
dkv(
    "V is read without the head's offset; dV, which needs none of it, is right.",
    "permuted heads",
    "some heads",
)(edited(dkv_pairs, ("v = tl.load(V + (bh * N + j)[:, None]", "v = tl.load(V + j[:, None]")))
dkv("The scores lack alpha.", "alpha is missing from S")(
    edited(dkv_pairs, ("tl.dot(q * a, tl.trans(k)", "tl.dot(q, tl.trans(k)"))
)
dkv(
    "One tile of queries is counted twice: the blocks overlap.",
    "tiles counted twice",
    "written twice",
    "last tile missing",
)(
    edited(
        dkv_pairs,
        (
            "bh, i0, j0 = tl.program_id(2), tl.program_id(0) * BM",
            "bh, i0, j0 = tl.program_id(2), tl.program_id(0) * (BM // 2)",
        ),
    )
)

# ---------------------------------------------------------------- sizes written down

dkv(
    "BLOCK_D is 64 whatever D is: the components beyond are neither read nor written.",
    "never written",
    "only the first tile",
    "last tile missing",
)(edited(dkdv_tutorial, ("max(16, triton.next_power_of_2(HEAD_DIM))", "64"), title="BLOCK_D = 64"))
dkv("The loop ends after 512 queries: the rest are left out.", "last tile missing", "only the first tile")(
    edited(dkv_backwards, ("i0 = (S_q - 1) // BQ * BQ", "i0 = (tl.minimum(S_q, 512) - 1) // BQ * BQ"))
)
