# %% [markdown]
# # The GPU's execution model
#
# Until now a kernel was right or wrong. From here on it is also fast or slow, and that depends on where numbers are
# stored, how far they travel, and what waits for what. This lesson is about the machine: its memories, its threads, and
# the two limits, bytes and operations, that no kernel can avoid. You write the kernel that most of deep learning relies
# on, a tiled matrix product, and predict three things about it before it runs: the bytes it requests, the fraction of
# peak performance it can reach, and what its blocks cost. Then you ask the same questions about attention: store $P$,
# or rebuild it?
#
# **Afterwards you can**
#
# - name the levels of a GPU's memory with their sizes, bandwidths and latencies, and say where each figure is from;
# - say what threads, warps, warpgroups, blocks, clusters and the grid are, what they share and how they wait, and
#   what a Triton program is in these terms;
# - read in compiled code what `tl.sum`, a masked load and a tile cost: shuffles, barriers, wide and narrow loads;
# - write a tiled matrix product with ragged edges in all three dimensions, and place it on the roofline, once by the
#   bytes it requests and once by those it cannot avoid;
# - count the bytes of an attention that stores $P$ and of one that rebuilds it, and say for a given GPU when more
#   arithmetic is the faster choice, and when it is not;
# - estimate shared memory, registers and occupancy of a block shape in your head;
# - say how an update is lost, and how the mapping of threads to elements determines where atomics are needed.
#
# **You need** lessons 00 and 02: programs, masks, reductions; for sections 8, 9 and 11 the backward pass of lesson 03
# and the LSE of lesson 04. You need no GPU: Triton's compiler works without one, and measurements on a GPU that you may
# not have are saved with the course (each says on which GPU).
#
# **It takes** about five hours, in three sittings: sections 1 to 4 are for reading and looking (an hour and a half), 5 to
# 7 contain the kernel and its bytes (an hour and a half), 8 to 11 are about attention and block shapes (two hours). Two
# short answers and one kernel of about twelve lines.

# %%
import itertools
import math
import re
from collections import Counter

import sympy as sp
import torch
import triton
import triton.language as tl
from torch import Tensor

import flashlearn
from flashlearn import DEVICE, compiler
from flashlearn.compiler.listing import assemble, counts, listing, widths
from flashlearn.kernels.logsumexp import row_sums_rebuilt, row_sums_stored
from flashlearn.kernels.tour import scaled_add
from flashlearn.lessons.lesson_05_execution_model import (
    machine_pictures,
    probes,
    storing_pictures,
    traffic_pictures,
)
from flashlearn.lessons.lesson_05_execution_model.exercises import buffers_of
from flashlearn.lessons.shared import example
from flashlearn.machine.device import GPUS, attainable, for_target

# %% [markdown]
# ## Before you begin
#
# Three questions about what came before. Run the cell to read them, enter a letter for each number, and run it again. A
# wrong choice costs nothing; the reply says what it overlooks.

# %% tags=["recall"]
### BEGIN SOLUTION
# STUB: answers = {1: "", 2: "", 3: ""}
answers = {1: "b", 2: "c", 3: "a"}
### END SOLUTION
flashlearn.recall("05", answers)

# %% [markdown]
# ## 1 · Where numbers live
#
# A GPU is, roughly, a hundred processors on one chip (*streaming multiprocessors*, SMs), with memory around them.
# Numbers are stored in four places:
#
# - **Registers**: each thread's own. Arithmetic happens here and nowhere else (tensor cores may take operands from
#   shared memory, too). A thread has at most 255 of them, 4 bytes each.
# - **Shared memory**: a scratchpad in each SM, seen by all threads of one block. The same SRAM serves as the L1
#   cache; what a kernel does not claim as shared memory caches its loads.
# - **L2**: a cache for the whole chip, in two halves. Everything on its way to or from device memory passes through it.
# - **HBM**: device memory, beside the chip (other kinds of memory, such as GDDR, on GPUs for desktops). Your tensors
#   are here.
#
# **Predict**, for one SM: which is larger, all its registers together or its shared memory?

# %% tags=["nbval-check-output"]
KIB, MIB = 2**10, 2**20

for gpu in GPUS.values():
    registers, shared = 4 * gpu.registers_per_sm, gpu.shared_per_sm
    print(
        f"{gpu.name:9} {gpu.sms:3} SMs, each {registers // KIB} KiB of registers and at most "
        f"{shared // KIB} KiB of shared memory; L2 {gpu.l2 // MIB} MiB"
    )

# %% [markdown]
# <details><summary><b>What to notice</b></summary>
#
# - There are more registers than shared memory, on Hopper as on earlier GPUs: 256 KiB against 228. A tile that can be
#   kept in registers, such as an accumulator, should be. FlashAttention keeps `acc`, `m` and `l` there.
# - All SMs of an H100 together have 33 MiB of registers and 29 MiB of shared memory: each of the two is more than
#   half of its L2.
#
# </details>

# %% [markdown]
# Sizes, and the peak rates of HBM and of arithmetic, are the manufacturer's figures: data sheets and the CUDA
# programming guide (`flashlearn.machine.device.GPUS` says which). Shared memory delivers 32 banks × 4 bytes per clock
# to each SM. What data sheets usually do not say is the *latency*, how long one load takes if you have to wait for it,
# and the bandwidth of L2. These are measured: with a *pointer chase*, where each load's address is the result of the
# previous load, and with a *stream*, where as many loads as possible are in flight at once.
# `flashlearn/lessons/lesson_05_execution_model/probes.py` has these measurements; they take about ten seconds on a GPU.
# Without one you see the results from an H200, which has the H100's chip and faster memory.

# %%
measured = probes.measure() if DEVICE == "cuda" else probes.SAVED
print(measured["device"], {level: f"{ns:.4g} ns" for level, ns in measured["latency"].items()})

h100 = GPUS["H100"]
levels = machine_pictures.levels(h100, measured)
machine_pictures.ladder(levels, f"H100 by its data sheet; latencies and L2's bandwidth: {measured['device']}")

# %% [markdown]
# <details><summary><b>What to notice</b></summary>
#
# - All three scales show the same pattern: outwards from shared memory each level is larger, slower and further away.
#   From registers to HBM it is a factor of more than a hundred, in bandwidth and in latency.
# - L1 is not in the picture: it is the same SRAM as shared memory, and it takes longer, since a cache first has to find
#   out whether it has the line (and our chase computes a 64-bit address for each step).
# - The bandwidth of registers is what multiply-adds at full rate read: three operands each. Their latency is four
#   clocks, after which the next instruction may use the result (Jia et al., for Volta).
# - One load from HBM takes about a third of a microsecond on the H200. At 2 GHz, each of an SM's four schedulers could
#   have issued several hundred instructions in that time.
#
# </details>
#
# ### Latency is hidden, not shortened
#
# A kernel does not wait the full latency for each load: it has many loads in flight. How many bytes must be in flight
# at any moment to keep HBM busy all the time? Think of a pipe: its content is *bandwidth × latency* (Little's law).
# **Predict** the order of magnitude, for the whole chip and for one SM.

# %%
hbm = levels[-1]
in_flight = hbm.bandwidth * hbm.latency * 1e-9
print(f"whole chip {in_flight / MIB:.2f} MiB, per SM {in_flight / h100.sms / KIB:.1f} KiB")
threads = 32 * h100.warps_per_sm
print(f"that is {in_flight / h100.sms / threads:.1f} bytes for each of the {threads} threads an SM can hold")

# %% [markdown]
# That is about one number of four bytes per thread if the SM is full of threads; if it holds an eighth of them, eight
# numbers each. Either many threads with a small load each, or few threads with large ones. Both work; the first is what
# *occupancy* is about (section 10), the second is what asynchronous copies are for (lesson 13).

# %% [markdown]
# > ### Sources corrected: 64 KiB of shared memory
# >
# > **The claim**, in a design for a CUDA kernel: a tile buffer of 64 KiB is declared in shared memory; the SM has
# > 228 KiB, so it fits.
# >
# > **The experiment.** NVIDIA's assembler comes with Triton. Give it a kernel that declares 64 KiB, and one that
# > declares an array whose size is given at launch. **Predict** which of them it accepts.

# %%
KERNEL = """.version 8.0
.target sm_90
.address_size 64
{outside}
.visible .entry uses_shared_memory() {{
    {inside}
    .reg .b32 v;
    mov.u32 v, tile;
    ld.shared.b32 v, [v];
    st.shared.b32 [tile+4], v;
    ret;
}}"""

fixed = KERNEL.format(outside="", inside=".shared .align 4 .b8 tile[65536];")
dynamic = KERNEL.format(outside=".extern .shared .align 4 .b8 tile[];", inside="")
print("64 KiB declared:      ", assemble(fixed) or "accepted")
print("size given at launch: ", assemble(dynamic) or "accepted")
print("at most, if asked for:", {gpu.name: f"{gpu.shared_per_block // KIB} KiB" for gpu in GPUS.values()})

# %% [markdown]
# > **The verdict.** 0xc000 is 49152: a block gets at most 48 KiB unless it asks for more, and it cannot ask in a
# > declaration. More than that, up to the figures in the last line, takes *dynamic* shared memory and a call before the
# > launch, `cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes)`; a launch without it
# > fails, and the error is easily overlooked. Triton declares its memory the second way and makes the call for you. So
# > in Triton the larger limit applies, and a kernel that exceeds it is rejected: `OutOfResources`. (The limit is 1 KiB
# > less than what the SM has: the system takes that for each block.)

# %% [markdown]
# ## 2 · Threads, and what they share
#
# In CUDA you write what one thread does. Threads come in nested groups, and the members of each group share something,
# or can wait for each other.

# %%
machine_pictures.nesting()

# %% [markdown]
# - A **warp** is 32 threads that execute one instruction together. In each clock, each of the four *schedulers* of an
#   SM picks one warp that is ready and issues its next instruction. A warp that waits for memory costs only its
#   registers: there is no context switch, since every warp keeps its registers all the time. So it is *other warps*
#   that hide latency.
# - A **warpgroup** is four consecutive warps, one for each scheduler. Hopper's matrix instruction, `wgmma`, is executed
#   by all 128 threads together and needs a tile of at least 64 rows.
# - A **block**, also called *CTA* (cooperative thread array), runs on one SM from beginning to end. Shared memory
#   belongs to it. `bar.sync`, in CUDA `__syncthreads()`, makes its warps wait for each other. Blocks of a grid run in
#   any order, and possibly one after another: in general no block may wait for another that may not have started (a
#   *cooperative* launch, all of whose blocks must fit on the chip at once, is the exception).
# - A **cluster** (Hopper) is a group of up to eight blocks, or sixteen if requested, which are guaranteed to run at the
#   same time and on one GPC. They may read each other's shared memory, and wait for each other.
# - The **grid** is one launch. Its blocks share L2 and HBM. In an ordinary launch, the only point at which all of them
#   have finished is the end of the kernel. Atomics let them *add* to one address without losing an update (lessons 08
#   and 11).
#
# And a **Triton program is one block**. The numbers of a `tl.arange` are not threads: a tile is spread over the block's
# threads by the compiler, several elements for each. You choose the number of threads with `num_warps`, and nothing in
# the kernel's source depends on it. **Predict** the threads per block below.


# %%
@triton.jit
def row_total_kernel(x_ptr, s_ptr, COLUMNS: tl.constexpr):
    i, j = tl.program_id(0), tl.arange(0, COLUMNS)
    tl.store(s_ptr + i, tl.sum(tl.load(x_ptr + i * COLUMNS + j), axis=0))


def row_total(x, **options):
    s = torch.empty(x.shape[0], device=x.device)
    row_total_kernel[(x.shape[0],)](x, s, COLUMNS=x.shape[1], **options)
    return s


def launch_of(function, *arguments, **options):
    """The last launch that a call makes: kernel, types and constants, enough to compile it."""
    with flashlearn.observing() as (session, _):
        function(*arguments, **options)
    return session.launches[-1]


for num_warps in (1, 4, 8):
    ptx = listing(launch_of(row_total, torch.ones(2, 1024), num_warps=num_warps))["ptx"]
    threads = int(re.search(r"\.(?:req|max)ntid (\d+)", ptx)[1])
    print(f"num_warps={num_warps}: {threads:3} threads, {1024 // threads:2} elements of the tile for each")

# %% [markdown]
# `listing` runs Triton's own compiler for an H100 (`target=90`), which needs no GPU. *PTX* is NVIDIA's portable
# assembly language; a further step translates it to the GPU's machine code.
#
# ### Where the SMs are
#
# SMs come in groups, too: *graphics processing clusters*, GPCs. Clusters of blocks are possible because within a GPC
# there is a network from SM to SM. And the L2 is in two halves, each beside its part of HBM.

# %%
machine_pictures.chip(h100, gpcs=8, per_gpc=18)  # NVIDIA H100 Tensor Core GPU Architecture, white paper, 2022

# %% [markdown]
# *Which SMs share a slice of L2?* It is tempting to think of one cache that all SMs share alike. NVIDIA's white paper
# on the A100, whose L2 is in two partitions as well, says otherwise: each partition caches data for the SMs of the GPCs
# that are connected to it, and the hardware keeps the two consistent. So within a partition the cache is shared: its
# *slices* belong to addresses, which are distributed over all of them, and nothing is gained by placing programs near
# "their" slice. But data that SMs on both sides read may be cached *twice*, once in each half. Then L2 can hold only
# half as much of a matrix that all SMs read as its size suggests. (Much can still be gained if programs run *at the
# same time* and read the same addresses.)

# %% [markdown]
# ## 3 · What `tl.sum` becomes
#
# A sum over a tile needs numbers from different threads. There are three cases, and they differ in cost:
#
# - within a thread: it is there already;
# - within a warp: a **shuffle**, `shfl.sync`. Each lane reads a register of another lane, without going through memory.
#   Lanes of a warp can diverge at a branch; so there is also a barrier within a warp, `bar.warp.sync`, in CUDA
#   `__syncwarp()`, and a shuffle includes one, for the lanes that its last operand names (−1: all 32);
# - between warps of a block: through shared memory. Write, **barrier**, read. The barrier makes sure that no warp reads
#   before the others have written; a warp that waits at it does nothing.
#
# Five shuffles sum 32 lanes, by halving the distance each time:

# %%
machine_pictures.butterfly([3, 1, 4, 1, 5, 9, 2, 6])

# %% [markdown]
# You wrote `tl.sum` and none of this. Look at what the compiler inserted. **Predict**: one row of 128 numbers, summed
# by 1 warp and by 4. How many shuffles and how many barriers are there?

# %%
for columns, num_warps in ((32, 1), (128, 1), (128, 4), (1024, 4)):
    launch = launch_of(row_total, torch.ones(2, columns), num_warps=num_warps)
    print(f"{columns:4} columns, {num_warps} warp(s):", counts(listing(launch)["ptx"]))

# %% [markdown]
# And here are the instructions for 128 numbers in four warps, in order:

# %%
launch = launch_of(row_total, torch.ones(2, 128), num_warps=4)
steps = re.compile(r"(?:@\S+ )?(?:ld|st)\.(?:global|shared)[^;]*;|shfl[^;]*;|add\.f32[^;]*;|bar\.sync[^;]*;")
print("\n".join(found[0] for found in steps.finditer(listing(launch)["ptx"])))

# %% [markdown]
# <details><summary><b>What to notice</b></summary>
#
# - One warp: five shuffles, at distances 16, 8, 4, 2, 1, and no barrier of the block. With 128 columns each thread
#   first adds its own four numbers: three additions, and no exchange.
# - Four warps: the same five, then one lane of each warp writes its sum to shared memory; after `bar.sync` four lanes
#   read them back, and two more shuffles sum the four. A second barrier follows, so that all threads can read the
#   result.
# - The `@%p` in front is a *predicate*: the instruction is issued to the whole warp, and lanes whose predicate is
#   false do nothing. A mask in `tl.load` becomes one of these.
# - So a reduction along an axis that lies within warps is cheap, one across warps has barriers. A softmax kernel with
#   one warp per row has none. FlashAttention-2 lays out its tiles so that a row of scores stays within one warp: this
#   is the subject of section 3.3 of its paper, "work partitioning between warps".
# - In CUDA you would write these lines yourself, and a forgotten barrier is a classic bug: the kernel works until the
#   warps run in another order. In Triton the compiler inserts the barriers that shared memory needs *within* a program.
#   (Where a program reads back what another of its threads has stored in *global* memory, it needs
#   `tl.debug_barrier()`; lesson 11 has the experiment.) Between programs nothing is inserted, and the check looks for
#   races there.
#
# </details>

# %% [markdown]
# ## 4 · Coalescing, and banks
#
# ### Global memory: sectors
#
# HBM and the caches do not move single numbers. The unit is a *sector* of 32 bytes, aligned; four of them make a cache
# line. When a warp executes a load, the hardware collects the 32 addresses and requests the sectors that contain them,
# each sector once. If neighbouring lanes access neighbouring addresses, the load is *coalesced*. If they do not, most
# of what is transferred may be unused.

# %%
traffic_pictures.sectors((1, 2, 4, 8))

# %% [markdown]
# **Predict** the useful bandwidth of reading every second number of a long vector, relative to reading all of them;
# and every 8th, and every 32nd. Then compare with what was measured.

# %%
strided = measured["strided"]
for stride, rate in strided.items():
    useful = 32 * 4 / (traffic_pictures.sectors_of(stride) * 32)
    share = rate / strided[1]
    print(f"stride {stride:2}: expected {useful:5.3f}, measured {share:5.3f}, {rate / 1e12:.2f} TB/s")

# %% [markdown]
# <details><summary><b>What to notice</b></summary>
#
# - Up to a stride of 8 the rule of sectors explains the figures: `x[::2]` transfers twice as much as it uses. (The
#   measured figures from the H200 are a little better than expected because the probe at stride 1, with the least to
#   load, falls short of the peak.)
# - From 8 on each lane has a sector of its own, and by the rule it cannot get worse. On the H200 it does, by another
#   factor of two: presumably its L2 fetches from HBM in pieces larger than a sector (64 bytes would explain these
#   figures; the size is a setting of the driver, `cudaLimitMaxL2FetchGranularity`).
# - A *transposed* matrix is not such a case, as long as a tile is long enough in the other dimension: the compiler
#   looks at the strides and distributes the tile over the threads so that lanes run along the dimension whose stride is 1.
#
# </details>

# %% [markdown]
# There is a second aspect. A thread can load up to 16 bytes with one instruction, if the compiler knows that they are
# adjacent and start at a multiple of 16. The compiler learns this from the launch: Triton compiles one version for
# pointers and integers that are multiples of 16, and another for others; and a stride of 1 becomes a constant. Here is
# the course's `scaled_add` of lesson 00 with 1024 numbers per program, as compiled for three inputs. **Predict** which
# of them get 16-byte loads.

# %%
vector = torch.ones(8200)
for name, x in (("x", vector[:4096]), ("x[::2]", vector[:8192:2]), ("x[1:]", vector[1:4097])):
    print(f"{name:7} loads by bytes per thread:", widths(listing(launch_of(scaled_add, 2.0, x, x))["ptx"]))

# %% [markdown]
# `x[1:]` is as contiguous as `x`, but its first byte is not at a multiple of 16, so that four times as many
# instructions are needed for the same bytes. They are still coalesced. This and coalescing are good reasons for
# attention libraries to require a contiguous last dimension and an aligned start.
#
# ### Shared memory: banks
#
# Shared memory is cut into 32 *banks*, each 4 bytes wide: word $w$ lies in bank $w \bmod 32$. In one clock each bank
# can serve one word. If two lanes access different words of one bank, they take turns: a *bank conflict*. (If they
# access the same word, both get it at once.) A tile whose rows are 32 words long has each column in one bank. Here it
# is drawn with eight banks, with eight lanes reading the first column:

# %%
traffic_pictures.banks(
    {
        "rows of 8 words": lambda row, column: 8 * row + column,
        "rows padded to 9": lambda row, column: 9 * row + column,
        "swizzled: column ^ row": lambda row, column: 8 * row + (column ^ row),
    }
)

# %% [markdown]
# Padding costs memory; *swizzling*, an exclusive-or of column and row, costs none. CUDA programmers choose one of them
# by hand. Triton swizzles its tiles automatically, and Hopper's copy engine can do it in hardware.

# %% [markdown]
# ## 5 · A matrix product, tile by tile
#
# Now the kernel that needs all of this. $C = AB$ with $A$ of shape $M \times K$ and $B$ of $K \times N$. A program
# owns a tile of $C$, `BLOCK_M` × `BLOCK_N`. It needs the same rows of $A$ and the same columns of $B$, all of them,
# and takes them in steps of `BLOCK_K`:
#
# $$C_{\text{tile}} = \sum_{\text{steps}} A_{\text{tile}}\, B_{\text{tile}} .$$

# %%
traffic_pictures.tiles(M=70, N=100, K=50, blocks=(32, 64, 16), program=(1, 1, 0), step=1)

# %% [markdown]
# | mathematics | in the kernel | shape |
# |---|---|---|
# | rows $i$ of this tile | `rows` | `[BLOCK_M]` |
# | columns $j$ of this tile | `columns` | `[BLOCK_N]` |
# | the $k$ of one step | `inner` | `[BLOCK_K]`, see below |
# | $A_{ik}$ | `a` | `[BLOCK_M, BLOCK_K]` |
# | $B_{kj}$ | `b` | `[BLOCK_K, BLOCK_N]` |
# | $\sum_k A_{ik} B_{kj}$ so far | `acc` | `[BLOCK_M, BLOCK_N]`, fp32, in registers |
#
# (A warning about a name. For a matrix product, `BLOCK_K` is the usual name for a step of the inner dimension, so we
# use it in this lesson. In attention, $K$ is the matrix of keys: from lesson 06 on, `BLOCK_K` is a block of *keys*, and
# the inner dimension of $Q K^\top$ is $D$, which is not split.)
#
# This works because the order of the sum does not matter: a product is the sum of the products of its slices. Here is
# the course's small example, $Q K^\top$, with $D = 2$ split into two steps of one:

# %% tags=["nbval-check-output"]
Q, K_t = example.symbolic().Q, example.symbolic().K.T
slices = [Q[:, k] * K_t[k, :] for k in range(2)]  # a column times a row: 4×1 · 1×3

assert slices[0] + slices[1] == Q * K_t
sp.Eq(sp.Add(*[sp.UnevaluatedExpr(part) for part in slices], evaluate=False), Q * K_t, evaluate=False)

# %% [markdown]
# ### Exercise: `tiled_matmul` · core
#
# Write the kernel; the launcher is given. Its blocks, 32 × 64 × 16, are fixed for now. What the check requires:
#
# - any $M$, $N$ and $K$: a tile may extend beyond the edge in all three dimensions, so each load and the store need a
#   mask in two dimensions;
# - any strides: `a` and `b` may be transposed, slices, or have gaps, and an index times a stride may pass $2^{31}$, so
#   all three indices are 64 bits wide. `c` is new and contiguous;
# - fp32, fp16 and bf16; the sum is always in fp32, and converted once, by the store. `tl.dot` takes the tiles as they
#   are loaded;
# - fp32 means fp32: by default `tl.dot` gives fp32 tiles to the tensor cores as *TF32*, which keeps 10 mantissa bits of
#   each factor. The check on a CPU computes in fp32 and warns you; on a GPU the products have to be as accurate as
#   fp32, so ask for `input_precision="ieee"`.
#
# **Predict**, before you write: which of the masks matter for the *result*, and which only keep the program from
# accessing memory outside the tensors? What must padding hold in the inner dimension?

# %% exercise="tiled_matmul"
# HINT: A program owns one tile of C, and keeps its sum in `acc` while it goes along K: in each step a tile
#     of A, a tile of B, one `tl.dot`. Any of the three dimensions may end inside a block: which masks does
#     each load need, and which the store?
# HINT: `inner = start + tl.arange(0, BLOCK_K)` has shape `[BLOCK_K]`. The tile of A is `[BLOCK_M, BLOCK_K]`:
#     `rows[:, None]` and `inner[None, :]`, for addresses and mask alike; the tile of B is `[BLOCK_K,
#     BLOCK_N]`, from `inner[:, None]` and `columns[None, :]`. Padding must be 0 (`other=0.0`). `tl.dot(a, b,
#     input_precision="ieee")` gives `[BLOCK_M, BLOCK_N]` in fp32.
# HINT: In the loop: `a = tl.load(a_ptr + rows[:, None] * a_row + inner[None, :] * a_col, mask=(rows < M)[:,
#     None] & (inner < K)[None, :], other=0.0)`. b is loaded likewise, from `inner` and `columns` with `b_row,
#     b_col`; then `acc += tl.dot(a, b, input_precision="ieee")`. The store, with its two masks, is left for
#     you.
# INCLUDE: flashlearn/kernels/matmul.py:tiled_matmul_kernel


# INCLUDE: flashlearn/kernels/matmul.py:tiled_matmul

# %%
flashlearn.check("tiled_matmul", tiled_matmul)

# %%
# flashlearn.hint("tiled_matmul")

# %% [markdown]
# When it passes, break it: leave `inner < K` out of one of the two masks; then out of both. Leave out `other=0.0`.
# Store without a mask. Which of the four does the check reject, and what does it call each of them?
#
# <details><summary><b>What to notice</b></summary>
#
# - The masks of rows and columns protect memory. A padded row gives a row of $C$ that is never stored. Only the mask of
#   the inner dimension protects the *sum*: there, padding has to be zero.
# - The check rejects all four. If `inner < K` is missing from one mask or from both, or the store has no mask, it is
#   *out of bounds*: each accesses memory outside the tensor. Without `other=0.0` it is *wrong*: the mask keeps the
#   lanes from memory, but what they hold is undefined, and it enters the sum. (The observer puts NaN there.)
# - In the inner dimension one of the two masks would be enough for the sum, since $0 \cdot x = 0$, unless $x$ is
#   infinite or NaN. It would not be enough for the bounds. The next cell shows what goes wrong.
# - Each number that was loaded is used `BLOCK_N` times (of $A$) or `BLOCK_M` times (of $B$). That is the point of
#   tiling.
#
# </details>

# %% [markdown]
# The last step in the inner dimension extends beyond the edge: two columns of $A$'s tile and two rows of $B$'s are
# padding. The padding of one is zero; that of the other holds whatever was in memory, including an infinity.
# **Predict** which elements of the product are ruined.

# %% tags=["nbval-check-output"]
a_tile, b_tile = torch.ones(3, 4), torch.ones(4, 5)
a_tile[:, 2:], b_tile[2:, :] = 0.0, 0.0  # both padded with zeros: right

stray_a, stray_b = a_tile.clone(), b_tile.clone()
stray_a[1, 3] = stray_b[2, 4] = math.inf

for name, left, right in (("in A's padding", stray_a, b_tile), ("in B's padding", a_tile, stray_b)):
    print(f"an infinity {name}:\n{(left @ right).numpy()}")

# %% [markdown]
# An infinity in $A$'s padding ruins a row of $C$, one in $B$'s a column. So both masks need `inner < K`.
#
# ## 6 · Counting bytes before they move
#
# The observer counts the bytes that your kernel requests. Let us find that number with a pencil. It does not depend on
# the data, so it can be a formula in the sizes. For one matrix at a time:
#
# - Programs in the same row of the grid need the same rows of $A$. They share nothing, and each loads all of them.
# - Programs in the same column of the grid need the same columns of $B$.
# - Each element of $C$ is stored by one program.
#
# Bytes counted this way are **requested** bytes: every load of every program, as if there were no cache. Masked-out
# lanes request nothing. If every byte is counted once instead, however often it is requested, they are **unique**
# bytes: the least that HBM must move, with a perfect cache,
#
# $$\text{unique} = e\,(MK + KN + MN), \qquad e \text{ bytes per element.}$$
#
# What HBM actually moves is in between, and L2 decides where.
#
# ### Exercise: `matmul_traffic` · core
#
# Give the *requested* bytes of a kernel like yours, whose masks cover what lies beyond the edges, as a formula in the
# sizes $M, N, K$, the blocks $B_M, B_N, B_K$, and $e$. All are sympy symbols (or integers) and positive. Sizes need not
# be multiples of blocks; `sp.ceiling(x)` rounds up.


# %% exercise="matmul_traffic"
# HINT: Follow one matrix at a time. Which programs load row 0 of A, and how many are there? How often is each
#     element of A requested, over the whole grid? Ask the same about B, and about C.
# HINT: The grid has ⌈M/B_M⌉ × ⌈N/B_N⌉ programs. All programs in one row of the grid load the same rows of A;
#     together they request A once per block of columns. A masked lane requests nothing, so edges need no
#     correction. `sp.ceiling(N / B_N)` rounds up.
# HINT: Of A, `M * K * sp.ceiling(N / B_N)` elements are requested. Add B and C, each with its own count, and
#     multiply by `e`.
def matmul_traffic(M, N, K, B_M, B_N, B_K, e) -> sp.Expr:
    """Bytes that tiled_matmul requests, loads and stores of all programs together."""
    ### BEGIN SOLUTION
    # STUB: raise NotImplementedError("TODO matmul_traffic: how often A, B and C are asked for, in bytes")
    loads_of_a = M * K * sp.ceiling(N / B_N)  # once for each block of columns
    loads_of_b = K * N * sp.ceiling(M / B_M)  # once for each block of rows
    return e * (loads_of_a + loads_of_b + M * N)
    ### END SOLUTION


# %%
flashlearn.check("matmul_traffic", matmul_traffic)

# %%
# flashlearn.hint("matmul_traffic")

# %% [markdown]
# The next cell compares the formula with the count, for several block shapes. **Predict** which of the three block
# sizes can be doubled without changing the bytes.

# %% tags=["nbval-check-output"]
requested = flashlearn.use("matmul_traffic", matmul_traffic)
product = flashlearn.use("tiled_matmul", tiled_matmul)
M, N, K = 70, 100, 50
unique = 4 * (M * K + K * N + M * N)

print("blocks       predicted   counted    unique   operations per requested byte")
for B_M, B_N, B_K in ((16, 16, 16), (32, 32, 16), (32, 64, 16), (32, 64, 32), (64, 64, 32), (128, 128, 16)):
    with flashlearn.observing() as (session, _):
        product(torch.ones(M, K), torch.ones(K, N), BLOCK_M=B_M, BLOCK_N=B_N, BLOCK_K=B_K)
    seen = session.observation()
    predicted = requested(*map(sp.Integer, (M, N, K, B_M, B_N, B_K, 4)))
    assert predicted <= seen.bytes_requested and seen.bytes_unique == unique
    intensity = 2 * M * N * K / seen.bytes_requested
    shape = f"{B_M}×{B_N}×{B_K}"
    print(f"{shape:12} {predicted!s:>9} {seen.bytes_requested:>9} {unique:>9}   {intensity:.2f}")

# %% [markdown]
# <details><summary><b>What to notice</b></summary>
#
# - They agree to the byte, edges included: masked lanes request nothing. (A kernel whose rows wrap around at the edge
#   has no mask there: it requests some rows again, and its count is larger.)
# - $B_K$ does not occur. It decides how the work is divided over time, not how often anything is requested. It will
#   matter for shared memory, and for how much is in flight at once.
# - From 32 × 64 to 64 × 64 only one of three loads of $B$ is saved: 70 rows take two blocks of 64, and the second is
#   nearly empty. When blocks cover a whole dimension, requested and unique are the same.
#
# </details>

# %% [markdown]
# ### One program, step by step
#
# The counts are sums over all programs. `flashlearn.trace` runs a launcher as the check does and shows what *one*
# program touches, access by access: move the slider, or click on it and use the arrow keys. Look at the order in which
# the tiles of $A$ and $B$ come, and at what is hatched. **Predict** the column *again*, the share of the requested
# bytes that had been requested before: of $A$ for program (1, 1, 0) alone, and for all six programs.

# %%
seen = flashlearn.trace(product, torch.ones(M, K), torch.ones(K, N), program=(1, 1))
assert seen["a_ptr"].again == seen["b_ptr"].again == 0
assert seen.of_launch("a_ptr").again > 0 and seen.of_launch("b_ptr").again > 0
seen

# %% [markdown]
# <details><summary><b>What to notice</b></summary>
#
# - The tiles of $A$ move to the right and those of $B$ downwards, alternately, and $C$ is written once, at the very
#   end. The program reads nothing twice; the repetition is *between* programs: half of what is requested of $A$, two
#   thirds of $B$. A program cannot avoid that alone. Larger blocks can reduce it, and a cache can serve it.
# - Masked lanes are hatched. They request no bytes, but they exist, and `tl.dot` multiplies their zeros.
# - A row of $A$'s tile is 16 elements, 64 adjacent bytes, two sectors (if aligned); a row of $B$'s is 64 elements,
#   eight sectors, or fewer at the edge. In a contiguous matrix a wide tile is read in longer pieces than a narrow one.
#
# </details>

# %% [markdown]
# ## 7 · Arithmetic intensity and the roofline
#
# The number in the last column of section 6's table is the kernel's **arithmetic intensity**: operations per byte. The
# machine has such a number as well: operations per second over bytes per second. If the kernel's is below the
# machine's, memory is the limit; above it, arithmetic is.

# %% tags=["nbval-check-output"]
for gpu in GPUS.values():
    print(
        f"{gpu.name:9} 16 bit on tensor cores: {gpu.half / gpu.bandwidth:4.0f} FLOP/B,"
        f"   fp32 without: {gpu.fp32 / gpu.bandwidth:3.0f} FLOP/B"
    )

# %% [markdown]
# What is the intensity of a tiled product of large square matrices? The next cell lets sympy take the limit. It holds
# for **every** $B$ and $e$; it assumes that $B$ divides $n$, so that nothing needs rounding.

# %% tags=["nbval-check-output"]
n, B, e = sp.symbols("n B e", positive=True)
square_bytes = e * (n * n * (n / B) + n * n * (n / B) + n * n)
intensity = 2 * n**3 / square_bytes

assert sp.limit(intensity, n, sp.oo) == B / e
assert 2 * n**3 / (e * 3 * n**2) == sp.Rational(2, 3) * n / e  # by unique bytes: grows with n
sp.Eq(sp.Limit(intensity, n, sp.oo), sp.limit(intensity, n, sp.oo), evaluate=False)

# %% [markdown]
# By requested bytes it tends to $B/e$, however large the matrix: 64 for blocks of 128 in 16 bit. By unique bytes it is
# $\frac23 n/e$, and grows without limit. The H100 needs 295 or more. **Predict**, from these three numbers: can the
# kernel reach the tensor cores' peak if every request goes to HBM? What would $B$ have to be, and does an accumulator
# of that size fit into the registers of an SM?

# %% tags=["nbval-check-output"]
ridge = h100.half / h100.bandwidth
needed = ridge * 2  # B / e = ridge, e = 2
print(f"B would have to be {needed:.0f}; its accumulator takes {4 * needed**2 / KIB:.0f} KiB per program")

# %% [markdown]
# No tile can be that large. L2 makes up for it: programs that run at the same time, on neighbouring tiles, request the
# same rows of $A$ and columns of $B$; the first request goes to HBM, and most others are served from the chip.
#
# The **roofline** draws both limits at once: attainable rate against intensity, a slope for the memory and a flat roof
# for the arithmetic (Williams, Waterman and Patterson, 2009). Here is your kernel on an H100, with $n = 4096$ in 16 bit
# and three block shapes, each by its requested and by its unique bytes. No time was measured: these are the points on
# the roof at each intensity, an upper bound for each.


# %%
def intensities(n, B_M, B_N, B_K, e=2):
    """Operations per byte of an n×n×n product: by requested bytes, and by unique ones."""
    operations, unique = 2 * n**3, 3 * e * n**2
    return operations / float(requested(*map(sp.Integer, (n, n, n, B_M, B_N, B_K, e)))), operations / unique


blocks = ((16, 16, 16), (32, 64, 16), (128, 128, 64))
points = [(f"{B_M}×{B_N}", *intensities(4096, B_M, B_N, B_K), None) for B_M, B_N, B_K in blocks]
traffic_pictures.roofline(h100, points)

# %% [markdown]
# And now with measured times: the course's kernel and matrices of the same size, on the GPU named below, which is yours
# if you have one. Each pair of points has one height, the measured rate. The dotted slope is the bandwidth of L2
# according to the stream of section 1, in which every program reads bytes of its own, with wide loads that bypass L1.
# **Predict** before you look: can a filled point lie above the solid slope?

# %%
here = probes.data_sheet(measured["device"])
timed = [
    (f"{'×'.join(map(str, shape))}", *intensities(measured["n"], *shape), rate)
    for (shape, warps), rate in measured["matmul"].items()
    if shape not in ((128, 256, 32), (128, 128, 32))
]
traffic_pictures.roofline(here, timed, l2=measured["bandwidth"]["L2"])

# %%
print(f"{measured['device']}, n = {measured['n']}, 16 bit")
print(f"HBM, by data sheet: {here.bandwidth / 1e12:.2f} TB/s")
own, shared = (measured["bandwidth"][name] / 1e12 for name in ("L2", "L2, shared"))
print(
    f"L2, streamed: {own:.1f} TB/s if programs read different bytes; {shared:.1f} TB/s if two neighbours read the same"
)
for name, by_requested, by_unique, rate in timed:
    print(
        f"{name:11} {rate / 1e12:4.0f} TFLOP/s, {rate / here.half:4.0%} of peak;"
        f"  requests {rate / by_requested / 1e12:5.2f} TB/s, unique {rate / by_unique / 1e12:4.2f} TB/s"
    )
print(f"torch       {measured['torch'] / 1e12:4.0f} TFLOP/s, {measured['torch'] / here.half:4.0%} of peak")

# %% [markdown]
# Could L1 have served some of these requests? Look at how the kernel loads, with blocks of 64 × 64 × 32 on an H100:

# %%
tiles_ahead = {"BLOCK_M": 64, "BLOCK_N": 64, "BLOCK_K": 32, "num_warps": 4, "num_stages": 3}
ptx = listing(launch_of(product, *torch.zeros(2, 16, 16, dtype=torch.float16), **tiles_ahead))["ptx"]
print(Counter(re.findall(r"\b(?:cp\.async\.c[ag]|ld\.global)", ptx)))

# %% [markdown]
# `cp.async` copies from global to shared memory while the program continues, and `.cg` means that it bypasses L1. So
# every requested byte comes from L2, or from HBM through L2.

# %% [markdown]
# <details><summary><b>What to notice</b></summary>
#
# - (On the H200.) Some filled points are above the solid slope: the kernel got its bytes faster than HBM can deliver
#   them. That is not a measurement error: L2 served most of the requests. All but the smallest blocks request more
#   bytes per second than HBM delivers; their unique bytes would take less than a tenth of its bandwidth.
# - No single line in the picture is *the* limit of a kernel. By unique bytes all of them could reach the peak; by
#   requested bytes from L2 the small blocks could not.
# - 64 × 64 requests 10 TB/s and comes close to the dotted slope. But that slope is not a hard limit: where two
#   neighbouring programs read the same bytes at the same time, the stream got half as much again, apparently because
#   simultaneous requests for the same bytes are merged. (NVIDIA's profiler names a unit that merges them: L2 request
#   coalescer.) Neighbours in a tiled product do read the same tiles, so a point above the dotted slope would not be an
#   error either.
# - The largest blocks stay below both roofs: something else limits them (lesson 12).
# - 16 × 16 × 16 is below every slope: it requests half of what HBM delivers, and a quarter of what L2 does. Each
#   iteration of its loop does so little that the kernel mostly waits: it is limited by latency, with too few bytes in
#   flight.
#
# </details>

# %% [markdown]
# L2 helps attention even more. All programs of one head read the same $K$ and $V$. **Predict** how many bytes that is
# at $S = 4096$, $D = 128$ in 16 bit, and for how many heads they fit into L2: if everything is cached once, and if both
# halves cache what programs on both sides read.

# %% tags=["nbval-check-output"]
S, D = 4096, 128
k_and_v = 2 * S * D * 2
print(f"K and V of one head: {k_and_v / MIB:.0f} MiB")
for gpu in GPUS.values():
    print(f"{gpu.name:9} L2 holds K and V of {gpu.l2 // k_and_v} heads once, of {gpu.l2 // (2 * k_and_v)} if twice; "
          f"time to read those of one head from HBM {1e6 * attainable(gpu, 0, k_and_v, half=True):.1f} µs")  # fmt: skip

# %% [markdown]
# As long as programs of the same head run at about the same time, $K$ and $V$ are read from HBM hardly more than once,
# however often they are requested. This is why HBM traffic can be far below the bytes that FlashAttention requests,
# which the next section counts. The order in which programs start, usually lowest `program_id(0)` first, therefore
# matters.

# %% [markdown]
# ## 8 · Store P, or rebuild it
#
# Lesson 04 left a question open. $P$ need not be kept from the forward to the backward pass: from one number per row,
# the LSE, it can be rebuilt tile by tile. That saves memory, gigabytes in lesson 04's example. Does it save time as
# well? First, the bytes.
#
# They are counted as in section 6, as formulas, for one head's forward and backward pass: *requested* bytes, so the
# bytes of a tile count each time a program requests it, even if a cache has them. $b$ is the number of bytes per
# element. A tile of $P$ has $B_q$ queries and $B_k$ keys (this $B_k$ is a block of keys: the warning of section 5), and
# there are $(S_q / B_q)(S_k / B_k)$ of them.
#
# **Store P.** Each line of lessons 02 and 03 is a kernel of its own, and $S$, $P$, $dP$, $dS$ are matrices in memory.
# Three kinds of products occur: one whose *result* is $S_q \times S_k$ (a program owns a tile, and loads a block of
# both operands), and two that *read* such a matrix (a program owns a block of rows of the result, or of columns, and
# scans). The two softmax kernels read and write whole matrices.

# %%
S_q, S_k, D, B_q, B_k, b = sp.symbols("S_q S_k D B_q B_k b", positive=True)

tiles = (S_q / B_q) * (S_k / B_k)
Q_tile, K_tile, P_tile = B_q * D, B_k * D, B_q * B_k  # elements; dO has the shape of Q, and V that of K
Q_all, K_all, P_all = S_q * D, S_k * D, S_q * S_k

gives_a_matrix = tiles * (Q_tile + K_tile + P_tile)
reads_it_by_rows = tiles * (P_tile + K_tile) + Q_all
reads_it_by_columns = tiles * (P_tile + Q_tile) + K_all

store = {
    "S = α Q Kᵀ": b * gives_a_matrix,
    "P = softmax(S)": b * 2 * P_all,
    "O = P V": b * reads_it_by_rows,
    "dV = Pᵀ dO": b * reads_it_by_columns,
    "dP = dO Vᵀ": b * gives_a_matrix,
    "dS = P ∘ (dP − δ)": b * 3 * P_all,
    "dQ = α dS K": b * reads_it_by_rows,
    "dK = α dSᵀ Q": b * reads_it_by_columns,
}

# %% [markdown]
# **Rebuild P.** Four kernels, which you write in lessons 03 and 06 to 08. A program of the forward kernel owns a block
# of queries and scans the keys and values; so does one of the dQ kernel; one of the dK/dV kernel owns a block of keys
# and scans $Q$, $dO$ and the two numbers per query, LSE and $\delta$, at four bytes each. No $S_q \times S_k$ matrix
# appears.

# %%
rebuild = {
    "O and LSE": b * (2 * Q_all + tiles * 2 * K_tile) + 4 * S_q,
    "δ": b * 2 * Q_all + 4 * S_q,
    "dQ": b * (3 * Q_all + tiles * 2 * K_tile) + 8 * S_q,
    "dK and dV": b * (4 * K_all + tiles * 2 * Q_tile) + tiles * 8 * B_q,
}

n, B = sp.symbols("N B", positive=True)
square = {S_q: n, S_k: n, B_q: B, B_k: B}
stored_bytes, rebuilt_bytes = (sp.expand(sum(design.values())) for design in (store, rebuild))

assert sp.expand(stored_bytes.subs(square) - b * (11 * n**2 + 8 * n**2 * D / B + 4 * n * D)) == 0
rebuilt_total = b * (6 * n**2 * D / B + 11 * n * D) + 8 * n**2 / B + 16 * n
assert sp.expand(rebuilt_bytes.subs(square) - rebuilt_total) == 0

# %% tags=["nbval-check-output"]
for design in (store, rebuild):
    for name, bytes_ in design.items():
        print(f"{name:18} {sp.expand(bytes_.subs(square))}")
    print()

# %% [markdown]
# With $S_q = S_k = N$ and square tiles $B_q = B_k = B$, and without the small terms:
#
# | | requested | unique |
# |---|---|---|
# | store $P$ | $b\,(11 N^2 + 8 N^2 D / B)$ | $b\,(11 N^2 + 12 N D)$ |
# | rebuild $P$ | $b \cdot 6 N^2 D / B \;+\; 8 N^2 / B$ | $b \cdot 17 N D \;+\; 24 N$ |
#
# *Unique* bytes are counted once per kernel: what remains with a perfect cache. There is no need to count again: a
# perfect cache has the effect of a tile as large as the matrix.

# %%
one_tile = {B_q: S_q, B_k: S_k}
assert sp.expand(stored_bytes.subs(one_tile).subs(square) - b * (11 * n**2 + 12 * n * D)) == 0
assert sp.expand(rebuilt_bytes.subs(one_tile).subs(square) - (17 * b * n * D + 24 * n)) == 0

# %% tags=["nbval-check-output"]
print("per head, N = 4096, D = 64, fp16, in MiB")
print(f"{'tile':>6}{'store P':>20}{'rebuild P':>20}")
for tile in (16, 64, 128, 4096):
    at = {n: 4096, D: 64, b: 2, B: tile}
    values = [float(x.subs(square).subs(at)) / 2**20 for x in (stored_bytes, rebuilt_bytes)]
    print(f"{tile:6}" + "".join(f"{value:20.1f}" for value in values))

# %% [markdown]
# <details><summary><b>What to notice</b></summary>
#
# - A matrix of $N^2$ elements is read or written eleven times when $P$ is stored, and a cache helps little: at
#   $N = 4096$ one such matrix is 32 MiB, for one head of many. That is the term that FlashAttention removes.
# - What is left, $6 N^2 D / B$, is quadratic in $N$ as well. With $D = B$ it is about a third of what storing requests,
#   and of a different kind: the same rows of $K$ and $V$ over and over. $K$ and $V$ of a head are $2 N D\,b$ bytes, 1
#   MiB here, which fit in the L2 cache, so that most of these requests need not reach memory.
# - Larger tiles request less. Section 10 shows what limits the size of a tile.
#
# </details>

# %%
requested_bytes = {
    "store P": sp.lambdify((n, D), stored_bytes.subs(square).subs({b: 2, B: 64})),
    "rebuild P": sp.lambdify((n, D), rebuilt_bytes.subs(square).subs({b: 2, B: 64})),
}
unique_bytes = {
    "store P": sp.lambdify((n, D), stored_bytes.subs(one_tile).subs(square).subs(b, 2)),
    "rebuild P": sp.lambdify((n, D), rebuilt_bytes.subs(one_tile).subs(square).subs(b, 2)),
}
storing_pictures.traffic(requested_bytes, unique_bytes, N=4096, D=64)

# %% [markdown]
# > ### Sources corrected: with recomputation the traffic is O(N)
# >
# > **The claim**, in notes on the backward pass: storing $P$ costs $O(N^2)$ bytes, and recomputing it from the LSE
# > costs $O(N)$, since only the LSE is kept and read.
# >
# > **The experiment.** Take a kernel that rebuilds $P$ from $Q$, $K$ and the LSE, and only sums its rows (which must
# > give 1). It runs here under the observer, which counts every byte that it requests. **Predict:** by how much does
# > the traffic grow when $N$ doubles? And when the block doubles?


# %% tags=["nbval-check-output"]
def count_bytes(N, D=16, block=16):
    """Requested and unique bytes of row_sums_rebuilt, one head, fp32."""
    generator = torch.Generator().manual_seed(0)
    q, k = (torch.randn(1, N, D, generator=generator) for _ in range(2))
    lse = torch.logsumexp(q @ k.mT / math.sqrt(D), dim=-1)
    with flashlearn.observing() as (session, _):
        sums = row_sums_rebuilt(q, k, lse, 1 / math.sqrt(D), block)
    assert torch.allclose(sums, torch.ones_like(sums), atol=1e-5)
    observation = session.observation()
    return observation.bytes_requested, observation.bytes_unique


one_scan = b * (Q_all + tiles * K_tile) + 4 * S_q + 4 * S_q  # Q once, K per block of queries, LSE, the sums
for size, block in ((64, 16), (128, 16), (256, 16), (256, 32)):
    seen, once = count_bytes(size, block=block)
    assert seen == one_scan.subs(square).subs({n: size, B: block, D: 16, b: 4})
    print(f"N {size:3}, block {block}:  requested {seen:6}   unique {once:5}   LSE alone {4 * size:4}")

# %% [markdown]
# > **The verdict.** Three different things are $O(N)$, $\Theta(N D)$ and $\Theta(N^2 D / B)$:
# >
# > - what is *kept* from the forward to the backward pass in place of $P$: $N$ numbers. For this the claim is right.
# > - what memory must move at least: every row of $Q$, $K$, $V$, $dO$ once, $\Theta(N D)$.
# > - what the programs *request*: $\Theta(N^2 D / B)$, since every block of queries has to see all keys. It quadruples
# >   when $N$ doubles and halves when the block doubles (the counts above do so nearly: they have smaller terms as
# >   well), and the formula agrees with the observer's count to the byte.
# >
# > What memory actually moves is between the last two, and L2 decides. With $M$ elements of memory on the chip the
# > largest block is about $B = M / 4D$, and the last line becomes the $\Theta(N^2 D^2 / M)$ of the FlashAttention
# > paper, which is quadratic in $N$.
# >
# > The claim is right in another way, too. The dQ kernel scans $K$ and the dK/dV kernel scans $Q$ in any case, for
# > their products with $dS$. To compute $S$ as well, they need only their own block of the other matrix, once, and the
# > LSE. That is all that rebuilding adds to their traffic.
#
# ## 9 · When more arithmetic is faster
#
# Rebuilding trades bytes for arithmetic. Per element of $P$:
#
# - **read it:** $b$ bytes. With a bandwidth of $W$ bytes per second that takes $b / W$.
# - **rebuild it:** $D$ multiply-adds, $2D$ operations, at $F$ operations per second, and *one exponential*, at $E$ per
#   second. Exponentials do not run on tensor cores: a multiprocessor of each GPU below can do 16 per clock, on separate
#   units.
#
# Set the two equal and solve for $D$. Two numbers describe the machine: the ridge of its roofline, $I = F / W$, the
# operations that it can do while it moves one byte, and $\varepsilon = F / E$, the number of operations that take as
# long as one exponential.

# %% tags=["nbval-check-output"]
W, F, E, I, epsilon = sp.symbols("W F E I epsilon", positive=True)

read, rebuild_time = b / W, 2 * D / F + 1 / E
(break_even,) = sp.solve(sp.Eq(read, rebuild_time), D)
break_even = sp.expand(break_even.subs({W: F / I, E: F / epsilon}))
break_even

# %% [markdown]
# Below this $D$ rebuilding is faster. **Predict:** tensor cores have made products cheap, but not exponentials. Up to
# which $D$ does the exponential take longer than the product that it belongs to?

# %% tags=["nbval-check-output"]
tensor_operations = {"A100": 2048, "H100": 4096, "RTX 4090": 512}  # fp16, per clock and multiprocessor
machines = {}  # bytes/s, operations/s, exponentials/s
for name, gpu in GPUS.items():
    machines[name] = (gpu.bandwidth, gpu.half, gpu.half * 16 / tensor_operations[name])
machines["H200"] = (4.8e12, *machines["H100"][1:])  # an H100 with faster memory

print(f"{'fp16':10}{'ridge':>9}{'1 exp':>7}{'product = exp':>15}{'one reading':>13}{'write, 2 readings':>19}")
for name, (bandwidth, products, exponentials) in machines.items():
    at = {I: products / bandwidth, epsilon: products / exponentials}
    equal = at[epsilon] / 2
    once, thrice = (break_even.subs(at).subs(b, count) for count in (2, 3))  # 3 = (2 + 2 · 2) / 2
    columns = "".join(f"{f'D = {x:.0f}':>{w}}" for x, w in ((equal, 15), (once, 13), (thrice, 19)))
    print(f"{name:10}{at[I]:9.0f}{at[epsilon]:7.0f}{columns}")

# %% [markdown]
# <details><summary><b>What to notice</b></summary>
#
# - Without the exponential, reading once would break even on an H100 at $D = 295$ instead of 167. One exponential takes
#   as long as 256 operations: for $D \le 128$ that is at least as long as the product that it belongs to.
#   FlashAttention-3 therefore overlaps the two (lesson 13).
# - An H200 computes like an H100 and reads 1.4 times as fast, so reading is the better choice from a smaller $D$ on.
#   Whether rebuilding is better depends on a ratio, and the ratio changes from one machine to the next.
# - The break-even for *one reading* is not the whole story. An attention that stores $P$ writes it once and reads it
#   twice (for dQ, and for dK and dV); one that rebuilds does so twice. That is $\frac32 b$ bytes per rebuild instead of
#   $b$: the last column, which on all four GPUs is beyond the usual head dimensions of 64 and 128.
#
# </details>

# %% [markdown]
# This is an estimate from peak figures. Compare it with a measurement: two kernels that give the same row sums; one
# reads $P$, the other rebuilds it. On a machine with a CUDA GPU the cell measures; otherwise it takes what was measured
# on one NVIDIA H200 (torch 2.11, triton 3.6, 16 heads, $S_q = S_k = 4096$, fp16, best of a few block sizes).

# %%
SAVED = ("NVIDIA H200", 0.565, {16: 0.372, 32: 0.414, 64: 0.464, 128: 0.636, 256: 1.534})  # ps per element


def measure(heads=16, N=4096):
    """Picoseconds per element of P: read, and rebuilt for several D."""
    from triton.testing import do_bench

    def picoseconds(run):
        milliseconds = min(
            do_bench(lambda block=block: run(block), return_mode="median") for block in (32, 64)
        )
        return 1e9 * milliseconds / (heads * N * N)

    p = torch.rand(heads, N, N, device=DEVICE, dtype=torch.float16)
    rebuilt = {}
    for width in (16, 32, 64, 128, 256):
        q, k = (torch.randn(heads, N, width, device=DEVICE, dtype=torch.float16) for _ in range(2))
        lse = torch.full((heads, N), 20.0, device=DEVICE)  # the time does not depend on its value
        rebuilt[width] = picoseconds(lambda block, q=q, k=k, lse=lse: row_sums_rebuilt(q, k, lse, 0.1, block))
    return torch.cuda.get_device_name(), picoseconds(lambda block: row_sums_stored(p, block)), rebuilt


where, read_time, rebuilt_times = measure() if DEVICE == "cuda" else SAVED
print(f"{where}: {read_time:.3f} ps to read an element of P")
for width, rebuilt_time in rebuilt_times.items():
    print(f"  rebuilt, D = {width:3}: {rebuilt_time:.3f} ps")

# %%
known = next((name for name in machines if name in where), None)
storing_pictures.break_even(machines, size=2, measured={known: (read_time, rebuilt_times)} if known else None)

# %% [markdown]
# <details><summary><b>What to notice</b></summary>
#
# - On the H200, rebuilding is faster up to a $D$ of about 100, where the estimate was 78. Reading reached about 3.5 of
#   the 4.8 TB/s, so it, too, is slower than at peak.
# - From $D = 16$ to $D = 64$ the product grows fourfold and the time by a quarter: at small $D$ the exponential is most
#   of it.
# - At $D = 256$ this simple kernel is slower than its own trend, probably because a block of queries no longer fits
#   comfortably into registers. Arithmetic is cheap only if its operands arrive in time; the next section is about what
#   that costs.
#
# </details>

# %% [markdown]
# And here is when it is *not* faster: in fp32, without tensor cores, $F$ is about fifteen times smaller on an A100 or
# H100. **Predict** the break-even from the formula, then look.

# %% tags=["nbval-check-output"]
for name, (bandwidth, _, exponentials) in machines.items():
    fp32 = GPUS["H100" if name == "H200" else name].fp32
    even = break_even.subs({I: fp32 / bandwidth, epsilon: fp32 / exponentials, b: 4})
    print(f"{name:10} fp32   ridge {fp32 / bandwidth:5.1f}   break-even D = {even:.0f}")

# %% [markdown]
# <details><summary><b>What to notice</b></summary>
#
# - On the data-centre GPUs almost any head dimension is beyond it: with $D = 64$ in fp32, reading $P$ is faster.
#   Measured on the H200 (4 heads, $4096 \times 4096$): read 1.1 ps per element; rebuilt 2.8 ps at $D = 16$, 13 ps at
#   $D = 64$. The RTX 4090 has more fp32 arithmetic than either of them and far less bandwidth: there it still pays.
# - That does not mean that $P$ should be stored in fp32. Time is one budget, memory the other: the $P$ of lesson 04's
#   section 7 is 16 GiB in fp32, for each layer, however fast it is to read.
#
# </details>

# %% [markdown]
# ## 10 · What a block shape costs
#
# Larger tiles request fewer bytes. Why not 512 × 512? Because a program has to fit into an SM, with its accumulator in
# registers and its tiles in shared memory. And preferably more than one program at a time: while one waits, another
# computes.
#
# **Occupancy** is the number of warps that are resident in an SM, as a fraction of the most it can hold, 64 on an A100
# or H100. Four limits determine how many *blocks* are resident, and the smallest decides:
#
# | limit | one block takes | of |
# |---|---|---|
# | warps | `warps` | `gpu.warps_per_sm` |
# | blocks | 1 | `gpu.blocks_per_sm` |
# | registers | `registers` per thread, rounded up to a multiple of 8, times 32 · `warps` | `gpu.registers_per_sm` |
# | shared memory | its bytes, and 1 KiB for the system | `gpu.shared_per_sm` |

# %%
traffic_pictures.resident(h100, warps=4, shared=(0, 32 * KIB, 96 * KIB))

# %% [markdown]
# Which of the four limits is the smallest? **Predict** it for each position, then move the sliders: blocks of four warps
# on an H100.

# %%
traffic_pictures.sliding_limits(h100, warps=4)

# %% [markdown]
# **A warm-up, on paper.** A CUDA kernel for the backward pass keeps four arrays of 64 queries in registers, in fp32:
# $Q$, $O$, $dO$ and the sum for $dQ$, each 64 × 128. It has eight warps; a warp owns eight rows, and each of its lanes
# four columns of them. **Predict**: how many registers does one array take per thread, and per warp? How many do all four
# take, of the 255 that a thread may have? And how many such blocks fit into the 65,536 registers of an SM, if nothing
# else needed any?

# %%
rows_of_a_warp, columns_of_a_lane = 64 // 8, 128 // 32
one_array = rows_of_a_warp * columns_of_a_lane
print(f"one array: {one_array} registers per thread, {32 * one_array} per warp")
print(
    f"four arrays: {4 * one_array} per thread; {h100.registers_per_sm // (8 * 32 * 4 * one_array)} blocks on an SM"
)
assert 8 * 32 * one_array == 64 * 128  # every element is in one register

# %% [markdown]
# Half of a thread's registers are taken before the first score is computed, and with addresses, scores and $dS$ only one
# block will fit instead of two. In half precision $Q$, $O$ and $dO$ would take half as many; $O$ need not be kept at all,
# since $\delta$ is one number per row.
#
# ### What the compiler says
#
# Only the compiler knows how many registers a kernel takes. But you can ask it, even about GPUs that you do not have.
# `compiler.compile_launch` gives a `Budget` for an A100 and an H100. First the shared memory of one block shape, 64 ×
# 64 × 32 in fp16, as the number of *stages* grows. A stage is a pair of tiles that is loaded ahead of time, while the
# product of an earlier pair is computed. A tile of $A$ and one of $B$ have $64 \cdot 32 + 32 \cdot 64$ elements, 8 KiB.
# **Predict** the shared memory for 1 to 4 stages.


# %%
def budgets_of(shape, warps, stages, dtype=torch.float16):
    """The compiler's answer for an A100 and an H100, of the tiled product with this block shape."""
    a, b = torch.zeros(2, 16, 16, dtype=dtype)
    names = dict(zip(("BLOCK_M", "BLOCK_N", "BLOCK_K"), shape, strict=True))
    return compiler.compile_launch(launch_of(product, a, b, **names, num_warps=warps, num_stages=stages))


for stages in (1, 2, 3, 4):
    for made in budgets_of((64, 64, 32), warps=4, stages=stages):
        print(
            f"{stages} stage(s), {made.device} ({made.tensor_cores:5}): "
            f"{made.shared_bytes // KIB:2} KiB shared, {made.registers} registers, occupancy {made.occupancy:.0%}"
        )

# %% [markdown]
# <details><summary><b>What to notice</b></summary>
#
# - On the H100 it is `stages` pairs, on the A100 `stages − 1`, at least one. The reason is the tensor-core instruction.
#   `mma` takes its operands from registers: as soon as a tile has been read from shared memory, its space is free for
#   the next. `wgmma` reads shared memory itself, while the program continues: the pair that is being multiplied needs
#   space of its own. Below, the number of pairs is called `buffers`.
# - `wgmma` needs a warpgroup and 64 rows. With a 32-row tile, such as your launcher's, an H100 falls back to `mma`.
# - The accumulator does not appear. It is in registers: $64 \cdot 64$ numbers over 128 threads, 32 registers each.
#   The rest of what is reported is addresses, masks and operands.
#
# </details>
#
# ### Exercise: `budget` · stretch
#
# Write a function that says what a block shape costs, before anything is compiled. It gets plain integers:
#
# - `block_m, block_n, block_k`; `size`, bytes per element of $A$ and $B$; `buffers`, the pairs of tiles that are kept
#   in shared memory; `warps`; `registers` per thread (only the compiler knows this number, so it is given); and `gpu`,
#   with the four fields of the table above.
#
# It returns three numbers:
#
# - `accumulator`: registers per thread that hold the accumulator, `block_m` × `block_n` numbers in fp32 (a quotient,
#   not rounded);
# - `shared`: bytes of shared memory per block;
# - `occupancy`: resident warps over the most that are possible; 0 if not even one block fits.
#
# The check has cases computed by hand. Then it asks the compiler, for both GPUs, and compares: shared memory to
# within 10 %, occupancy to within one block.


# %% exercise="budget"
# HINT: Three separate questions. How many fp32 numbers has the tile of C, and how many threads share them?
#     How many elements do one tile of A and one of B have, how many pairs are kept, and how many bytes is
#     that? And: how many blocks fit into one multiprocessor, by each of four limits?
# HINT: Threads: `32 * warps`. A block takes `registers` per thread, rounded up to a multiple of 8
#     (`-(-registers // 8) * 8`), of `gpu.registers_per_sm`; `shared + 1024` of `gpu.shared_per_sm`; `warps`
#     of `gpu.warps_per_sm`; one of `gpu.blocks_per_sm`. Whole blocks only: `//`. The smallest limit counts;
#     occupancy is `blocks * warps / gpu.warps_per_sm`.
# HINT: `accumulator = block_m * block_n / (32 * warps)`; `shared = buffers * (block_m + block_n) * block_k *
#     size`; one of the four limits is `gpu.registers_per_sm // (-(-registers // 8) * 8 * 32 * warps)`. The
#     other three, their `min`, and the fraction are left for you.
def budget(block_m, block_n, block_k, size, buffers, warps, registers, gpu):
    """(accumulator, shared, occupancy) of a block shape: registers per thread, bytes, a fraction."""
    ### BEGIN SOLUTION
    # STUB: raise NotImplementedError("TODO budget: accumulator per thread, shared bytes, occupancy")
    accumulator = block_m * block_n / (32 * warps)
    shared = buffers * (block_m + block_n) * block_k * size
    per_thread = -(-registers // 8) * 8  # rounded up to a multiple of 8
    blocks = min(
        gpu.blocks_per_sm,
        gpu.warps_per_sm // warps,
        gpu.registers_per_sm // (per_thread * 32 * warps),
        gpu.shared_per_sm // (shared + 1024),
    )
    return accumulator, shared, blocks * warps / gpu.warps_per_sm
    ### END SOLUTION


# %%
flashlearn.check("budget", budget)

# %%
# flashlearn.hint("budget")

# %% [markdown]
# The next cell compares your prediction with the compiler's answer. **Predict** the last shape on paper first: 128 ×
# 256 by four warps. How many registers does the accumulator alone take, and how many may a thread have?

# %%
predict = flashlearn.use("budget", budget)

print(
    "block        warps  GPU   accumulator  registers  spilled     shared predicted  compiled   occupancy, both"
)
shapes = (((64, 64, 32), 4, 3), ((128, 128, 64), 8, 3), ((128, 256, 32), 8, 2), ((128, 256, 32), 4, 2))
for shape, warps, stages in shapes:
    for made in budgets_of(shape, warps, stages):
        gpu = for_target(made.target)
        buffers = buffers_of(made, stages)  # stages for wgmma, one less for mma
        accumulator, shared, share = predict(*shape, 2, buffers, warps, made.registers, gpu)
        print(
            f"{'×'.join(map(str, shape)):12} {warps:3}   {made.device} {float(accumulator):9.0f}"
            f" {made.registers:11} {made.spill_bytes:8} B {int(shared):13} B {made.shared_bytes:9} B"
            f" {float(share):7.1%} {made.occupancy:6.1%}"
        )

# %% [markdown]
# <details><summary><b>What to notice</b></summary>
#
# - 128 × 256 numbers over 128 threads are 256 registers, one more than there are, and nothing is left for addresses and
#   operands. So the compiler *spills*: what does not fit into registers goes to *local memory*, which in fact is device
#   memory, accessed through the caches: 600 bytes and more for each thread, much of it written and read back in every
#   iteration of the loop. With eight warps the same tile takes 128 registers per thread, and nothing is spilled.
# - Triton does not warn you (the report of a check shows the spilled bytes). The kernel is right, and slow. The next
#   cell says how slow.
# - Occupancy here is 12 to 50 %. That is not bad by itself: a product with asynchronous copies keeps enough bytes in
#   flight without many warps. Occupancy is a means, not an end. Do not tune for it.
#
# </details>

# %%
spilled, roomy = measured["matmul"][(128, 256, 32), 4], measured["matmul"][(128, 256, 32), 8]
print(f"{measured['device']}, n = {measured['n']}, blocks 128×256×32, 2 stages:")
print(f"8 warps {roomy / 1e12:.0f} TFLOP/s; 4 warps, which spill, {spilled / 1e12:.0f}")
print(f"that is {roomy / spilled:.1f} times slower")

# %% [markdown]
# > ### Sources corrected: "256 registers per thread"
# >
# > **The claim**, in an introduction to the GPU: a thread may have up to 256 registers.
# >
# > **The experiment.** The last row of the table above is made for it: an accumulator of 256 registers per thread. **Predict**
# > what the compiler does if a thread may have 256, and what it does if not.

# %%
for made in budgets_of((128, 256, 32), warps=4, stages=2):
    print(f"128×256 by 4 warps, {made.device}: {made.registers} registers, {made.spill_bytes} B spilled")

# %% [markdown]
# > **The verdict.** 255, on either GPU. An instruction has eight bits for the number of a register, and the last of the
# > 256 numbers is not a register: it is `RZ`, the constant zero.

# %% [markdown]
# > ### Sources corrected: hoisting an index saves registers
# >
# > **The claim**, in notes on tuning a kernel: addresses were computed inside the loop; computing them
# > once, before the loop, saves registers.
# >
# > **The experiment.** The same product twice. In one version the addresses are computed from `start` in every step; in
# > the other they are computed before the loop and advanced. Both with 32-bit and with 64-bit indices, and for two
# > block shapes. **Predict** in which of the cases the second takes fewer registers.


# %%
@triton.jit
def addresses_kernel(
    a_ptr, b_ptr, c_ptr, M, N, K, a_row, b_row, c_row,
    HOISTED: tl.constexpr, INDEX: tl.constexpr,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    rows = tl.program_id(0).to(INDEX) * BLOCK_M + tl.arange(0, BLOCK_M)
    columns = tl.program_id(1).to(INDEX) * BLOCK_N + tl.arange(0, BLOCK_N)
    inner = tl.arange(0, BLOCK_K).to(INDEX)
    in_rows, in_columns = (rows < M)[:, None], (columns < N)[None, :]
    a_ptrs = a_ptr + rows[:, None] * a_row + inner[None, :]
    b_ptrs = b_ptr + inner[:, None] * b_row + columns[None, :]
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for start in range(0, K, BLOCK_K):
        if not HOISTED:
            a_ptrs = a_ptr + rows[:, None] * a_row + (start + inner)[None, :]
            b_ptrs = b_ptr + (start + inner)[:, None] * b_row + columns[None, :]
        a = tl.load(a_ptrs, mask=in_rows & (start + inner < K)[None, :], other=0.0)
        b = tl.load(b_ptrs, mask=in_columns & (start + inner < K)[:, None], other=0.0)
        acc += tl.dot(a, b)
        if HOISTED:
            a_ptrs += BLOCK_K
            b_ptrs += BLOCK_K * b_row
    tl.store(c_ptr + rows[:, None] * c_row + columns[None, :], acc, mask=in_rows & in_columns)


def with_addresses(shape, warps, hoisted, index):
    BLOCK_M, BLOCK_N, BLOCK_K = shape
    x = torch.zeros(16, 16, dtype=torch.float16)
    addresses_kernel[(1, 1)](
        x, x, torch.empty_like(x), *x.shape, 16, 16, 16, 16, HOISTED=hoisted, INDEX=index,
        BLOCK_M=BLOCK_M, BLOCK_N=BLOCK_N, BLOCK_K=BLOCK_K, num_warps=warps,
    )  # fmt: skip


changes = []
for shape, warps in (((64, 64, 32), 4), ((128, 128, 32), 8)):
    for index in (tl.int32, tl.int64):
        computed, hoisted = (
            compiler.compile_launch(launch_of(with_addresses, shape, warps, choice, index))
            for choice in (False, True)
        )
        for one, other in zip(computed, hoisted, strict=True):
            print(
                f"{'×'.join(map(str, shape)):10} {index}, {one.device}: in the loop {one.registers:3}, "
                f"hoisted {other.registers:3} registers, {other.registers - one.registers:+d}"
            )
            changes.append(other.registers - one.registers)
fewer, same = sum(change < 0 for change in changes), changes.count(0)
print(f"triton {triton.__version__}: fewer in {fewer} of {len(changes)} cases, the same in {same}")
assert len(set(changes)) > 1

# %% [markdown]
# > **The verdict.** It is not a rule. The compiler moves out of the loop what does not change in it, whether you do or
# > not, and can turn multiplications by the loop's index into additions. What hoisting by hand does change is how many
# > values stay *live* across the loop: two tiles of pointers, two registers for each pointer. What that does to the
# > number of registers differs from case to case, as the list shows, and from one compiler to the next. If you want to
# > know, ask the compiler: it takes a second.
#
# ### All of it in one table
#
# | you choose | bytes requested | registers | shared memory | bytes in flight |
# |---|---|---|---|---|
# | larger `BLOCK_M`, `BLOCK_N` | fewer | more: the accumulator | more | more |
# | larger `BLOCK_K` | the same | hardly more | more | more |
# | more `num_warps` | the same | fewer per thread | the same | the same |
# | more `num_stages` | the same | hardly more | more | more |

# %% [markdown]
# ## 11 · One pass, and where additions collide
#
# The backward pass has results of two kinds. $dQ$ belongs to queries, $dK$ and $dV$ belong to keys. Lessons 07 and 08
# write a kernel for each, and both compute $S$, $P$, $dP$ and $dS$ for themselves. There is another design: *one*
# kernel, in which a program owns a block of queries, goes through the keys once, and uses each tile of $dS$ for all
# three. That takes five products for each tile instead of seven. $dQ$ belongs to the program and stays in its
# registers. But what the tile adds to $dK$ and $dV$ belongs to keys, and all other programs of the head add there, too.
#
# ### A lost update
#
# `dk[j] += share` is three steps: load, add, store. Two programs add 1 and 2 to a number that is 0. **Predict** which
# results are possible, if their steps may come in any order.

# %%
steps = (("load", "a"), ("store", "a"), ("load", "b"), ("store", "b"))


def result_of(order):
    """What is in memory at the end: a adds 1, b adds 2, each to what it loaded."""
    memory, loaded, share = 0, {}, {"a": 1, "b": 2}
    for step, who in order:
        if step == "load":
            loaded[who] = memory
        else:
            memory = loaded[who] + share[who]
    return memory


in_order = [
    order
    for order in itertools.permutations(steps)
    if all(order.index(("load", who)) < order.index(("store", who)) for who in "ab")
]
print("result: how many of the orders give it", dict(Counter(map(result_of, in_order))))
assert Counter(map(result_of, in_order)) == {3: 2, 2: 2, 1: 2}

# %% [markdown]
# Four of the six orders lose an update, without any error. A kernel that does this is right on a machine that runs one
# program after another, as this course's interpreter does, and can be wrong on a GPU. `tl.atomic_add` does the three
# steps as one. Lesson 08 shows what the check reports where it is missing, lesson 11 how much a GPU loses.
#
# ### Inside a block: which thread has which element?
#
# One level down the same question arises. A CUDA kernel of this design keeps a tile of keys on the chip, in shared
# memory, four arrays of $B_c \times D$ fp32 numbers: $K$, $V$, and the sums for $dK$ and $dV$. A block of threads has a
# tile of $dS$ and computes two sums from it:
#
# $$dQ_{id} \mathrel{+}= \sum_j dS_{ij} K_{jd}, \qquad dK_{jd} \mathrel{+}= \sum_i dS_{ij} Q_{id}.$$
#
# Which thread computes which terms? That is the *mapping of threads to elements*. **Predict**, for the three mappings
# below, how many threads add to one element of $dQ$, and how many to one of $dK$.


# %%
ROWS, KEYS, WIDTH = 8, 8, 4  # a small tile: queries, keys, components
mappings = {
    "a thread for each query i": lambda i, j, d: i,
    "a thread for each key j": lambda i, j, d: j,
    "a thread for each component d": lambda i, j, d: d,
}


def most_that_meet(mapping, element):
    """The largest number of threads that add to one element, over all terms of the tile."""
    threads = {}
    for i, j, d in itertools.product(range(ROWS), range(KEYS), range(WIDTH)):
        threads.setdefault(element(i, j, d), set()).add(mapping(i, j, d))
    return max(map(len, threads.values()))


print(f"{'':31}{'threads':>8}{'add to a dQ':>13}{'add to a dK':>13}")
for name, mapping in mappings.items():
    threads = len({mapping(*at) for at in itertools.product(range(ROWS), range(KEYS), range(WIDTH))})
    meet = [most_that_meet(mapping, e) for e in (lambda i, j, d: (i, d), lambda i, j, d: (j, d))]
    print(f"{name:31}{threads:8}{meet[0]:13}{meet[1]:13}")

# %% [markdown]
# <details><summary><b>What to notice</b></summary>
#
# - With a thread for each query, each thread sums its part of $dQ$ in its own registers. In $dK$ all threads of the
#   block add to every element, and each addition has to be atomic, in shared memory this time: that is right, but up to
#   32 lanes of a warp take turns at one word. With a thread for each key it is the other way round.
# - With a mapping by component no two threads add to the same element, but there are only as many threads as $D$. Each
#   of them needs the whole tile of $dS$, which goes through shared memory: the threads that computed it write it, then
#   comes a barrier, then all read it. That is the general remedy: *change the mapping between the two sums*, at the
#   price of shared memory and a barrier.
# - In Triton you write `tl.dot(ds, k)` and `tl.dot(tl.trans(ds), q)`, and the compiler chooses the mappings and inserts
#   the stores, barriers and loads. Look for them in the counts below. Between *programs* it does nothing of the kind:
#   that addition is up to you.
#
# </details>


# %%
@triton.jit
def one_tile_kernel(ds_ptr, q_ptr, dk_ptr, BLOCK: tl.constexpr):
    i, j = tl.arange(0, BLOCK), tl.arange(0, BLOCK)
    tile = i[:, None] * BLOCK + j[None, :]
    ds, q = tl.load(ds_ptr + tile), tl.load(q_ptr + tile)
    tl.atomic_add(dk_ptr + tile, tl.dot(tl.trans(ds), q))


def one_tile(ds, q):
    dk = torch.zeros(ds.shape)
    one_tile_kernel[(1,)](ds, q, dk, BLOCK=ds.shape[0], num_warps=4)
    return dk


ptx = listing(launch_of(one_tile, *torch.ones(2, 64, 64, dtype=torch.float16)))["ptx"]
patterns = {
    "written to shared memory": r"\bst\.shared|\bstmatrix",
    "barriers of the block": r"\bbar\.sync",
    "atomic, shared memory": r"\b(?:atom|red)\.\S*shared",
    "atomic, global memory": r"\b(?:atom|red)\.\S*global",
}
print({name: len(re.findall(pattern, ptx)) for name, pattern in patterns.items()})

# %% [markdown]
# Whether one pass pays is a separate question: lesson 11 counts it, builds both one-pass kernels, and times them.

# %% [markdown]
# ## 12 · What you have now
#
# | | remember |
# |---|---|
# | registers, shared memory, L2, HBM | outwards from shared memory: larger, slower, further away; more than a factor of a hundred in all |
# | a Triton program | one block: `num_warps` × 32 threads, on one SM |
# | within a warp, between warps, between programs | shuffle; shared memory and a barrier; atomics, or the end of the kernel |
# | coalesced | neighbouring lanes access neighbouring addresses: few sectors of 32 bytes |
# | requested bytes | $e\,(MK\lceil N/B_N\rceil + KN\lceil M/B_M\rceil + MN)$ |
# | unique bytes | $e\,(MK + KN + MN)$; L2 decides in between |
# | intensity of a tiled product | $B/e$ by requested bytes |
# | the machine's ridge | $I$ = `half / bandwidth`: 295 FLOP/B on an H100 |
# | store $P$ | $11\,b N^2$ bytes and more: eleven passes over a matrix |
# | rebuild $P$ | $6\,b N^2 D / B$ requested, $\Theta(ND)$ unique; kept: $N$ numbers |
# | reading and rebuilding take the same time at | $D = (b I - \varepsilon)/2$: bytes, products *and* exponentials |
# | accumulator | `BLOCK_M · BLOCK_N / (32 · num_warps)` registers per thread, of at most 255 |
# | shared memory | 48 KiB by default; more by opting in, which Triton does |
# | `+=` by two programs | may lose an update; an atomic addition cannot |
#
# ### Questions for yourself
#
# Answer before you unfold.
#
# **1.** A product of 4096³ in fp16 with blocks of 64 × 64 requests how many bytes? How long does an H100 take for
# them from HBM, and how long for the arithmetic?
#
# <details><summary>Answer</summary>
#
# $2 \cdot (2 \cdot 4096^2 \cdot 64 + 4096^2)$ bytes, which is $129 \cdot 4096^2 \cdot 2 = 4.3 \cdot 10^9$. At 3.35 TB/s
# that is 1.3 ms. The arithmetic is $2 \cdot 4096^3 = 1.4 \cdot 10^{11}$ operations, which take 0.14 ms at 989 TFLOP/s.
# If L2 did not help, memory would take nine times as long; the intensity of 32 against a ridge of 295 says the same.
#
# </details>

# %% [markdown]
# **2.** A kernel has one warp per program and sums a row of 4096 numbers with `tl.sum`. How many barriers are there?
# How many elements does each thread have? Why might four warps still be better?
#
# <details><summary>Answer</summary>
#
# None: everything happens within a warp. Each thread has 128 elements, so 128 registers for the row alone. Two such
# rows, as in a backward kernel, would not fit. With four warps each thread has 32 elements, at the price of one
# exchange through shared memory, and the program has more loads in flight.
#
# </details>

# %% [markdown]
# **3.** A kernel with 200 registers per thread, 4 warps and 40 KiB of shared memory per block: how many blocks are
# resident on an H100 SM? What changes if the registers are reduced to 168? And if shared memory is also reduced to 20
# KiB?
#
# <details><summary>Answer</summary>
#
# By registers: $65536 / (200 \cdot 128) = 2.56$, so 2. By shared memory: $228 / 41 = 5.6$, so 5. Two are resident, 8
# of 64 warps. With 168 registers it is $65536 / 21504 = 3.05$, three. Less shared memory changes nothing: it was not
# the limit.
#
# </details>

# %% [markdown]
# ### Journal
#
# *Two or three sentences in your own words, to be read again in a month. Which figure surprised you? Which of your
# kernels so far would you expect to be limited by something other than memory? Double-click here and write.*

# %% [markdown]
# ### What comes next
#
# Lesson 06 puts two tiled products into one loop, with a softmax between them that has to start before it has seen the
# whole row. Its accumulator, tiles and requested bytes work as in this lesson; lesson 11 comes back to the one-pass
# design, 12 and 13 to block shapes, stages and what Hopper adds.
#
# **Sources.** Roofline: S. Williams, A. Waterman, D. Patterson, *Roofline: an insightful visual performance model for
# multicore architectures*, CACM 52(4), 2009. Threads, memory, limits per compute capability, banks, clusters: NVIDIA,
# *CUDA C++ Programming Guide*. SMs, GPCs and L2: NVIDIA, *A100* and *H100 Tensor Core GPU Architecture*, white
# papers, 2020 and 2022; peaks: their data sheets. Instructions: NVIDIA, *Parallel Thread Execution ISA*. Latency by
# chasing pointers, and the four clocks of a multiply-add: Z. Jia, M. Maggioni, B. Staiger, D. Scarpazza, *Dissecting
# the NVIDIA Volta GPU architecture via microbenchmarking*, arXiv 1804.06826; for Hopper: W. Luo et al., arXiv
# 2402.13499. Occupancy: V. Volkov, *Better performance at lower occupancy*, GTC 2010. Little's law: J. Little, *A
# proof for the queuing formula L = λW*, Operations Research 9, 1961. The tiled product in Triton: tutorial 03,
# *Matrix Multiplication*. Work between warps: T. Dao, *FlashAttention-2*, arXiv 2307.08691, section 3.3.
# $\Theta(N^2 d^2 / M)$ bytes: T. Dao et al., *FlashAttention*, NeurIPS 2022, theorem 2. Exponentials against products:
# J. Shah et al., *FlashAttention-3*, arXiv 2407.08608, section 3; sixteen special-function results per clock and
# multiprocessor: the *Programming Guide*'s table of throughput of arithmetic instructions. The H200's bandwidth: NVIDIA,
# *H200 Tensor Core GPU* data sheet. Our measurements: one NVIDIA H200, triton 3.6.0,
# `flashlearn/lessons/lesson_05_execution_model/probes.py`.
