"""Lesson 08: answers of which something false was once said."""

from __future__ import annotations

from flashlearn.kernels.flash_backward_dkv import dkv_kernel, dkv_kernel_causal
from tests.corpus import edited, wrong

for half in ("tl.float16", "tl.bfloat16"):
    for name, function in (("dkv_kernel", dkv_kernel), ("dkv_kernel_causal", dkv_kernel_causal)):
        wrong(name, "P, dS and what they meet are rounded to half precision, also in fp32.", "precision")(
            edited(
                function,
                ("p.to(do.dtype)), do", f"p.to({half})), do.to({half})"),
                ("ds.to(q.dtype)), q", f"ds.to({half})), q.to({half})"),
                title=f"both products in {half.removeprefix('tl.')}, whatever the inputs are",
            )
        )

wrong(
    "dkv_kernel_causal",
    "The two gradients are returned in each other's place, and the mask is aligned top-left.",
    "dK and dV exchanged + mask aligned top-left",
    "outputs exchanged + mask aligned top-left",
)(
    edited(
        dkv_kernel_causal,
        ("return dk, dv", "return dv, dk"),
        ("columns[None, :] <= rows[:, None] + S_k - S_q", "columns[None, :] <= rows[:, None]"),
        title="exchanged, and the mask top-left",
    )
)
wrong("dkv_kernel", "P is squared in front of dO.", "constant factor")(
    edited(
        dkv_kernel, ("tl.trans(p.to(do.dtype))", "tl.trans((p * p).to(do.dtype))"), title="P squared in dV"
    )
)
wrong("dkv_kernel", "dO is read with the strides of Q.", "first divergence")(
    edited(
        dkv_kernel,
        ("rows[:, None] * do_row + d[None, :] * do_col", "rows[:, None] * q_row + d[None, :] * q_col"),
        title="dO with the rows and columns of Q",
    )
)

wrong(
    "dkv_kernel_causal",
    "P is masked after the exponential, one key too strictly.",
    "mask hides the diagonal",
    "first divergence",
)(
    edited(
        dkv_kernel_causal,
        (
            'p = tl.exp(tl.where(seen, s, -float("inf")) - lse_i[:, None])',
            "p = tl.exp(s - lse_i[:, None])\n"
            "        p = tl.where(columns[None, :] < rows[:, None] + S_k - S_q, p, 0.0)",
        ),
        title="P masked late, and too strictly",
    )
)
