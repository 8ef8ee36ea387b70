"""What lazy engines break: each program here means on spyre what it means on CPU."""
