"""Random programs, compared with CPU and between ways of running them."""
