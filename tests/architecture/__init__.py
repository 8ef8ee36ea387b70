"""Tests of the tree itself: layers, sizes, conventions. They need no device."""
