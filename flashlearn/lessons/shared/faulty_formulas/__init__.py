"""Kernels' loops in torch, with faults by name: what declared mistakes compute.

A formula takes `faults`, a set of names, and `tile`, the block sizes of the kernel that it stands for.
`tiled` declares the faults whose result depends on the tile, and whether only one of its two sides matters.
"""
