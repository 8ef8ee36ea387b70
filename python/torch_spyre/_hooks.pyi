"""The light module: tells PyTorch that the device exists."""

awake: object

def device_count() -> int: ...
