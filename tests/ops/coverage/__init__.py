"""How much of PyTorch the device covers: op_db, run whole in worker processes, told on one page."""
