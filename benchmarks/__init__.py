"""Programs timed side by side on spyre and on its peers, in one run: `python -m benchmarks`."""
