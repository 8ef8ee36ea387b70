"""PyTorch's own device-generic tests (`instantiate_device_type_tests`), run on spyre from a checkout of PyTorch."""
