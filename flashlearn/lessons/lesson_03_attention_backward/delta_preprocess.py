"""`delta_preprocess`: one delta per query."""

from __future__ import annotations

import torch
from torch import Tensor

from flashlearn.exercise import Case, Exercise, HowExplained, HowJudged, HowTimed, Inputs, Kind, Mistake, Work
from flashlearn.kernels import delta as kernels
from flashlearn.lessons.shared import quantities, reference
from flashlearn.lessons.shared.attention_cases import REAL_SIZES
from flashlearn.lessons.shared.cases import build_case
from flashlearn.lessons.shared.faulty_formulas.faults import faulty_formula
from flashlearn.lessons.shared.faulty_formulas.sums import delta
from flashlearn.lessons.shared.variants import Variant, variant
from flashlearn.outcome import Status

# what is right ------------------------------------------------------------------------------------


def delta_by_halves(o: Tensor, do: Tensor) -> Tensor:
    """delta with its sum in another order: even and odd components apart, then together."""
    return reference.attention_delta(o[..., ::2], do[..., ::2]) + reference.attention_delta(
        o[..., 1::2], do[..., 1::2]
    )


def delta_in_order(o: Tensor, do: Tensor) -> Tensor:
    """delta summed one component after the other."""
    return sum(reference.attention_delta(o[..., d : d + 1], do[..., d : d + 1]) for d in range(o.shape[-1]))


def delta_work(inputs: Inputs) -> Work:
    """A product and a sum per element of o; o and do read once, delta written once."""
    o = inputs["o"]
    rows = o.numel() // o.shape[-1]
    return Work(operations=2.0 * o.numel(), bytes=2.0 * o.numel() * o.element_size() + 4.0 * rows)


def torch_delta(o: Tensor, do: Tensor) -> Tensor:
    """The peer of delta_preprocess."""
    return (o.float() * do.float()).sum(dim=-1)


# what people get wrong ----------------------------------------------------------------------------

formula = faulty_formula(delta)

OFFSETS_OF_O = "b * o_b + h * o_h + i[:, None] * o_s + d[None, :] * o_d"
OFFSETS_OF_DO = "b * do_b + h * do_h + i[:, None] * do_s + d[None, :] * do_d"
LOAD_O, LOAD_DO = (f"tl.load({name}_ptrs, mask=in_tile, other=0.0)" for name in ("o", "do"))


def _with(*edits: tuple[str, str]) -> Variant:
    """The kernel in blocks of 32 queries, with edits."""
    blocks = ("BLOCK_S, BLOCK_D = 16", "BLOCK_S, BLOCK_D = 32")
    return variant(kernels.delta_preprocess, kernels.delta_preprocess_kernel, edits=(blocks, *edits))


MISTAKES = {
    "mean over D": Mistake(
        "You stored the mean over the D components; delta is their sum.",
        "Leave the division by D out.",
        **formula("mean"),
    ),
    "divided by √D": Mistake(
        "You scaled delta by 1/√D. alpha belongs to the scores, dQ and dK; delta has no scale.",
        "Store Σ_d dO_id O_id as it is.",
        **formula("scaled"),
    ),
    "o times itself": Mistake(
        "You stored Σ_d O_id O_id: both factors are O.",
        "delta is Σ_d dO_id O_id: where does dO come in?",
        **formula("o twice"),
    ),
    "do times itself": Mistake(
        "You stored Σ_d dO_id dO_id: both factors are dO.",
        "delta is Σ_d dO_id O_id: where does O come in?",
        **formula("do twice"),
    ),
    "a sum of products taken apart": Mistake(
        "You stored (Σ_d O_id)(Σ_d dO_id): a product of two sums, where a sum of products is needed.",
        "Multiply the two tiles entry by entry, then sum once, over d.",
        **formula("taken apart"),
    ),
    "the last components left out": Mistake(
        "The last components of D are missing from the sum: a whole chunk, or one that is not full.",
        "Where does component D − 1, the last one, enter the sum?",
        **formula("last tile left out", also=("ragged tile left out",)),
    ),
    "only the last components": Mistake(
        "delta holds the last chunk of the D components alone, as if each chunk replaced what was summed.",
        "Where do the earlier components get lost?",
        **formula("last tile only"),
    ),
    "in half precision": Mistake(
        "The products, or their sum, are computed in half precision, though delta is fp32.",
        "Multiply and sum in fp32.",
        launcher=_with(
            (f"o = {LOAD_O}.to(tl.float32)", f"o = {LOAD_O}"),
            (f"{LOAD_DO}.to(tl.float32)", LOAD_DO),
        ),
    ),
    "heads in one row": Mistake(
        "Head h of batch entry b is addressed b · H + h head strides away, as if batch and head "
        "were one dimension. In a view of a [B, S, H, D] tensor they are not.",
        "Batch and head have a stride each, and each index goes with its own.",
        launcher=_with(
            ("o_ptr + b * o_b + h * o_h", "o_ptr + (b * H + h) * o_h"),
            ("do_ptr + b * do_b + h * do_h", "do_ptr + (b * H + h) * do_h"),
        ),
        status=Status.OUT_OF_BOUNDS,
    ),
    "no mask in d": Mistake(
        "A load lets columns from D on through: these are another query's numbers, or none at all.",
        "A mask hides the components from D on.",
        launcher=_with(("(d < D)[None, :]", "(d < BLOCK_D)[None, :]")),
        status=Status.OUT_OF_BOUNDS,
    ),
    "no mask in s": Mistake(
        "A load lets rows from S on through: these are another head's queries, or none at all.",
        "A mask hides the queries from S on.",
        launcher=_with(("in_queries[:, None] &", "(i >= 0)[:, None] &")),
        status=Status.OUT_OF_BOUNDS,
    ),
    "strides of o used for do": Mistake(
        "do is read with the strides of o. It comes from whatever follows attention, in that layout.",
        "Address do with its own four strides.",
        launcher=_with((OFFSETS_OF_DO, OFFSETS_OF_O)),
        status=Status.OUT_OF_BOUNDS,
    ),
    "one delta for all heads": Mistake(
        "All heads write to the first one's slots: the address of the store does not tell them apart.",
        "delta is contiguous: head h of batch entry b begins at (b * H + h) * S.",
        launcher=_with(("delta_ptr + (b * H + h) * S + i", "delta_ptr + i")),
        status=Status.RACE,
    ),
}

# what is asked ------------------------------------------------------------------------------------


LAYOUTS = {
    "[B, S, H, D]": "stored as [B, S, H, D]",
    "slice": "cut out of a wider tensor",
    "D outside": "stored column by column",
    "one number": "expanded from one number",
}
"""How a case's name describes each layout."""


def heads(S: int, D: int, B: int = 1, H: int = 1, dtype: torch.dtype = torch.float32, **more: object) -> Case:
    """o and do [B, H, S, D]; where there is a layout, `data` says which of the two has it."""
    label = f"S {S}, D {D}" + (f", B·H {B * H}" if B * H > 1 else "")
    note = f"{more.get('data', 'o and do')} {LAYOUTS[more['layout']]}" if "layout" in more else ""
    tags = {"ragged": bool(S % 32), "padded D": bool(D & (D - 1)), "heads": B * H > 1, "large": False}
    return build_case(label, {"B": B, "H": H, "S": S, "D": D}, dtype, note, tags=tags, **more)


def lay_out(x: Tensor, layout: str) -> Tensor:
    """The same numbers laid out otherwise; a slice has 50s for neighbours, "one number" has strides of 0.

    [B, S, H, D] has 50s between the batches, so that their stride is not that of contiguous ones.
    """
    if layout == "[B, S, H, D]":
        buffer = torch.full((x.shape[0], x.shape[2] + 1, x.shape[1], x.shape[3]), 50.0, dtype=x.dtype)
        buffer[:, :-1] = x.transpose(1, 2)
        return buffer[:, :-1].transpose(1, 2)
    if layout == "slice":
        buffer = torch.full((*x.shape[:-1], x.shape[-1] + 7), 50.0, dtype=x.dtype)
        buffer[..., 3:-4] = x
        return buffer[..., 3:-4]
    if layout == "D outside":
        return x.mT.contiguous().mT
    return x[:1, :1, :1, :1].expand(x.shape) if layout == "one number" else x


def delta_inputs(case: Case, generator: torch.Generator) -> Inputs:
    """o and do [B, H, S, D]; `data` says which of them has the case's layout ("o", "do"; else both)."""
    shape = tuple(case.sizes[name] for name in ("B", "H", "S", "D"))
    given = {
        name: (case.magnitude * torch.randn(shape, generator=generator)).to(case.dtype)
        for name in ("o", "do")
    }
    chosen = (case.data,) if case.data in given else tuple(given)
    return {name: lay_out(x, case.layout) if name in chosen else x for name, x in given.items()}


FP16, BF16 = torch.float16, torch.bfloat16

delta_preprocess = Exercise(
    name="delta_preprocess",
    lesson="03",
    kind=Kind.KERNEL,
    title="One delta per query",
    signature="(o, do) -> delta",
    outputs=("delta",),
    inputs=delta_inputs,
    cases=(
        heads(16, 16, seed=1),
        heads(4, 2, seed=2),
        heads(37, 24, B=3, H=2, seed=3),
        heads(100, 32, H=2, seed=4),
        heads(1, 64, seed=5),
        heads(64, 48, seed=6),
        heads(37, 16, B=2, H=3, layout="[B, S, H, D]", seed=7),
        heads(20, 24, layout="slice", data="do", seed=9),
        heads(20, 24, B=2, H=2, layout="[B, S, H, D]", data="o", seed=8),
        heads(33, 16, H=2, layout="D outside", data="do", seed=10),
        heads(33, 16, H=2, layout="one number", data="do", seed=11),
        heads(37, 64, H=2, dtype=FP16, seed=12),
        heads(37, 40, H=2, dtype=BF16, seed=13),
        heads(16, 32, dtype=FP16, magnitude=100.0, seed=14),
        heads(5, 80, H=2, seed=19),
        heads(3, 136, H=2, seed=20),
        heads(300, 3, seed=21),
        heads(3, 65, seed=22),
        heads(1024, 64, B=32, H=8, dtype=FP16, seed=15, gpu=True),
        heads(500, 64, B=32, H=8, dtype=BF16, layout="[B, S, H, D]", seed=16, gpu=True),
        heads(999, 96, B=3, H=5, dtype=FP16, layout="D outside", data="do", seed=17, gpu=True),
    ),
    judged=HowJudged(
        reference=reference.attention_delta,
        twins=(delta_by_halves, delta_in_order),
        output_dtypes={"delta": torch.float32},
        gradient=True,
        work=delta_work,
        real_sizes=REAL_SIZES,
    ),
    explained=HowExplained(
        mistakes=MISTAKES,
        quantities=quantities.delta,
    ),
    timed=HowTimed(
        peer=torch_delta,
        peer_name="torch_delta",
        case=heads(4096, 64, B=32, H=8, dtype=FP16, gpu=True, seed=18),
    ),
    points=2,
    solution="flashlearn.kernels.delta:delta_preprocess",
)
