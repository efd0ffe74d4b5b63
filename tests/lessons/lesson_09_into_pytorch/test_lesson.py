"""Lesson 09: the oracle is autograd's, layouts are what they say, misfits are refused, right answers pass."""

import functools
import math

import pytest
import torch
import triton
import triton.language as tl

import flashlearn
from flashlearn.judging.cases import run
from flashlearn.judging.references import convert, largest_error
from flashlearn.kernels import attention as kernels
from flashlearn.lessons import find
from flashlearn.lessons.lesson_09_into_pytorch import autograd_calls, pictures, training
from flashlearn.lessons.lesson_09_into_pytorch import bad_arguments as misfits
from flashlearn.lessons.lesson_09_into_pytorch.autograd_calls import forward_and_backward
from flashlearn.lessons.lesson_09_into_pytorch.faulty_formulas import autograd, strides
from flashlearn.lessons.lesson_09_into_pytorch.laid_out_inputs import lay_out
from flashlearn.lessons.lesson_09_into_pytorch.strided_inputs import EDITS
from flashlearn.lessons.shared import reference
from flashlearn.outcome import Status
from tests.reviewing import reviewed

STRIDED, ATTENTION, TRAINING = map(find, ("strided_inputs", "flash_attention", "train_with_your_kernel"))


def statuses(exercise, function):
    """The verdicts of all cases that run on a CPU."""
    return {o.status for o in run(exercise, function, compiled=False)}


def drawn(exercise):
    return [(case, exercise.inputs(case, case.generator())) for case in exercise.cases if not case.gpu]


# ---------------------------------------------------------------- the oracle and the data


@pytest.mark.parametrize("case, given", drawn(ATTENTION), ids=lambda x: getattr(x, "name", ""))
def test_the_oracle_agrees_with_autograd_on_every_case(case, given):
    wide = convert(given, torch.float64)
    leaves = [wide[name].clone().requires_grad_() for name in "qkv"]
    alpha = 1 / math.sqrt(leaves[0].shape[-1]) if wide["alpha"] is None else wide["alpha"]
    keep = reference.visible(leaves[0].shape[2], leaves[1].shape[2], wide["causal"])
    s = (alpha * leaves[0] @ leaves[1].mT).masked_fill(~keep, -math.inf)
    o = reference.softmax(s) @ leaves[2]
    truth = (o, *torch.autograd.grad(o, leaves, wide["do"]))
    for ours, theirs in zip(ATTENTION.reference(**wide), truth, strict=True):
        assert largest_error(ours, theirs.detach()) < 1e-12


@pytest.mark.parametrize("layout", ["contiguous", "projection", "columns", "every second"])
def test_a_layout_changes_strides_and_no_numbers(layout):
    x = torch.arange(48.0).view(1, 2, 4, 6)
    view = lay_out(x, layout)
    assert torch.equal(view, x)
    assert view.is_contiguous() == (layout == "contiguous")


def test_expanded_heads_share_their_memory():
    view = lay_out(torch.randn(1, 3, 4, 6), "expanded")
    assert view.shape == (1, 3, 4, 6) and view.stride(1) == 0


def test_the_cases_have_every_kind_of_stride_and_some_where_q_k_and_v_differ():
    cases = drawn(STRIDED)
    strides = [[given[name].stride() for name in "qkv"] for _, given in cases]
    assert any(q[3] != 1 for q, _, _ in strides) and any(k[3] != 1 for _, k, _ in strides)
    assert any(s[1] == 0 for three in strides for s in three)
    assert any(len({tuple(s) for s in three}) == 3 for three in strides)
    buffers = [len({given[name].untyped_storage().data_ptr() for name in "qkv"}) for _, given in cases]
    assert 1 in buffers


def test_attention_s_cases_cover_what_autograd_may_do():
    given = [inputs for _, inputs in drawn(ATTENTION)]
    assert any(i["do"].stride() == (0, 0, 0, 0) for i in given)
    assert any(i["another_call"] for i in given)
    assert any(i["causal"] and i["q"].shape[2] > i["k"].shape[2] for i in given)
    assert {None, 0.0} <= {i["alpha"] for i in given}


# ---------------------------------------------------------------- right answers


def test_every_edit_of_the_launcher_is_a_declared_mistake():
    declared = [m for m in STRIDED.explained.mistakes.values() if m.launcher]
    assert len(declared) == len(EDITS)


FORMULAS = ((ATTENTION, autograd.passes), (STRIDED, strides.forward))


@pytest.mark.parametrize(("exercise", "formula"), FORMULAS, ids=("flash_attention", "strided_inputs"))
def test_a_formula_without_a_fault_is_the_reference(exercise, formula):
    for _, given in drawn(exercise):
        wide = convert(given, torch.float64)
        for ours, right in zip(formula(**wide), exercise.reference(**wide), strict=True):
            assert largest_error(ours, right) < 1e-12


def test_what_autograd_makes_of_a_faulty_function_is_what_its_formula_says():
    faults = frozenset({"alpha from S_q", "no mask in dq", autograd.KEPT + "lse"})
    function = functools.partial(autograd.passes, faults=faults)
    for _, given in drawn(ATTENTION):
        through_autograd = forward_and_backward(function, convert(given, torch.float64))
        formula = function(**convert(given, torch.float64))
        for a, b in zip(through_autograd, formula, strict=True):
            assert largest_error(a, b) < 1e-12


def test_two_mistakes_around_right_kernels_are_named_together():
    def forgets(q, k, v, causal=False, alpha=None):
        alpha = alpha or 1 / math.sqrt(q.shape[-1])
        return ExchangesTwo.apply(q, k, v, causal, alpha)

    report = flashlearn.check("flash_attention", forgets, demo=True)
    assert report.finding.mistake == "alpha = 0 taken for none + dk and dv exchanged"


class ExchangesTwo(kernels.FlashAttention):
    """The course's Function, but dk and dv come back in each other's place."""

    @staticmethod
    def backward(ctx, do):
        dq, dk, dv, *rest = kernels.FlashAttention.backward(ctx, do)
        return dq, dv, dk, *rest


def test_a_launcher_that_copies_views_is_sent_back():
    def copying(q, k, v, alpha=None):
        return kernels.strided_inputs(q, k.contiguous(), v.contiguous(), alpha)

    assert statuses(STRIDED, copying) == {Status.PASS}
    assert "where k and v are views, no program reads them" in reviewed(STRIDED, copying)


def test_a_training_loop_in_other_words_passes():
    def other(size, start, batches):
        model = training.Transformer(size, start)
        adam = training.optimizer(model)

        def attention(q, k, v):
            return kernels.flash_attention(q.contiguous(), k, v, True)

        losses = torch.empty(len(batches))
        for i, batch in enumerate(batches):
            model.zero_grad()
            logits = model(batch[:, :-1], attention).transpose(1, 2)
            loss = torch.nn.functional.cross_entropy(logits, batch[:, 1:])
            loss.backward()
            adam.step()
            losses[i] = loss.item()
        return losses

    assert flashlearn.check("train_with_your_kernel", other, demo=True).passed


# ---------------------------------------------------------------- misfits


def test_every_misfit_is_refused_by_the_course_with_a_clear_message():
    assert reviewed(STRIDED, kernels.strided_inputs) == ""
    for misfit in misfits.misfits():
        with pytest.raises((TypeError, ValueError)):
            kernels.flash_attention(misfit.q, misfit.k, misfit.v)


def test_a_launcher_without_checks_is_told_which_misfit_it_takes():
    def unguarded(q, k, v, alpha=None):
        return kernels.flash_forward(q, k, v, 1 / math.sqrt(q.shape[-1]) if alpha is None else alpha)

    report = flashlearn.check("strided_inputs", unguarded, demo=True)
    assert not report.passed
    assert "q in float16 with k and v in float32" in str(report)


def test_all_that_a_launcher_takes_and_should_not_is_told_and_much_is_counted():
    shapes = [one for one in misfits.misfits() if one.kind == misfits.OTHER_ERROR and "of" in one.description]
    wide = [one for one in shapes if "of D" in one.description]
    assert "accepts v of D 32 with q and k of D 16. Raise a ValueError" in misfits._accepted(wide[1:])
    assert "each of these: k and v of D 32 with q of D 16; v of D 32" in misfits._accepted(wide)
    assert f"; and {len(shapes) - 3} more that do not fit." in misfits._accepted(shapes)


@pytest.mark.parametrize(
    "message, lacks",
    [
        ("bad input", "which argument"),
        ("q, k and v do not fit", "what was found"),
        ("q is torch.float16, k torch.float32", ""),
    ],
)
def test_a_message_has_to_name_the_argument_and_what_was_found(message, lacks):
    first = misfits.misfits()[0]
    assert lacks in misfits._unclear(first, message)
    assert bool(misfits._unclear(first, message)) == bool(lacks)


def test_torch_s_own_complaint_is_no_message_of_a_launcher_s():
    def by_accident(q, k, v, alpha=None):
        _B, _H, _S, _D = q.shape
        kind = ValueError if q.dtype == k.dtype == torch.float32 else TypeError
        raise kind(f"q is {q.dtype}, k {k.dtype}, v {v.dtype} {q.device} {k.device} 32 12 3 2")

    sentence = reviewed(STRIDED, by_accident)
    assert "q with three dimensions" in sentence and "not enough values to unpack" in sentence


def test_every_way_in_which_a_launcher_refuses_wrongly_is_said_at_once():
    def two_slips(q, k, v, alpha=None):
        try:
            o, lse = kernels.strided_inputs(q, k, v, alpha)
        except TypeError as error:
            raise ValueError(*error.args) from None
        return torch.empty_like(q).copy_(o), lse

    sentence = reviewed(STRIDED, two_slips)
    assert "it raises ValueError, and should raise TypeError" in sentence
    assert "Besides, where q, k and v are views" in sentence
    assert "o has the strides (640, 16, 32, 1)" in sentence


@pytest.mark.parametrize(
    "kept", ["ctx.lse = lse", "ctx.rest = (o.clone(), [lse])", "ctx.rest = {'lse': lse}"]
)
def test_a_tensor_that_is_an_attribute_of_ctx_is_noticed(kept):
    class Kept(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            o, lse, ctx.alpha = x * 2, x.sum(1), 0.5
            exec(kept, {"ctx": ctx, "o": o, "lse": lse})
            return o

    o = Kept.apply(torch.ones(2, 2, requires_grad=True))
    name = kept.split(" ")[0]
    assert autograd_calls._kept_on_ctx(o) == [f"`{name}`"]
    assert autograd_calls._kept_on_ctx(2 * o + 1) == [f"`{name}`"]


def test_what_is_saved_for_backward_is_no_attribute_of_ctx():
    q, k, v = (torch.randn(1, 1, 4, 16, requires_grad=True) for _ in range(3))
    assert autograd_calls._kept_on_ctx(kernels.flash_attention(q, k, v)) == []


def test_an_output_laid_out_like_q_is_refused_though_its_numbers_are_right():
    def like_q(q, k, v, alpha=None):
        o, lse = kernels.strided_inputs(q, k, v, alpha)
        return torch.empty_like(q).copy_(o), lse

    text = reviewed(STRIDED, like_q)
    assert "o has the strides (640, 16, 32, 1), those of the view q" in text
    assert "contiguous, (640, 320, 16, 1) there" in text


def test_a_complaint_after_the_cases_is_not_counted_as_a_case():
    def unguarded(q, k, v, alpha=None):
        return kernels.flash_forward(q, k, v, 1 / math.sqrt(q.shape[-1]) if alpha is None else alpha)

    text = str(flashlearn.check("strided_inputs", unguarded, demo=True))
    assert "12 cases, observed" in text and "✗" not in text.split("Cases", 1)[1]


# ---------------------------------------------------------------- whose work


@triton.jit
def idle_kernel(out_ptr):
    tl.store(out_ptr, 0.0)


def by_parts_beside_idle_kernels(q, k, v):
    for _ in range(4):
        idle_kernel[(1,)](torch.empty(1))
    scores = q @ k.mT / math.sqrt(q.shape[-1])
    hidden = torch.ones(scores.shape[-2:], dtype=torch.bool).triu(1)
    weights = torch.exp(scores.masked_fill(hidden, -math.inf))
    return weights / weights.sum(-1, keepdim=True) @ v


def test_a_run_with_torch_s_attention_is_not_the_learner_s():
    for attention in (training.sdpa, training.plain, by_parts_beside_idle_kernels):
        report = flashlearn.check(
            "train_with_your_kernel", lambda *run, a=attention: training.train(*run, a), demo=True
        )
        assert not report.passed and "torch's attention" in str(report).replace("\n", " ")


def test_torch_s_attention_with_its_gradients_is_not_the_learner_s():
    def by_torch(q, k, v, causal=False, alpha=None):
        keep = reference.visible(q.shape[2], k.shape[2], causal)
        o = torch.nn.functional.scaled_dot_product_attention(q, k, v, keep, scale=alpha)
        return o.nan_to_num()

    assert Status.PASS not in statuses(ATTENTION, by_torch)


# ---------------------------------------------------------------- the kernels' own promises


def test_a_gradient_of_the_gradient_is_refused():
    q, k, v = (torch.randn(1, 1, 4, 16, device=flashlearn.DEVICE, requires_grad=True) for _ in range(3))
    (dq,) = torch.autograd.grad(kernels.flash_attention(q, k, v).square().sum(), q, create_graph=True)
    with pytest.raises(RuntimeError, match="once_differentiable"):
        dq.sum().backward()


def test_nothing_of_the_size_of_p_is_kept():
    q, k, v = (torch.randn(1, 1, 64, 16, device=flashlearn.DEVICE, requires_grad=True) for _ in range(3))
    kept = []
    with torch.autograd.graph.saved_tensors_hooks(lambda t: kept.append(t.shape) or t, lambda t: t):
        kernels.flash_attention(q, k, v)
    assert sorted(map(tuple, kept)) == sorted([(1, 1, 64, 16)] * 4 + [(1, 1, 64)])


# ---------------------------------------------------------------- the pictures


def test_each_picture_is_drawn_and_says_what_it_shows():
    numbers = torch.arange(12.0).view(1, 2, 3, 2)
    for picture, says in [
        (pictures.layouts({"columns": numbers.mT.contiguous().mT}), "(12, 6, 1, 3)"),
        (pictures.kept(), "4.7 times"),
        (pictures.finite_differences([0.1, 0.2], {"fp16": [0.3, 0.1]}, {"fp16": 1e-3}), "fp16 at best 1e-01"),
        (pictures.loss_curves([4.0, 3.0], [4.0, 3.5], [4.0, 3.9], 0.1), "largest gap 5.0e-01 at step 1"),
        (pictures.loss_curves([4.0, 3.0], [4.0, 3.0]), "largest gap 0.0e+00"),
    ]:
        assert says in picture.description
        assert picture.png().startswith(b"\x89PNG")


def test_losses_that_keep_their_graphs_are_refused():
    def with_graphs(size, start, batches):
        model = training.Transformer(size, start)
        adam = training.optimizer(model)
        losses = []
        for batch in batches:
            logits = model(batch[:, :-1], lambda q, k, v: kernels.flash_attention(q, k, v, causal=True))
            losses.append(torch.nn.functional.cross_entropy(logits.flatten(0, 1), batch[:, 1:].flatten()))
            adam.zero_grad()
            losses[-1].backward()
            adam.step()
        return torch.stack(losses)

    assert "loss.detach()" in reviewed(TRAINING, with_graphs)
    assert reviewed(TRAINING, lambda *run: with_graphs(*run).detach()) == ""


def test_a_crash_in_a_launcher_of_the_course_is_shown_where_it_was_called():
    def exchanged(ctx_or_q, k, v, causal=False, alpha=None):
        o, lse = kernels.flash_forward(ctx_or_q, k, v, alpha or 0.25)
        return kernels.dq_kernel(ctx_or_q, k, v, lse, o, lse, 0.25)

    outcome = flashlearn.check("flash_attention", exchanged, demo=True).outcomes[0]
    assert outcome.place.function == "exchanged" and "dq_kernel" in outcome.place.text
