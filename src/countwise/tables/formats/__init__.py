"""File formats: each reads names, all rows or blocks of rows."""
