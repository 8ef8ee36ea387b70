"""Tests by the promise they keep; see HACKING.md."""
