"""Checks, laws and strategies for people who add models, engines or formats."""

from countwise.testing.check_model import check_model, model_checks

__all__ = ["check_model", "model_checks"]
