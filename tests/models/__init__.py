"""Whole programs on the device."""
