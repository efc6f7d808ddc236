"""Checks shipped as a product: hypothesis strategies for tables, laws for counted models."""
