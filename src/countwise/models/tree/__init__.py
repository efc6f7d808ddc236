"""Decision trees: ID3 with gain ratio, missing values and pruning."""
