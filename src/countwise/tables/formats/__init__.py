"""File formats: each module reads the column names, all rows, or blocks of rows."""
