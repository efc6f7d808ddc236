"""Ensembles: bagging, boosting and votes over any models."""
