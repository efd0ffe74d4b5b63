"""Gluon kernels on a CPU, observed: partitions, barriers and asynchronous copies, with honest time."""
