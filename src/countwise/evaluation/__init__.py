"""Evaluation: how well models do on unseen rows, and which differences are significant."""
