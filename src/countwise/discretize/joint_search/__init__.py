"""Search for cut points of all numeric columns together, within a budget of cells."""
