"""One file per law of the design: each test fails when its law is broken."""
