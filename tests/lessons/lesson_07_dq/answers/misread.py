"""Lesson 07: answers of which something false was once said."""

from __future__ import annotations

from flashlearn.kernels.flash_backward_dq import dq_kernel, dq_kernel_causal
from tests.corpus import edited, right, wrong

for half in ("tl.float16", "tl.bfloat16"):
    for name, function in (("dq_kernel", dq_kernel), ("dq_kernel_causal", dq_kernel_causal)):
        wrong(name, "dS and K are rounded to a fixed half-precision type, also in fp32.", "precision")(
            edited(
                function,
                ("ds.to(k.dtype), k", f"ds.to({half}), k.to({half})"),
                title=f"dS and K as {half.removeprefix('tl.')}, whatever the inputs are",
            )
        )

wrong("dq_kernel", "dS has P squared: P is multiplied in twice.", "constant factor")(
    edited(dq_kernel, ("ds = p * (", "ds = p * p * ("), title="P squared in dS")
)

HIDDEN = 'p = tl.exp(tl.where(seen, s, -float("inf")) - lse_i[:, None])'

wrong(
    "dq_kernel_causal",
    "P is masked twice, and the second mask is aligned top-left; dS is made as it should be.",
    "mask aligned top-left",
    "first divergence",
    "diagonal tiles",
)(
    edited(
        dq_kernel_causal,
        (
            HIDDEN,
            f"{HIDDEN}\n        p = tl.where(columns[None, :] <= rows[:, None], p, 0.0)",
        ),
        title="P masked twice",
    )
)

# The text of lesson 07 calls this right, and lesson 06 calls the same line wrong, for LSE shows it there.
right("dq_kernel", "q is scaled right after its load, in its own dtype: one rounding more")(
    edited(
        dq_kernel,
        ("    do = tl.load(do_ptr + ", "    q = (q * alpha).to(q.dtype)\n    do = tl.load(do_ptr + "),
        ("s = alpha * tl.dot(", "s = tl.dot("),
        title="q = (q * alpha).to(q.dtype)",
    )
)
