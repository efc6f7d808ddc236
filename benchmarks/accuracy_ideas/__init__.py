"""Experiments on the accuracy of `Additive`: each module compares one idea on the same folds."""
