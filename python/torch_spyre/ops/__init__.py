"""Where upstream's programs look for what concerns operators."""
