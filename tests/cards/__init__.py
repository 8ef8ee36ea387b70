"""Several cards in one process. The check_*.py here run in a process that sees three: test_cards.py starts it."""
