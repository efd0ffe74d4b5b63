"""The pictures of lesson 15: which tiles a variant visits, what a cap does to scores, slopes of heads."""

from __future__ import annotations
