"""The figures of five papers, re-made with countwise and judged."""
