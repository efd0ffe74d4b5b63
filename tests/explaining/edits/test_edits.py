"""The edits of a text, and the kind of each."""

import pytest

from flashlearn.explaining.edits import edits_of
from flashlearn.explaining.edits.edit import EDIT_KINDS
from flashlearn.running.answer_source import sections
from tests.corpus import sample, wrong_entries

KERNEL = """@triton.jit
def f_kernel(x_ptr, y_ptr, n, alpha, stride_xm, stride_xn, stride_ym, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = offs <= n
    x = tl.load(x_ptr + offs * stride_xm, mask=inside)
    total = tl.zeros((BLOCK,), dtype=tl.float16)
    for start in range(BLOCK, n, BLOCK):
        total = tl.max(x, axis=0) + total
        total += (x - 1) * alpha
    tl.store(y_ptr + offs * stride_ym, total.to(tl.float16), mask=inside)
"""
LAUNCHER = """def f(x, é):
    y = torch.empty((x.shape[0], 2))
    f_kernel[(x.shape[0] // 16,)](x, y, len("é"), 2.0, x.stride(0))
    return y, x
"""


def made(text: str) -> set[tuple[str, str, str]]:
    return {(edit.kind.name, edit.old, edit.new) for edit in edits_of(text)}


@pytest.mark.parametrize(
    "edit",
    [
        ("comparison", "offs <= n", "offs < n"),
        ("missing other", "tl.load(x_ptr + offs * stride_xm, mask=inside)",
         "tl.load(x_ptr + offs * stride_xm, mask=inside, other=0.0)"),
        ("dtype", "tl.float16", "tl.float32"),
        ("start value", "BLOCK", "0"),
        ("function", "tl.max(x, axis=0)", "tl.sum(x, axis=0)"),
        ("brackets", "(x - 1) * alpha", "x * alpha - 1"),
        ("assignment", "total += (x - 1) * alpha", "total = (x - 1) * alpha"),
        ("redundant operand", "(x - 1) * alpha", "alpha"),
        ("name", "stride_ym", "stride_xm"),
        ("redundant statement", "total += (x - 1) * alpha", "pass"),
        ("narrow cast", "tl.float16", "tl.float32"),
        ("constant", "0", "1"),
    ],
)  # fmt: skip
def test_common_mistakes_in_a_kernel_have_their_edits(edit):
    assert edit in made(KERNEL)


@pytest.mark.parametrize(
    "edit",
    [
        ("round up", "x.shape[0] // 16", "triton.cdiv(x.shape[0], 16)"),
        ("argument order", "x, y", "y, x"),
        ("argument order", "y, x", "x, y"),
        ("function", "torch.empty((x.shape[0], 2))", "torch.zeros((x.shape[0], 2))"),
    ],
)
def test_common_mistakes_in_a_launcher_have_their_edits(edit):
    assert edit in made(LAUNCHER)


def test_every_edit_changes_the_text_in_its_span():
    for text in (KERNEL, LAUNCHER):
        for edit in edits_of(text):
            after = edit.applied(text)
            assert after != text
            assert after.encode()[: edit.start] == text.encode()[: edit.start]
            assert text.encode()[: edit.start].count(b"\n") + 1 in (edit.line, edit.line + 1)


def test_every_edited_text_compiles():
    """It may be nonsense, but Python can read it."""
    for text in (KERNEL, LAUNCHER):
        for edit in edits_of(text):
            code = compile(edit.applied(text), "<edited>", "exec")
            assert code.co_names, edit


def test_no_edit_is_made_twice():
    edits = edits_of(KERNEL)
    assert len({edit.applied(KERNEL) for edit in edits}) > 0.95 * len(edits)


def test_a_corpus_of_answers_has_edits_of_most_kinds():
    texts = [one.text for entry in sample(wrong_entries(), 40) for one in sections(entry.function)]
    kinds = {edit.kind.name for text in (KERNEL, LAUNCHER, *texts) for edit in edits_of(text)}
    assert len(kinds) > 0.6 * len(EDIT_KINDS)
