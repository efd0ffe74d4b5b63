"""Judging: is an answer right, and did the learner's own kernels compute it?"""
