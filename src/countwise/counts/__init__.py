"""Counts: summaries of rows that add, subtract and feed models."""
