"""P(class | row): models that turn counts (or rows) into posteriors."""
