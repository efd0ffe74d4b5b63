"""A small Llama computes the same with `flashlearn.attention` as with torch's, padded, packed and cached."""

from __future__ import annotations

import copy

import pytest
import torch

import flashlearn
from flashlearn.machine import device

transformers = pytest.importorskip("transformers")

CONFIG = {
    "vocab_size": 96, "hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 2,
    "num_attention_heads": 4, "num_key_value_heads": 2, "max_position_embeddings": 128,
}  # fmt: skip


@pytest.fixture(scope="module")
def models():
    """The same random weights with torch's attention and with ours."""
    flashlearn.register_in_transformers()
    torch.manual_seed(0)
    made = transformers.LlamaForCausalLM._from_config(
        transformers.LlamaConfig(**CONFIG), attn_implementation="sdpa"
    )
    ours = copy.deepcopy(made)
    ours.set_attn_implementation("fl_attention")
    return made.to(device.default()), ours.to(device.default())


def tokens(B: int, S: int) -> torch.Tensor:
    return torch.randint(0, 96, (B, S), device=device.default())


def test_logits_and_gradients_are_those_of_torch_s_attention(models):
    ids = tokens(2, 37)
    losses = [model(ids, labels=ids) for model in models]
    torch.testing.assert_close(losses[0].logits, losses[1].logits, rtol=0, atol=1e-4)
    for model, loss in zip(models, losses, strict=True):
        model.zero_grad()
        loss.loss.backward()
    for a, b in zip(*(model.parameters() for model in models), strict=True):
        torch.testing.assert_close(a.grad, b.grad, rtol=0, atol=1e-4)


def test_padding_on_either_side_changes_nothing_for_the_rest(models):
    ids = tokens(2, 20)
    for padded in (slice(0, 6), slice(14, 20)):
        mask = torch.ones_like(ids)
        mask[1, padded] = 0
        found = [model(ids, attention_mask=mask).logits[mask.bool()] for model in models]
        torch.testing.assert_close(*found, rtol=0, atol=1e-4)


def test_packed_sequences_do_not_see_each_other(models):
    ids = tokens(1, 30)
    positions = torch.cat([torch.arange(12), torch.arange(18)])[None].to(ids.device)
    together = models[1](ids, position_ids=positions).logits
    apart = torch.cat([models[0](part).logits for part in (ids[:, :12], ids[:, 12:])], dim=1)
    torch.testing.assert_close(together, apart, rtol=0, atol=1e-4)


def test_the_same_tokens_are_generated_with_a_cache(models):
    ids = tokens(2, 9)
    mask = torch.ones_like(ids)
    mask[0, :3] = 0
    some = {"attention_mask": mask, "max_new_tokens": 6, "do_sample": False, "pad_token_id": 0}
    found = [model.generate(ids, **some) for model in models]
    assert torch.equal(*found)


def test_a_mask_of_scores_is_refused():
    from flashlearn.kernels.model_attention.hugging_face import attend

    q = torch.randn(1, 2, 4, 16)
    with pytest.raises(ValueError, match=r"attention_mask has shape \(1, 1, 4, 4\)"):
        attend(torch.nn.Identity(), q, q, q, torch.ones(1, 1, 4, 4))
