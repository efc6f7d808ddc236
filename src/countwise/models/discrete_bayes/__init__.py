"""Discrete Bayes: the class weights of cells, smoothed over nearby cells."""
