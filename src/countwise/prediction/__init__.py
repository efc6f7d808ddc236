"""Prediction of files of any size, block by block."""
