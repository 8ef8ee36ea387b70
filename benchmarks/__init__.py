"""Ratios against CPU eager, measured side by side in one run: `python -m benchmarks`."""
