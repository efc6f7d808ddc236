"""Models made of counts: naive Bayes, TAN, AODE and KDB."""
