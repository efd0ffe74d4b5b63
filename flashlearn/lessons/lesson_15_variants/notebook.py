# %% [markdown]
# # Variants, and your own attention
#
# Models of today rarely use attention as it is in the first papers. Heads share keys, a query sees only its last few
# thousand keys, scores are capped or lose a little with every step of distance, sequences of all lengths come in one
# batch, weights are dropped, and a row may attend to nothing at all. None of this needs a new kernel. A variant
# changes a mask, a score, a list of tiles; everything else is what you have written. So this lesson has **one pair of
# kernels with hooks**, and each exercise hands it a few lines.
#
# **Afterwards you can**
#
# - say for a variant which parts of both passes it changes, and derive what the backward pass needs;
# - share a head of K and V among several heads of Q, and say where the gradients of the shared head add up;
# - restrict both passes to a window, and let them visit the tiles of the window only;
# - cap scores, with the derivative of the cap fused into the backward pass;
# - give every head its own preference for near keys, and say which part of it the softmax does not see;
# - run sequences of different lengths in one launch, drop weights without storing which, and add a sink;
# - build one attention with all of this, and measure it.
#
# **You need** lessons 06 to 08 (the pair of kernels is theirs), lesson 03 (the chain rule through the softmax), and
# section 15 of lesson 12 for the idea of shared heads. **No GPU is needed**: kernels run in the interpreter. On a GPU
# they are compiled and timed as well.
#
# **It takes** about five hours, in three sittings: sections 1 to 3, 4 and 5, and the rest.

# %%
import sympy as sp
import torch
import triton
import triton.language as tl
from torch import Tensor

import flashlearn
from flashlearn import DEVICE
from flashlearn.kernels.hooked_backward import hooked_backward
from flashlearn.kernels.hooked_forward import hooked_forward
from flashlearn.kernels.hooks import PLAIN, Hooks, causal_keys, causal_mask, causal_queries
from flashlearn.lessons.lesson_15_variants import passes, pictures
from flashlearn.lessons.shared.slider import slider

# %% [markdown]
# ## Before you begin
#
# Three questions about what came before. Run the cell to read them, enter a letter for each number, and run it again.
# A wrong choice costs nothing; the reply says what it overlooks.

# %% tags=["recall"]
### BEGIN SOLUTION
# STUB: answers = {1: "", 2: "", 3: ""}
answers = {1: "b", 2: "c", 3: "a"}
### END SOLUTION
flashlearn.recall("15", answers)

# %% [markdown]
# ## 1 · One pair of kernels
#
# ## 2 · Shared heads
#
# ### Exercise: `gqa` · warm-up

# %% exercise="gqa"
# HINT: Two questions, one for each hook: which head of K does a head of Q read, and who reads a head of K?
# HINT: A group has H // H_k heads, and they are adjacent. The second hook gives the ends of a `range`, and its step.
# HINT: `h // (H // H_k)`; from `h_k` times the size of a group to `h_k + 1` times it, in steps of 1.
# INCLUDE: flashlearn/kernels/variants.py:group_key_head


# INCLUDE: flashlearn/kernels/variants.py:group_query_heads


# INCLUDE: flashlearn/kernels/variants.py:gqa

# %%
flashlearn.check("gqa", gqa)

# %%
# flashlearn.hint("gqa")

# %% [markdown]
# ## 3 · A window
#
# ### Exercise: `sliding_window` · core

# %% exercise="sliding_window"
# HINT: Solve i + S_k − S_q − window < j ≤ i + S_k − S_q once for j and once for i: the tiles are those of all
#     queries, or all keys, of the block.
# HINT: Of the queries first … last the first sees the oldest key and the last sees the newest. Of the keys, the
#     first is seen first and the last is seen longest. No list begins below 0, none ends beyond S_k or S_q.
# HINT: Keys from `first + S_k - S_q - window + 1` to `last + S_k - S_q + 1`; queries from `first - (S_k - S_q)` to
#     `last - (S_k - S_q) + window`, with `tl.maximum(0, …)` and `tl.minimum(S_k, …)` or `tl.minimum(S_q, …)`.
# INCLUDE: flashlearn/kernels/variants.py:window_mask


# INCLUDE: flashlearn/kernels/variants.py:window_keys


# INCLUDE: flashlearn/kernels/variants.py:window_queries


# INCLUDE: flashlearn/kernels/variants.py:sliding_window

# %%
flashlearn.check("sliding_window", sliding_window)

# %%
# flashlearn.hint("sliding_window")

# %% [markdown]
# ## 4 · A soft cap
#
# ### Exercise: `softcap` · core

# %% exercise="softcap"
# HINT: Two hooks: f(x) = cap · tanh(x / cap), and the product of dS with f′(x).
# HINT: tanh y = 2 σ(2y) − 1, and `tl.sigmoid` is at hand. f′ is 1 − tanh², and `s / cap` is the tanh.
# HINT: `cap * (2 * tl.sigmoid(2 * x / cap) - 1)` and `ds * (1 - (s / cap) * (s / cap))`.
# INCLUDE: flashlearn/kernels/variants.py:capped_score


# INCLUDE: flashlearn/kernels/variants.py:capped_gradient


# INCLUDE: flashlearn/kernels/variants.py:softcap

# %%
flashlearn.check("softcap", softcap)

# %%
# flashlearn.hint("softcap")

# %% [markdown]
# ## 5 · A slope for every head
#
# ### Exercise: `alibi` · core

# %% exercise="alibi"
# HINT: One number per head, loaded from memory; the distance is that of key j from the place of query i.
# HINT: Query i is at the place of key i + S_k − S_q. i is a column and j a row, so their difference is a tile.
# HINT: `tl.load(slopes_ptr + h)` times `i + S_k - S_q - j`, taken off x.
# INCLUDE: flashlearn/kernels/variants.py:score_with_distance


# INCLUDE: flashlearn/kernels/variants.py:alibi

# %%
flashlearn.check("alibi", alibi)

# %%
# flashlearn.hint("alibi")

# %% [markdown]
# This is a good place for a break.

# %% [markdown]
# ## 6 · Sequences of several lengths
#
# The second half begins here.

# %% exercise="varlen"
# HINT: A sequence's first row is a number of rows to skip; the pair of kernels adds it to its pointers. All that follows
#     counts rows from there.
# HINT: Sequence b lies between cu_seqlens[b] and cu_seqlens[b + 1]. The list has ceil(length / BLOCK) entries for each
#     sequence, none for an empty one: the block's number within the sequence, and the sequence's.
# HINT: blocks = [(block, b) for b, length in enumerate(lengths) for block in range(triton.cdiv(length, BLOCK))], and a
#     hook loads blocks_ptr + 2 * n and the number after it.
# INCLUDE: flashlearn/kernels/varlen_attention.py:packed_sequence
# INCLUDE: flashlearn/kernels/varlen_attention.py:listed_query_block
# INCLUDE: flashlearn/kernels/varlen_attention.py:listed_key_block
# INCLUDE: flashlearn/kernels/varlen_attention.py:block_list
# INCLUDE: flashlearn/kernels/varlen_attention.py:varlen

# %%
flashlearn.check("varlen", varlen)

# %% exercise="dropout"
# HINT: The hook is called with P in the forward pass, and with P and dP in the backward pass. All three times it must
#     keep the same weights, so it may depend on the seed and on the weight's own number alone.
# HINT: Compute the number of each weight of the tile from b, h, i and j, ask tl.rand for its random numbers, and
#     choose between x / (1 − p) and 0.
# HINT: position = ((b * H + h) * S_q + i) * S_k + j, kept where tl.rand(seed, position) >= p. The launcher gives
#     extras=(p, seed, q.shape[1]) to both passes.
# INCLUDE: flashlearn/kernels/dropout_attention.py:kept_weights
# INCLUDE: flashlearn/kernels/dropout_attention.py:dropout

# %%
flashlearn.check("dropout", dropout)

# %% exercise="sinks"
# HINT: The scan of lesson 06 begins with a row that has seen nothing. This one begins with a row that has seen one
#     score, the logit, whose value vector is 0.
# HINT: After one score the maximum is that score, and the sum is exp(0). For the gradient sum exp(logit − LSE) · delta
#     over the queries of every batch, in one program per head.
# HINT: return tl.load(logits_ptr + h), 1.0. In the gradient, row (b * H + h) * S + rows of LSE and delta; fill LSE with
#     +inf where there is no row; store minus the sum.
# INCLUDE: flashlearn/kernels/sink_attention.py:sink_start
# INCLUDE: flashlearn/kernels/sink_attention.py:sink_gradient_kernel
# INCLUDE: flashlearn/kernels/sink_attention.py:sinks

# %%
flashlearn.check("sinks", sinks)

# %% exercise="capstone"
# HINT: Each hook calls the one of its own exercise. A tuple may hold tuples, so that every hook finds its own extras
#     where it looks for them.
# HINT: The score is capped first and then loses the slope's share, so the derivative of the cap needs the capped score
#     before that. Dropout's numbers count packed rows and columns: place in the sequence plus the sequence's first row.
# HINT: any_gradient computes capped_score(x, …) again and gives it to capped_gradient in place of s. any_weights calls
#     kept_weights(w, b * 0, h, row_0 + i, key_0 + j, T_q, T_k, extras[3]).
# INCLUDE: flashlearn/kernels/capstone_attention.py:any_mask
# INCLUDE: flashlearn/kernels/capstone_attention.py:any_keys
# INCLUDE: flashlearn/kernels/capstone_attention.py:any_queries
# INCLUDE: flashlearn/kernels/capstone_attention.py:sloped_score
# INCLUDE: flashlearn/kernels/capstone_attention.py:capped_and_sloped_score
# INCLUDE: flashlearn/kernels/capstone_attention.py:any_gradient
# INCLUDE: flashlearn/kernels/capstone_attention.py:any_weights
# INCLUDE: flashlearn/kernels/capstone_attention.py:any_start
# INCLUDE: flashlearn/kernels/capstone_attention.py:any_sequence
# INCLUDE: flashlearn/kernels/capstone_attention.py:any_query_block
# INCLUDE: flashlearn/kernels/capstone_attention.py:any_key_block
# INCLUDE: flashlearn/kernels/capstone_attention.py:capstone

# %%
flashlearn.check("capstone", capstone)

# %% [markdown]
# ### Journal
#
# *Two or three sentences for yourself in a month. Which hook would your own model need next? Double-click here and
# write.*
#
# ### What comes next
