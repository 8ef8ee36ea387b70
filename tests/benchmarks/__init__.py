"""The suite of benchmarks itself: its words, its checks, its documents."""
