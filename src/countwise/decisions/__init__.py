"""Posteriors become decisions: rules, the gain matrix, and what a rule earns on data.

A decision rule is a function f_d(c) >= 0 that sums to one over the decisions c (Panda and Garg,
eq. 2). Argmax, the roulette wheel and the best expected gain are three such functions, so the
accuracy and the gain of any of them are exact sums over the rows; nothing need be drawn.
"""
