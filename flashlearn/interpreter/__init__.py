"""Kernels observed on a CPU: every access checked, every operation counted, no address ever real."""
