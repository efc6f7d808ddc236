"""The figures of five papers, reproduced with countwise and judged."""
