"""Mistakes that several lessons name: the sentences once, the formulas from whoever asks.

>>> mistakes = dq(ways(dq_scan, causal=False))        # a kernel of lesson 07
>>> mistakes = dq(ways(of_one_head))                  # a patient of lesson 10
"""
