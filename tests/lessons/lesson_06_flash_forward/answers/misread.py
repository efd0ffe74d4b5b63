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
