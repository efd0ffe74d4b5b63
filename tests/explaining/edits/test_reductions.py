"""Edits of reductions, of discarded results and of guards that overwrite a value."""

import pytest

from flashlearn.explaining.edits import edits_of

KERNEL = """@triton.jit
def f_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    m = tl.full((BLOCK,), -float("inf"), tl.float32)
    total = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, n, 16):
        offs = start + tl.arange(0, BLOCK)
        inside = offs < n
        x = tl.load(x_ptr + offs, mask=inside, other=-float("inf"))
        least = tl.min(x, axis=0)
        top = tl.max(x)
        tl.dot(x, x, total)
        old = m
        m = tl.maximum(old, top)
        m = tl.where(m == -float("inf"), 0.0, m)
        total = total * tl.exp(old - m) + tl.exp(x - m) + m
    tl.store(y_ptr + offs, x / (total + 1e-6) + tl.log(total + 1e-6), mask=inside)
"""


def put_by(kind: str, text: str = KERNEL) -> list[str]:
    return [edit.new for edit in edits_of(text) if edit.kind.name == kind]


@pytest.mark.parametrize(
    "kind, new",
    [
        ("loop step", "BLOCK"),
        ("missing axis", "tl.max(x, axis=1)"),
        ("masked lanes", 'tl.min(tl.where(inside, x, float("inf")), axis=0)'),
        ("discarded result", "total = tl.dot(x, x, total)"),
        ("added epsilon", "tl.where(total == 0.0, 1.0, total)"),
        ("added epsilon", "total"),
    ],
)
def test_a_kernel_has_the_edit(kind, new):
    assert new in put_by(kind)


def test_a_guard_gets_a_separate_name_in_exponents_alone():
    edit = next(edit for edit in edits_of(KERNEL) if edit.kind.name == "overwriting guard")
    text = edit.applied(KERNEL)
    assert 'm_for_exp = tl.where(m == -float("inf"), 0.0, m)' in text
    assert "tl.exp(old - m_for_exp) + tl.exp(x - m_for_exp) + m\n" in text
    assert text.count("\n") == KERNEL.count("\n")


def test_a_count_of_elements_is_not_multiplied_by_a_tile_s_size():
    assert not any("start * BLOCK" in new for new in put_by("tiles to elements"))
    tiles = KERNEL.replace("range(0, n, 16)", "range(n)")
    assert "(start * BLOCK)" in put_by("tiles to elements", tiles)


def test_a_call_with_an_effect_is_not_a_discarded_result():
    assert not any("store" in new for new in put_by("discarded result"))


def test_the_pitch_of_heads_is_exchanged_in_all_lines():
    kernel = """@triton.jit
def g_kernel(lse_ptr, delta_ptr, H, S_q, S_k, BLOCK: tl.constexpr):
    h = tl.program_id(1)
    b = tl.program_id(2)
    lse_ptr += (b * H + h) * S_k
    delta_ptr += (b * H + h) * S_k
    queries = tl.arange(0, BLOCK) < S_q
    keys = tl.arange(0, BLOCK) < S_k
"""
    pitches = [edit for edit in edits_of(kernel) if edit.kind.name == "pitch"]
    both = next(e for e in pitches if e.also and e.new == "(b * H + h) * S_q")
    assert both.applied(kernel).count("* S_q\n") == 2
    assert both.heads
