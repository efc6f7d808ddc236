"""Counts: summaries of rows that can be added and subtracted, and from which models learn."""
