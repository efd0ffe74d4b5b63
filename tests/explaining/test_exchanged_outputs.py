"""A declared mistake beside two outputs in each other's place."""

from __future__ import annotations

import torch

import flashlearn


def _backward(q, k, v, do, alpha, delta=True):
    p = torch.softmax(alpha * q @ k.T, dim=-1)
    dp = do @ v.T
    ds = p * (dp - (p * dp).sum(dim=-1, keepdim=True)) if delta else p * dp
    return alpha * ds @ k, alpha * ds.T @ q, p.T @ do


def _mistake(function) -> str:
    return flashlearn.check("attention_backward", function, demo=True).finding.mistake


def test_a_mistake_is_named_although_two_outputs_are_exchanged():
    def attention_backward(q, k, v, do, alpha):
        dq, dk, dv = _backward(q, k, v, do, alpha, delta=False)
        return dq, dv, dk

    assert _mistake(attention_backward) == "outputs exchanged + delta forgotten"


def test_outputs_that_are_exchanged_and_nothing_else_are_told_as_that():
    def attention_backward(q, k, v, do, alpha):
        dq, dk, dv = _backward(q, k, v, do, alpha)
        return dq, dv, dk

    assert _mistake(attention_backward) == "outputs exchanged"
