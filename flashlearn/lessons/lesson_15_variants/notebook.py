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
# ## 3 · A window
#
# ## 4 · A soft cap
#
# ## 5 · A slope for every head
#
# This is a good place for a break.

# %% [markdown]
# ## 6 · Sequences of several lengths
#
# The second half begins here.
#
# ### Journal
#
# *Two or three sentences for yourself in a month. Which hook would your own model need next? Double-click here and
# write.*
#
# ### What comes next
