"""Lesson 06: the kernels are right, its data shows the mistakes, and real kernels are told by name."""

from __future__ import annotations

import functools
import importlib.util
import math
from pathlib import Path

import pytest
import torch
import triton
import triton.language as tl

import flashlearn
from flashlearn.judging.cases import run
from flashlearn.judging.references import convert, largest_error
from flashlearn.judging.tolerance import Truth
from flashlearn.kernels import flash_forward as kernels
from flashlearn.lessons import find
from flashlearn.lessons.lesson_06_flash_forward import faulty_kernels, pictures
from flashlearn.lessons.lesson_06_flash_forward.forward_cases import head_inputs
from flashlearn.lessons.shared import example, reference
from flashlearn.lessons.shared.faulty_formulas.forward import scan
from flashlearn.outcome import Status
from flashlearn.running.values import as_tuple
from tests.reviewing import reviewed

EXERCISES = {name: find(name) for name in ("flash_forward", "flash_forward_causal")}
PLAIN, CAUSAL = EXERCISES.values()
FUNCTIONS = {False: kernels.flash_forward, True: kernels.flash_forward_causal}
SOURCE = Path(kernels.__file__).read_text(encoding="utf-8")


def statuses(exercise, function):
    """The verdicts of all cases that run on a CPU."""
    return {o.status for o in run(exercise, function, compiled=False)}


def small(exercise):
    return [(case, exercise.inputs(case, case.generator())) for case in exercise.cases if not case.gpu]


# ---------------------------------------------------------------- the kernels


@pytest.mark.parametrize("causal", [False, True])
def test_the_running_example_comes_out_as_in_the_reference(causal):
    tensors = [t[None, None].to(flashlearn.DEVICE, torch.float32) for t in (example.Q, example.K, example.V)]
    o, lse = FUNCTIONS[causal](*tensors, example.ALPHA)
    expected_o, expected_lse = reference.attention_forward(
        example.Q, example.K, example.V, example.ALPHA, causal
    )
    torch.testing.assert_close(o[0, 0].cpu().double(), expected_o, rtol=0, atol=1e-6)
    torch.testing.assert_close(lse[0, 0].cpu().double(), expected_lse, rtol=0, atol=1e-6)


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("block", [16, 32, 64])
def test_the_block_size_changes_nothing_but_rounding(causal, block):
    generator = torch.Generator().manual_seed(0)
    q, k, v = (torch.randn(1, 1, S, 20, generator=generator).to(flashlearn.DEVICE) for S in (50, 70, 70))
    o, lse = FUNCTIONS[causal](q, k, v, 0.2, block=block)
    expected = reference.attention_forward(q, k, v, 0.2, causal)
    torch.testing.assert_close((o, lse), expected, rtol=0, atol=1e-5)


def test_queries_that_see_nothing_get_zero_and_the_identity_of_merging():
    generator = torch.Generator().manual_seed(0)
    q, k, v = (torch.randn(1, 1, S, 16, generator=generator).to(flashlearn.DEVICE) for S in (100, 30, 30))
    o, lse = kernels.flash_forward_causal(q, k, v, 0.25)
    assert bool((o[:, :, :70] == 0).all()) and bool((lse[:, :, :70] == -math.inf).all())
    assert bool(torch.isfinite(o).all()) and bool(torch.isfinite(lse[:, :, 70:]).all())


def test_a_causal_kernel_reads_only_the_tiles_that_its_block_can_see():
    case = next(c for c in CAUSAL.cases if c.name == "S 128, D 64")
    q, k, v, alpha = head_inputs(case, case.generator()).values()
    loaded = {}
    for causal, function in FUNCTIONS.items():
        with flashlearn.observing() as (session, _):
            function(q, k, v, alpha)
        loaded[causal] = session.observation().traffic["k_ptr"].loaded
    assert loaded[True] / loaded[False] == (1 + 2 + 3 + 4) / 16


# ---------------------------------------------------------------- right kernels, spelled otherwise


@triton.jit
def other_kernel(
    q_ptr, k_ptr, v_ptr, o_ptr, lse_ptr, alpha, S_q, S_k, D,
    CAUSAL: tl.constexpr, SPELLING: tl.constexpr,
    BLOCK_Q: tl.constexpr, BLOCK_K: tl.constexpr, BLOCK_D: tl.constexpr,
):  # fmt: skip
    rows = tl.program_id(0) * BLOCK_Q + tl.arange(0, BLOCK_Q)
    head = tl.program_id(1)
    d = tl.arange(0, BLOCK_D)
    q_tile = head * S_q * D + rows[:, None] * D + d[None, :]
    in_q = (rows[:, None] < S_q) & (d[None, :] < D)
    q = tl.load(q_ptr + q_tile, mask=in_q, other=0.0)
    log2e: tl.constexpr = 1.4426950408889634
    scale = alpha * log2e if SPELLING == "base 2" else alpha
    m_i = tl.full((BLOCK_Q,), -1e30, tl.float32)
    l_i = tl.zeros((BLOCK_Q,), tl.float32)
    acc = tl.zeros((BLOCK_Q, BLOCK_D), tl.float32)
    tiles = tl.cdiv(S_k, BLOCK_K)
    for t in range(0, tiles):
        start = (tiles - 1 - t) * BLOCK_K if SPELLING == "backwards" else t * BLOCK_K
        columns = start + tl.arange(0, BLOCK_K)
        k_tile = head * S_k * D + columns[None, :] * D + d[:, None]  # loaded as its transpose
        k = tl.load(k_ptr + k_tile, mask=(columns[None, :] < S_k) & (d[:, None] < D), other=0.0)
        v_tile = head * S_k * D + columns[:, None] * D + d[None, :]
        v = tl.load(v_ptr + v_tile, mask=(columns[:, None] < S_k) & (d[None, :] < D), other=0.0)
        s = tl.dot(q, k, input_precision="ieee") * scale
        seen = columns[None, :] < S_k
        if CAUSAL:
            seen = seen & (columns[None, :] - S_k <= rows[:, None] - S_q)
        s = tl.where(seen, s, -float("inf"))
        m_new = tl.maximum(m_i, tl.max(s, axis=1))
        if SPELLING == "base 2":
            rescale, p = tl.exp2(m_i - m_new), tl.exp2(s - m_new[:, None])
        else:
            rescale, p = tl.exp(m_i - m_new), tl.exp(s - m_new[:, None])
        l_i = l_i * rescale + tl.sum(p, axis=1)
        acc = tl.dot(p.to(v.dtype), v, acc * rescale[:, None], input_precision="ieee")
        m_i = m_new
    some = l_i > 0
    o = acc * tl.where(some, 1.0 / l_i, 0.0)[:, None]
    tl.store(o_ptr + q_tile, o, mask=in_q)
    lse = (m_i + tl.log2(l_i)) / log2e if SPELLING == "base 2" else m_i + tl.log(l_i)
    tl.store(lse_ptr + head * S_q + rows, tl.where(some, lse, -float("inf")), mask=rows < S_q)


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("spelling", ["m from a finite number", "base 2", "backwards", "narrow queries"])
def test_a_right_kernel_passes_in_any_spelling(causal, spelling):
    def forward(q, k, v, alpha):
        q, k, v = q.contiguous(), k.contiguous(), v.contiguous()
        B, H, S_q, D = q.shape
        S_k, rows = k.shape[2], 16 if spelling == "narrow queries" else 64
        o, lse = torch.empty_like(q), torch.empty((B, H, S_q), device=q.device)
        other_kernel[(triton.cdiv(S_q, rows), B * H)](
            q, k, v, o, lse, alpha, S_q, S_k, D, CAUSAL=causal, SPELLING=spelling,
            BLOCK_Q=rows, BLOCK_K=64, BLOCK_D=max(16, triton.next_power_of_2(D)),
        )  # fmt: skip
        return o, lse

    exercise = CAUSAL if causal else PLAIN
    outcomes = run(exercise, forward, compiled=False)
    assert {o.status for o in outcomes} == {Status.PASS}, [(o.case.name, o.message) for o in outcomes]


# ---------------------------------------------------------------- real kernels with one line wrong

RESCALED_ACC = "acc = acc * rescale[:, None] + tl.dot("
EDITS = {
    "alpha forgotten": ("s = alpha * tl.dot(", "s = tl.dot("),
    "alpha applied twice": ("s = alpha * tl.dot(", "s = alpha * alpha * tl.dot("),
    "acc not rescaled": (RESCALED_ACC, "acc = acc + tl.dot("),
    "l not rescaled": ("l_i = l_i * rescale + ", "l_i = l_i + "),
    "the maximum is not subtracted": ("tl.maximum(m_i, tl.max(s, axis=1))", "tl.zeros_like(m_i)"),
    "m starts at 0": ('tl.full((BLOCK_Q,), -float("inf"), tl.float32)', "tl.zeros((BLOCK_Q,), tl.float32)"),
    "not divided by l": ("o = acc / ", "o = acc  # "),
    "padded keys are not masked": ('in_keys[None, :], s, -float("inf")', "in_keys[None, :], s, s"),
    "LSE in base 2": ("m_i + tl.log(l_i)", "m_i * 1.4426950408889634 + tl.log2(l_i)"),
    "LSE without m": ("m_i + tl.log(l_i)", "tl.log(l_i)"),
    "accumulator in half precision": (
        ("acc = tl.zeros((BLOCK_Q, BLOCK_D), tl.float32)", "acc = tl.zeros((BLOCK_Q, BLOCK_D), q.dtype)"),
        (
            RESCALED_ACC + 'p.to(v.dtype), v, input_precision="ieee")',
            'acc = (acc * rescale[:, None] + tl.dot(p.to(v.dtype), v, input_precision="ieee")).to(q.dtype)',
        ),
    ),
    "P cast to fp16 whatever V is": ("p.to(v.dtype)", "p.to(tl.float16)"),
    "K is not transposed": ("tl.trans(k)", "k"),
    "keys loaded without a mask": (
        "k = tl.load(k_ptr + columns[:, None] * k_row + d[None, :] * k_col, mask=in_tile, other=0.0)",
        "k = tl.load(k_ptr + columns[:, None] * k_row + d[None, :] * k_col)",
    ),
    "D is not masked": ("in_d = d < D", "in_d = d < BLOCK_D"),
    "loop ends one tile early": ("range(0, S_k, BLOCK_K)", "range(0, S_k // BLOCK_K * BLOCK_K, BLOCK_K)"),
    "alpha folded into the maximum": (
        "m_new = tl.maximum(m_i, tl.max(s, axis=1))",
        "m_new = tl.maximum(m_i, alpha * tl.max(tl.where(in_keys[None, :], tl.dot(q, tl.trans(k), "
        'input_precision="ieee"), -float("inf")), axis=1))',
    ),
}  # fmt: skip
CAUSAL_SEEN = "columns[None, :] <= last_seen[:, None]"
CAUSAL_EDITS = {
    "acc not rescaled": EDITS["acc not rescaled"],
    "no causal mask": ((f" & ({CAUSAL_SEEN})", ""), ("range(0, end, BLOCK_K)", "range(0, S_k, BLOCK_K)")),
    "the diagonal is hidden": (CAUSAL_SEEN, "columns[None, :] < last_seen[:, None]"),
    "one key too many": (
        ("last_seen = rows + S_k - S_q", "last_seen = rows + S_k - S_q + 1"),
        ("* BLOCK_Q + S_k - S_q)", "* BLOCK_Q + S_k - S_q + 1)"),
    ),
    "top-left alignment": (
        ("last_seen = rows + S_k - S_q", "last_seen = rows"),
        ("(tl.program_id(0) + 1) * BLOCK_Q + S_k - S_q", "(tl.program_id(0) + 1) * BLOCK_Q"),
    ),
    "mask after l": (
        ("s = tl.where(seen, s,", "s = tl.where(in_keys[None, :], s,"),
        ("tl.sum(p, axis=1)", "tl.sum(p, axis=1)\n        p = tl.where(seen, p, 0.0)"),
    ),
    "only whole tiles are hidden": (f" & ({CAUSAL_SEEN})", ""),
    "loop end without S_k − S_q": (
        "(tl.program_id(0) + 1) * BLOCK_Q + S_k - S_q",
        "(tl.program_id(0) + 1) * BLOCK_Q",
    ),
    "loop ends one tile early": ("(tl.program_id(0) + 1) * BLOCK_Q", "tl.program_id(0) * BLOCK_Q"),
    "rows that see nothing are NaN": (
        ('shift = tl.where(m_new == -float("inf"), 0.0, m_new)', "shift = m_new"),
        ("acc / tl.where(l_i == 0.0, 1.0, l_i)[:, None]", "acc / l_i[:, None]"),
    ),
    "a finite number for −inf": (
        ('s = tl.where(seen, s, -float("inf"))', "s = tl.where(seen, s, -1e9)"),
        ("acc / tl.where(l_i == 0.0, 1.0, l_i)[:, None]", "acc / l_i[:, None]"),
    ),
}


def edited(causal: bool, edit, folder: Path):
    """The package's launcher with lines of its kernel replaced, from a file of its own."""
    head, middle, plain = SOURCE.partition("def flash_forward_causal_kernel")
    text = middle + plain if causal else head
    for old, new in [edit] if isinstance(edit[0], str) else edit:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    path = folder / "edited.py"
    path.write_text(head + text if causal else text + middle + plain, encoding="utf-8")
    spec = importlib.util.spec_from_file_location("edited", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.flash_forward_causal if causal else module.flash_forward


ALL_EDITS = [(False, n, e) for n, e in EDITS.items()] + [(True, n, e) for n, e in CAUSAL_EDITS.items()]


@pytest.mark.parametrize(("causal", "name", "edit"), ALL_EDITS, ids=[f"{c}: {n}" for c, n, _ in ALL_EDITS])
def test_the_lesson_s_kernel_with_one_thing_wrong_is_told_by_name(causal, name, edit, tmp_path):
    exercise = CAUSAL if causal else PLAIN
    report = flashlearn.check(exercise.name, edited(causal, edit, tmp_path), demo=True)
    assert report.status is exercise.explained.mistakes[name].status
    assert report.finding.mistake == name, str(report)


def test_a_crash_for_another_reason_is_not_named_after_a_declared_one(tmp_path):
    broken = edited(False, ("m_new = tl.maximum(m_i, ", "m_new = tl.maximum(m_old, "), tmp_path)
    report = flashlearn.check("flash_forward", broken, demo=True)
    assert report.status is Status.CRASHED and report.finding.mistake == "crashed"


def test_a_causal_kernel_that_visits_hidden_tiles_is_sent_back(tmp_path):
    whole = edited(True, ("range(0, end, BLOCK_K)", "range(0, S_k, BLOCK_K)"), tmp_path)
    report = flashlearn.check("flash_forward_causal", whole, demo=True)
    assert report.status is Status.WRONG and "multiplies 28 tiles" in report.finding.sentence


@pytest.mark.parametrize("block", [64, 128])
def test_a_causal_kernel_with_larger_blocks_is_not_sent_back(block):
    with_block = functools.partial(kernels.flash_forward_causal, block=block)
    assert reviewed(CAUSAL, with_block) == ""


# ---------------------------------------------------------------- the data

WRONG = [(e, n) for e in EXERCISES.values() for n, m in e.explained.mistakes.items() if m.wrong]


@pytest.mark.parametrize("causal", [False, True])
def test_the_loop_in_torch_without_a_fault_is_the_reference(causal):
    for _, given in small(PLAIN):
        wide = convert(given, torch.float64)
        o, lse = scan(**wide, causal=causal)
        expected_o, expected_lse = reference.attention_forward(**wide, causal=causal)
        torch.testing.assert_close((o, lse), (expected_o, expected_lse), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(("exercise", "name"), WRONG, ids=[f"{e.name}: {n}" for e, n in WRONG])
def test_every_named_mistake_misses_some_case_by_a_thousand_times_what_is_allowed(exercise, name):
    worst = 0.0
    for _, given in small(exercise):
        truth = Truth(exercise, given)
        wrong = as_tuple(exercise.explained.mistakes[name].wrong(**convert(given, torch.float32)))
        for index, out in enumerate(wrong):
            allowed = max(truth.allowed(index)[0], 1e-9)
            worst = max(worst, largest_error(out, truth.expected[index]) / allowed)
    assert worst > 1000


def test_causal_cases_have_queries_that_see_nothing_in_full_and_in_mixed_blocks():
    kinds = set()
    for _, given in small(CAUSAL):
        seen = reference.visible(given["q"].shape[2], given["k"].shape[2], True).any(dim=1)
        for block in seen.split(32):
            kinds.add((bool(block.any()), bool(block.all())))
    assert kinds == {(True, True), (True, False), (False, False)}


def test_strides_of_q_k_and_v_all_differ_in_some_case():
    differ = [{t.stride() for t in (given["q"], given["k"], given["v"])} for _, given in small(PLAIN)]
    assert max(map(len, differ)) == 3


def test_some_rows_lie_so_far_below_zero_that_a_maximum_from_zero_underflows():
    for exercise, causal in ((PLAIN, False), (CAUSAL, True)):
        tops = [reference.attention_scores(g["q"], g["k"], g["alpha"], causal) for _, g in small(exercise)]
        rows = torch.cat([s.amax(dim=-1).flatten() for s in tops])
        assert bool(((rows < -110) & torch.isfinite(rows)).any())


def test_every_edit_of_the_kernels_is_a_declared_mistake():
    declared = [m for m in PLAIN.explained.mistakes.values() if m.launcher]
    assert len(declared) == len(faulty_kernels.EDITS)


# ---------------------------------------------------------------- the pictures

ROW = [1 / math.sqrt(2), 2 / math.sqrt(2), 3 / math.sqrt(2)]
PICTURES = (
    (pictures.one_program(), "scans all 5 tiles"),
    (pictures.online_state(ROW, example.V.tolist(), 1), "O = 0.716, 1.144, LSE = 2.673"),
    (pictures.online_state(ROW, example.V.tolist(), 2), "after keys 0, 1: m = 1.414, l = 1.493"),
    (pictures.padded_tile(3, 2, 4, 16), "6 hold numbers, 58 padding"),
    (pictures.causal_tiles([(12, 12), (12, 6)]), "of 6 tiles 0 whole, 3 crossed, 3 skipped"),
    (pictures.causal_tiles([(6, 12)], align="top-left"), "of 6 tiles 1 whole, 2 crossed, 3 skipped"),
    (pictures.folded_maximum([-40.0, 60.0], -1.5), "max(alpha·x) = 60, alpha·max(x) = −90"),
)


@pytest.mark.parametrize(("picture", "says"), PICTURES)
def test_each_picture_is_drawn_and_says_what_it_shows(picture, says):
    assert says in picture.description
    assert picture.png().startswith(b"\x89PNG")
    assert int.from_bytes(picture.png()[16:20], "big") // 2 <= 1000
    assert any(axes.get_xlabel() for axes in picture.figure.axes)


@pytest.mark.parametrize(("S_q", "S_k"), [(12, 12), (6, 12), (12, 6), (10, 7), (1, 9), (9, 1)])
@pytest.mark.parametrize("align", ["bottom-right", "top-left"])
def test_the_tiles_of_the_picture_are_those_of_the_mask(S_q, S_k, align):
    seen = torch.ones(S_q, S_k).tril(S_k - S_q if align == "bottom-right" else 0)
    for i, row in enumerate(pictures.tile_kinds(S_q, S_k, 4, align)):
        for t, kind in enumerate(row):
            tile = seen[4 * i : 4 * i + 4, 4 * t : 4 * t + 4]
            assert kind == ("whole" if tile.all() else "crossed" if tile.any() else "skipped")
