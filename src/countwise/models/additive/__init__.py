"""Additive models: tables of columns and of pairs of columns, fitted together."""
