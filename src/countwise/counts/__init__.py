"""SUMMARIES THAT MERGE: one pass over the rows gives counts that add, subtract and feed models."""
