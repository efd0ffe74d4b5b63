"""The named mistakes of lesson 09: strides, what is kept for the backward pass, and the training loop."""

from __future__ import annotations

from flashlearn.exercise import Earlier, Mistake
from flashlearn.lessons.lesson_09_into_pytorch import training
from flashlearn.lessons.lesson_09_into_pytorch.faulty_formulas.autograd import KEPT_TOGETHER, passes
from flashlearn.lessons.lesson_09_into_pytorch.faulty_formulas.strides import forward
from flashlearn.lessons.lesson_09_into_pytorch.faulty_formulas.training_run import training_run
from flashlearn.lessons.lesson_09_into_pytorch.faulty_kernels import faulty_launcher
from flashlearn.lessons.shared.faulty_formulas.faults import faulty_formula
from flashlearn.outcome import Status
from flashlearn.running.answer import Answer
from flashlearn.running.run_modes import Observed

_launched = faulty_formula(forward)
"""strided_inputs with faults that torch can say."""
_called = faulty_formula(passes)
"""flash_attention with faults that torch can say."""

STRIDED = {
    "v read with k's strides": Mistake(
        "v is read with the strides of k. Both have one shape, and here different layouts.",
        "Sixteen strides go to the kernel: which four stand where v's belong?",
        launcher=faulty_launcher("v with k's"),
        status=Status.OUT_OF_BOUNDS,
    ),
    "k and v read with q's strides": Mistake(
        "k and v are read with the strides of q.",
        "Each tensor brings its own: `*k.stride()`, `*v.stride()`.",
        launcher=faulty_launcher("k and v with q's"),
        status=Status.OUT_OF_BOUNDS,
    ),
    "o written with q's strides": Mistake(
        "o is written with the strides of q, but o is a tensor of its own, with its own layout.",
        "Pass `*o.stride()` for o, whatever q looks like.",
        launcher=faulty_launcher("o with q's"),
        status=Status.OUT_OF_BOUNDS,
    ),
    "the last stride taken to be 1": Mistake(
        "Neighbouring elements of a row are taken to lie side by side in memory: in your launch the last "
        "stride is 1, and not every case has it so.",
        "Pass the fourth stride as well: `*t.stride()` has all four.",
        launcher=faulty_launcher("last is 1"),
        status=Status.OUT_OF_BOUNDS,
    ),
    "every tensor taken to be contiguous": Mistake(
        "q, k and v are read as if they were contiguous, with strides made from their shapes. A view's "
        "memory is laid out otherwise.",
        "Ask the tensor: `t.stride()`. A shape says nothing about strides.",
        launcher=faulty_launcher("as if contiguous"),
        status=Status.OUT_OF_BOUNDS,
    ),
    "heads and batch exchanged": Mistake(
        "The strides of the batch and of the head have changed places.",
        "The kernel's order is batch, head, row, column: that of the dimensions, and of `t.stride()`.",
        launcher=faulty_launcher("heads before batch"),
        status=Status.OUT_OF_BOUNDS,
    ),
    "alpha from the padded D": Mistake(
        "alpha is one over the root of BLOCK_D, the padded width. It should be that of D.",
        "The case with D 24 is padded to 32; padding must not change the mathematics.",
        **_launched("alpha of the padded D"),
    ),
    "alpha = 0 taken for none": Mistake(
        "An alpha of 0.0 is replaced by the default: `alpha or …` takes every false value for a missing one.",
        "Ask `if alpha is None`.",
        **_launched("zero is no alpha"),
    ),
    "no default for alpha": Mistake(
        "Where no alpha is given, 1 is used. The default is 1/√D.",
        "`if alpha is None: alpha = 1 / math.sqrt(q.shape[-1])`.",
        **_launched("no default"),
    ),
    "alpha from S": Mistake(
        "The default of alpha is one over the root of a length S, not of D.",
        "D is the last dimension, `q.shape[-1]`.",
        **_launched("alpha from S_q", also=("alpha from S_k",)),
    ),
    "alpha is never used": Mistake(
        "An alpha that is given changes nothing: 1/√D is used whatever it is.",
        "The default is for `alpha is None` alone; else hand on what came in.",
        **_launched("given alpha ignored"),
    ),
    "alpha applied twice": Mistake(
        "The scores carry alpha twice: the launcher has multiplied it on, and the kernel does it again.",
        "The kernel takes alpha as an argument: leave q as it is.",
        **_launched("alpha twice"),
    ),
    "o's layout": Mistake(
        "The numbers of o are right and in the wrong places: o was allocated with the layout of q, and "
        "written as if it were contiguous.",
        "Pass `*o.stride()` for o, and allocate it with `torch.empty((B, H, S_q, D), …)`: `empty_like(q)` "
        "keeps the order of q's dimensions in memory.",
        **_launched("o like q"),
    ),
}


ATTENTION = {
    "the mask is forgotten": Mistake(
        "causal=True changes nothing: o is that of unmasked attention.",
        "Choose the launchers by `causal`: there are two of each.",
        **_called("no mask"),
    ),
    "the mask is turned round": Mistake(
        "What causal=True gives is unmasked, and without it o is masked: the two launchers stand in each "
        "other's place.",
        "`flash_forward_causal if causal else flash_forward`.",
        **_called("mask turned round"),
    ),
    "the mask is forgotten on the way back": Mistake(
        "The gradients are those of unmasked attention, though o is masked.",
        "The backward pass has to know what the forward pass did: keep `ctx.causal` and choose by it.",
        **_called("no mask backward", also=(("no mask backward", "guarded"),)),
    ),
    "the mask is forgotten in dQ": Mistake(
        "dQ is that of unmasked attention, though o is masked.",
        "Two launchers are chosen on the way back. Look at the one of dQ.",
        **_called("no mask in dq", also=(("no mask in dq", "guarded"),)),
    ),
    "the mask is forgotten in dK and dV": Mistake(
        "dK and dV are those of unmasked attention, though o is masked.",
        "Two launchers are chosen on the way back. Look at the one of dK and dV.",
        **_called("no mask in dkv", also=(("no mask in dkv", "guarded"),)),
    ),
    "alpha is forgotten on the way back": Mistake(
        "The gradients are computed with alpha = 1/√D, though the forward pass was given another.",
        "Keep it: `ctx.alpha = alpha`.",
        **_called("default alpha backward"),
    ),
    "alpha is 1 on the way back": Mistake(
        "The gradients are computed with alpha = 1, which is not what the forward pass had.",
        "Keep it: `ctx.alpha = alpha`.",
        **_called("no alpha backward"),
    ),
    "alpha is never used": Mistake(
        "An alpha that is given changes nothing: 1/√D is used whatever it is.",
        "The default is for `alpha is None` alone; else hand on what came in.",
        **_called("given alpha ignored"),
    ),
    "no default for alpha": Mistake(
        "Where no alpha is given, 1 is used. The default is 1/√D.",
        "`if alpha is None: alpha = 1 / math.sqrt(q.shape[-1])`.",
        **_called("no default"),
    ),
    "alpha from S": Mistake(
        "The default of alpha is one over the root of another length than D: of S, or of "
        "the number of heads.",
        "D is the last dimension, `q.shape[-1]`.",
        **_called("alpha from S_q", also=("alpha from S_k", "alpha from H")),
    ),
    "alpha = 0 taken for none": Mistake(
        "An alpha of 0.0 is replaced by the default: `alpha or …` takes every false value for a missing one.",
        "Ask `if alpha is None`.",
        **_called("zero is no alpha"),
    ),
    "causal and alpha exchanged": Mistake(
        "causal and alpha arrive in each other's place: alpha is 1 or 0, and there is a mask wherever alpha "
        "is not 0.",
        "`apply` takes its arguments by position: in the order of `forward`.",
        **_called("causal and alpha exchanged"),
    ),
    "dQ of the scaled q": Mistake(
        "forward multiplies q by alpha itself, and what backward returns is the gradient by alpha q: dQ "
        "lacks the factor alpha.",
        "By the chain rule, what is the derivative of alpha q by q?",
        **_called("q scaled beforehand"),
    ),
    "alpha applied twice to dQ": Mistake(
        "dQ is multiplied by alpha once more, though its kernel has done it.",
        "Return what the launcher gives, as it is.",
        **_called("dq scaled again"),
    ),
    "alpha applied twice to dK": Mistake(
        "dK is multiplied by alpha once more, though its kernel has done it.",
        "Return what the launcher gives, as it is.",
        **_called("dk scaled again"),
    ),
    "dk and dv exchanged": Mistake(
        "The gradient of k is what v's should be, and the other way round.",
        "backward returns gradients in the order of forward's arguments: q, k, v, causal, alpha.",
        **_called("dk and dv exchanged"),
    ),
    "k and v exchanged on the way back": Mistake(
        "The backward pass takes v for k and k for v: they were kept, or unpacked, in another order.",
        "`ctx.saved_tensors` gives tensors back in the order of `save_for_backward`.",
        **_called("k and v exchanged"),
    ),
    "o and do exchanged": Mistake(
        "The backward launchers were given do in o's place, and o in do's. delta does not notice.",
        "Their order is q, k, v, o, do, lse, alpha.",
        **_called("o and do exchanged"),
    ),
    "do is ignored": Mistake(
        "The gradients are those of o.sum(): ones were taken for do.",
        "backward's argument is the gradient of o. Hand it on.",
        **_called("dO of ones"),
    ),
    "delta is halved": Mistake(
        "The gradients of q and k are those of a delta of half its size: the o that was kept is half the o "
        "of the forward pass.",
        "delta is Σ_d dO ∘ O: keep o as the kernel wrote it.",
        **_called("o halved"),
    ),
    "delta omitted": Mistake(
        "dQ and dK lack delta, as if the o that was kept were zeros.",
        "Keep o itself, and keep it after the kernel has written it.",
        **_called("no delta"),
    ),
    "kept on the class": Mistake(
        "Where a second call comes before the first one's backward pass, the gradients are those of the "
        "second call's numbers. What is kept on the class or in a global is shared by all calls; a model "
        "has one call per layer.",
        "Each call has a `ctx` of its own: `ctx.save_for_backward(…)`.",
        **_called(KEPT_TOGETHER[0], also=KEPT_TOGETHER[1:]),
    ),
    "nothing to differentiate": Mistake(
        "o is right and hangs on no graph: it does not require a gradient though q, k and v do; the "
        "gradients shown here as NaN do not exist.",
        "Call `FlashAttention.apply(q, k, v, …)` with q, k and v themselves, neither detached nor under "
        "no_grad, and not `FlashAttention.forward`.",
        **_called("no graph"),
    ),
}


# ---------------------------------------------------------------- training runs that go wrong


_trained = faulty_formula(training_run)

TRAINING = {
    "the model sees the future": Mistake(
        "This is the curve of a model whose attention is not causal: every position sees the character that "
        "it is to predict.",
        "`flash_attention(q, k, v, causal=True)`: the model passes q, k and v, and nothing about a mask.",
        **_trained("no mask"),
    ),
    "targets not shifted": Mistake(
        "The model is asked for the character that it has just read.",
        "Position i reads `batch[:, i]` and is to predict `batch[:, i + 1]`.",
        **_trained("targets not shifted"),
    ),
    "gradients pile up": Mistake(
        "The first losses are right, and from then on every step adds its gradient to those of all steps "
        "before: backward() adds to .grad, it does not replace it.",
        "`adam.zero_grad()` before each `loss.backward()`.",
        **_trained("gradients pile up"),
    ),
    "losses noted after the step": Mistake(
        "Each loss is that of the batch after the step that learnt from it.",
        "Note the loss that the step is made from, before it.",
        **_trained("noted after the step"),
    ),
    "no step": Mistake(
        "These are the losses of the parameters at the start, for every batch: nothing was learnt.",
        "`adam.step()` after `loss.backward()`, with the gradients still there. And is `optimizer` given the "
        "model that is trained?",
        **_trained("no step"),
    ),
    "logits reshaped instead of transposed": Mistake(
        "The logits were reshaped to (B, characters, S): that deals the same numbers out anew, and mixes "
        "positions with characters.",
        "Swap the two axes, `logits.mT`, or flatten logits and targets.",
        **_trained("logits reshaped"),
    ),
    "logits turned and then flattened": Mistake(
        "The logits' last two axes are exchanged, and then the rows are cut anew: a row of the result is no "
        "position's any more.",
        "Either leave the characters last and flatten the first two axes, or put them second and flatten "
        "nothing.",
        **_trained("logits turned and flattened"),
    ),
    "a new optimiser for every step": Mistake(
        "Adam forgets its moments before every step: these are the losses of an optimiser that is made anew "
        "each time.",
        "Make it once, before the loop.",
        **_trained("new optimiser"),
    ),
    "losses summed": Mistake(
        "Each loss is the sum over all positions, not their mean.",
        "What does `F.cross_entropy` do without `reduction`?",
        **_trained("losses summed"),
    ),
}


def review_training(answer: Answer, earlier: Earlier) -> str:
    """A sentence if no kernels computed the run's attention, or if its losses still hang on their graphs."""
    size = training.Size(layers=1, heads=1, head_dim=16, context=16, batch=1, steps=2, learning_rate=3e-3)
    batches = training.batches(training.text(), size, seed=0)
    given = {"size": size, "start": training.initial(size, seed=0), "batches": batches}
    evidence = answer.run(given, Observed()).completed()
    names = {name for name, _ in evidence.forbidden if "log_softmax" not in name}  # that one is the loss's
    if any("attention" in name or "softmax" in name for name in names):
        return "The curve is right, but torch's attention drew it. Hand the model your flash_attention."
    launched = len(evidence.observation.launches)
    if launched < 3 * size.steps:
        return (
            f"The curve is right, but {launched} kernels ran in {size.steps} steps; with "
            "flash_attention in the model there are at least three in each."
        )
    if evidence.outputs[0].requires_grad:
        return (
            "The curve is right, but its losses hang on their graphs, and so every step's tensors stay in "
            "memory to the end of the run. Keep loss.detach()."
        )
    return ""
