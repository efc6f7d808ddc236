"""Models that learn from counts: naive Bayes, TAN, AODE and KDB."""
