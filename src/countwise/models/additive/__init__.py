"""Additive models: sums of look-up tables for columns and pairs of columns."""
