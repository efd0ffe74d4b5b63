"""Wrong answers to dq_kernel."""

from __future__ import annotations

from tests.corpus import edited, wrong
from tests.lessons.lesson_07_dq.answers.right import (
    dq_by_atomics,
    dq_delta_inside,
    dq_from_scratch,
    dq_tutorial,
)


def dq(says: str, *names: str):
    return wrong("dq_kernel", says, *names)


# ---------------------------------------------------------------- the tutorial's kernel, in base 2

dq("2^(S − LSE log2 e): LSE was brought to base 2, the scores were not.", "log2 e is missing from S")(
    edited(dq_tutorial, ("(sm_scale * RLN2)", "sm_scale"))
)
dq("2^(S log2 e − LSE): the scores were brought to base 2, LSE was not.", "LSE read as base 2")(
    edited(dq_tutorial, ("mask=offs_m < M, other=0.0) * RLN2", "mask=offs_m < M, other=0.0)"))
)
dq(
    "A key that does not exist gets P = exp(−LSE), infinite where LSE is far below zero.",
    "padded keys get a probability",
    "overflow",
)(
    edited(
        dq_tutorial,
        ("        p = tl.where(curr_n[None, :] < N, p, 0.0)\n", ""),
        title="no where for padded keys",
    )
)
dq(
    "delta is read without the head's offset: all heads use that of head 0.",
    "delta of the first head",
    "permuted heads",
    "some heads",
)(edited(dq_tutorial, ("tl.load(Delta + hz * M + offs_m", "tl.load(Delta + offs_m")))
dq("delta is read for the rows 0 … BLOCK_M − 1 in every program.", "delta of other rows")(
    edited(
        dq_tutorial,
        (
            "Di = tl.load(Delta + hz * M + offs_m, mask=offs_m < M",
            "Di = tl.load(Delta + hz * M + tl.arange(0, BLOCK_M), mask=tl.arange(0, BLOCK_M) < M",
        ),
        title="delta of the first block's rows",
    )
)
dq(
    "The factor alpha is missing from dQ; where S is 1, dQ is rounding and nothing else.",
    "alpha is missing from dQ",
)(edited(dq_tutorial, ("    dq *= sm_scale\n    tl.store", "    tl.store"), title="dq without sm_scale"))
dq("dq is scaled in every step of the loop.", "alpha in every step")(
    edited(
        dq_tutorial,
        (
            '        dq += tl.dot(ds, tl.trans(kT), input_precision="ieee")\n',
            '        dq += tl.dot(ds, tl.trans(kT), input_precision="ieee")\n        dq *= sm_scale\n',
        ),
        ("    dq *= sm_scale\n    tl.store", "    tl.store"),
        title="dq *= sm_scale in the loop",
    )
)
dq("P multiplies dP alone; delta is subtracted at full weight.", "delta subtracted after P")(
    edited(dq_tutorial, ("ds = p * (dp - Di[:, None])", "ds = p * dp - Di[:, None]"))
)
dq(
    "V's pointer is not advanced: dP is made of the first tile of V in every step.",
    "V's pointer is not advanced",
)(edited(dq_tutorial, ("        vT_ptrs += BLOCK_N * s_vn\n", ""), title="vT_ptrs stays where it is"))
dq("dP is rounded to half precision before delta is subtracted.", "dP rounded before delta is subtracted")(
    edited(
        dq_tutorial,
        (
            'dp = tl.dot(do, vT, input_precision="ieee").to(tl.float32)',
            'dp = tl.dot(do, vT, input_precision="ieee").to(kT.dtype)',
        ),
    )
)
dq("Each step overwrites dq.", "only the last tile remains")(
    edited(dq_tutorial, ("dq += tl.dot(ds", "dq = tl.dot(ds"))
)
dq(
    "Two mistakes: alpha is missing from dQ, and LSE is read as base 2.",
    "alpha is missing from dQ + LSE read as base 2",
)(
    edited(
        dq_tutorial,
        ("    dq *= sm_scale\n", ""),
        ("mask=offs_m < M, other=0.0) * RLN2", "mask=offs_m < M, other=0.0)"),
    )
)
dq("The loop over keys ends at the number of queries.", "loop over S_q")(
    edited(dq_tutorial, ("    hi = N\n", "    hi = M\n"), title="hi = M")
)
dq(
    "dq is rounded to half precision after every tile.",
    "dQ accumulated in half precision",
    "precision",
    "crashed",
)(
    edited(
        dq_tutorial,
        (
            'dq += tl.dot(ds, tl.trans(kT), input_precision="ieee")',
            'dq = (dq + tl.dot(ds, tl.trans(kT), input_precision="ieee")).to(q.dtype)',
        ),
    )
)
dq("dS goes through fp16 whatever the inputs are.", "precision", "dS cast to fp16", "one edit")(
    edited(dq_tutorial, ("ds = ds.to(kT.dtype)", "ds = ds.to(tl.float16).to(kT.dtype)"))
)
dq("O is multiplied with itself in the preprocess kernel: delta is Σ O².", "delta from O alone")(
    edited(
        dq_tutorial,
        ("o.to(tl.float32) * do.to(tl.float32), axis=1", "o.to(tl.float32) * o.to(tl.float32), axis=1"),
    )
)
dq("The preprocess kernel writes delta without the head's offset: heads overwrite each other.", "race")(
    edited(dq_tutorial, ("tl.store(Delta + hz * M + m, delta", "tl.store(Delta + m, delta"))
)
dq("dQ is written with K's length between the heads.", "out_of_bounds", "race", "never written")(
    edited(dq_tutorial, ("tl.store(DQ + (hz * M + offs_m)", "tl.store(DQ + (hz * N + offs_m)"))
)

# ---------------------------------------------------------------- delta inside, tiles of 64

dq("delta is Σ dO² instead of Σ dO O.", "delta from dO alone")(
    edited(dq_delta_inside, ("gi * tl.load(o + at, mask=ok, other=0.0).to(tl.float32), 1", "gi * gi, 1"))
)
dq("Q was scaled already, and the scores are scaled again: P is not the forward pass's.", "alpha twice in S")(
    edited(
        dq_delta_inside,
        (
            's = tl.dot(qi, tl.trans(kj), input_precision="ieee")',
            's = tl.dot(qi, tl.trans(kj), input_precision="ieee") * a',
        ),
    )
)
dq("Two mistakes: delta is added, and alpha is missing from dQ.", "delta added + alpha is missing from dQ")(
    edited(
        dq_delta_inside, ("- p * delta[:, None]", "+ p * delta[:, None]"), ("grad * a, mask", "grad, mask")
    )
)
dq("LSE lies along the keys.", "LSE along the keys", "one edit")(
    edited(dq_delta_inside, ("- L[:, None]", "- L[None, :]"))
)
dq("delta lies along the keys.", "delta along the keys")(
    edited(dq_delta_inside, ("- p * delta[:, None]", "- p * delta[None, :]"))
)
dq("dS is transposed before it meets K; the tile is square.", "dS transposed")(
    edited(dq_delta_inside, ("tl.dot(ds, kj, grad", "tl.dot(tl.trans(ds), kj, grad"))
)
dq("Two mistakes: delta is omitted, and the last product takes V.", "delta omitted + dQ from V")(
    edited(dq_delta_inside, (" - p * delta[:, None]", ""), ("tl.dot(ds, kj, grad", "tl.dot(ds, vj, grad"))
)
dq(
    "The last tile of keys, the only incomplete one, is left out.",
    "the last, incomplete block of keys is left out",
    "last tile missing",
)(edited(dq_delta_inside, ("tiles = tl.cdiv(Sk, B)", "tiles = Sk // B")))

# ---------------------------------------------------------------- atomics, from scratch

dq("dQ is added to memory that torch.empty left as it was.", "uninitialised memory")(
    edited(dq_by_atomics, ("dq = torch.zeros(", "dq = torch.empty("))
)
dq("The scores lack alpha, so P is not the forward pass's.", "alpha is missing from S")(
    edited(
        dq_by_atomics,
        ('input_precision="ieee") * scale - lse[None, :]', 'input_precision="ieee") - lse[None, :]'),
    )
)
dq("Programs for the same rows and other keys overwrite each other.", "race")(
    edited(dq_by_atomics, ("tl.atomic_add(DQ +", "tl.store(DQ +"))
)
dq(
    "The grid has only whole tiles of keys.",
    "the last, incomplete block of keys is left out",
    "last tile missing",
)(edited(dq_by_atomics, ("triton.cdiv(N, 16)", "N // 16")))
dq(
    "Two mistakes: delta is taken from dP without P, and alpha is missing.",
    "delta from dP without P + alpha is missing from dQ",
)(
    edited(
        dq_from_scratch,
        ("pd = pd * f + tl.sum(e * dp, 1)", "pd = pd + tl.sum(tl.where((j < Sk)[None, :], dp, 0.0), 1)"),
        ("ds = a * p * (dp - (pd / l)[:, None])", "ds = p * (dp - pd[:, None])"),
    )
)
dq("Σ P dP is not rescaled when the maximum moves.", "not rescaled")(
    edited(dq_from_scratch, ("pd = pd * f + tl.sum", "pd = pd + tl.sum"))
)
dq("delta is summed over the tile at hand, not over the row.", "delta of one tile")(
    edited(dq_from_scratch, ("(dp - (pd / l)[:, None])", "(dp - tl.sum(p * dp, 1)[:, None])"))
)
dq("Σ exp dP was not divided by l: delta is l times too large.", "delta not divided by l")(
    edited(dq_from_scratch, ("(pd / l)[:, None]", "pd[:, None]"))
)
dq("LSE is added to the scores: exp(S + LSE).", "LSE added")(
    edited(
        dq_delta_inside,
        ('float("-inf")) - L[:, None])', 'float("-inf")) + L[:, None])'),
        title="+ L[:, None]",
    )
)
dq("S is rebuilt with 1/√D; the end has alpha.", "alpha's sign is lost")(
    edited(dq_delta_inside, (".to(tl.float32) * a\n", ".to(tl.float32) / tl.sqrt(D.to(tl.float32))\n"))
)

# ---------------------------------------------------------------- sizes written down

dq(
    "BLOCK_D is 64 whatever D is: the components beyond are neither read nor written.",
    "never written",
    "only the first tile",
    "last tile missing",
)(edited(dq_tutorial, ("max(16, triton.next_power_of_2(D))", "64"), title="BLOCK_D = 64"))
dq("The loop ends after 512 keys: the rest are left out.", "last tile missing", "only the first tile")(
    edited(dq_tutorial, ("    hi = N\n", "    hi = tl.minimum(N, 512)\n"), title="keys cut at 512")
)
