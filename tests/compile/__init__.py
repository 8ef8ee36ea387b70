"""torch.compile on spyre."""
