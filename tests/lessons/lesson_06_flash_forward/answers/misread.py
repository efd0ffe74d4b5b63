"""Lesson 06: answers of which something false was once said."""

from __future__ import annotations

from flashlearn.kernels.flash_forward import flash_forward, flash_forward_causal
from tests.corpus import edited, wrong

P_BY_V = "p.to(v.dtype), v"
ROUNDED = "P and V are rounded to a fixed half-precision type, also where the inputs are fp32."

for half in ("tl.float16", "tl.bfloat16"):
    for name, function in (("flash_forward", flash_forward), ("flash_forward_causal", flash_forward_causal)):
        wrong(name, ROUNDED, "precision")(
            edited(
                function,
                (P_BY_V, f"p.to({half}), v.to({half})"),
                title=f"P and V as {half.removeprefix('tl.')}, whatever the inputs are",
            )
        )

wrong("flash_forward", "Q and K are rounded to fp16, also where they are fp32.", "precision")(
    edited(
        flash_forward,
        ("tl.dot(q, tl.trans(k)", "tl.dot(q.to(tl.float16), tl.trans(k.to(tl.float16))"),
        title="Q and K as float16, whatever the inputs are",
    )
)
wrong("flash_forward", "P is squared in front of V, and l is the sum of P itself.", "constant factor")(
    edited(flash_forward, (P_BY_V, "(p * p).to(v.dtype), v"), title="P squared")
)
wrong("flash_forward", "P is squared, in l too: that is a softmax of twice the scores.", "constant factor")(
    edited(
        flash_forward,
        (P_BY_V, "(p * p).to(v.dtype), v"),
        ("tl.sum(p, axis=1)", "tl.sum(p * p, axis=1)"),
        title="P squared, and divided by the sum of squares",
    )
)

SUM = 'acc = acc * rescale[:, None] + tl.dot(p.to(v.dtype), v, input_precision="ieee")'
HIDE = 's = tl.where(seen, s, -float("inf"))'

wrong(
    "flash_forward",
    "acc is divided by l in every round.",
    "divided in every step + divided by l twice",
    "divided in every step",
)(edited(flash_forward, (SUM, f"{SUM}\n        acc = acc / l_i[:, None]"), title="divided in the loop too"))
wrong(
    "flash_forward",
    "acc is rescaled a second time, after the sum.",
    "first divergence",
    "not rescaled",
    "one edit",
)(edited(flash_forward, (SUM, f"{SUM}\n        acc = acc * rescale[:, None]"), title="rescaled twice"))
wrong("flash_forward", "The factor for what is old is turned round.", "rescale with the wrong sign")(
    edited(flash_forward, ("tl.exp(m_i - m_new)", "tl.exp(m_new - m_i)"), title="exp(m_new − m_old)")
)
wrong(
    "flash_forward_causal",
    "A second mask, after the right one, hides the last key that a query may see.",
    "first divergence",
    "the diagonal is hidden",
)(
    edited(
        flash_forward_causal,
        (HIDE, f'{HIDE}\n        s = tl.where(columns[None, :] < last_seen[:, None], s, -float("inf"))'),
        title="masked twice, the second time too strictly",
    )
)
