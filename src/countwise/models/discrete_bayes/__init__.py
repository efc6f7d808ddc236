"""Discrete Bayes: the class weights of cells, with smoothing over near cells."""
