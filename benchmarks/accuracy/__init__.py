"""Accuracy of our models and of other libraries on the same tables and the same folds."""
