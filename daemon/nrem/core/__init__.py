"""One verb per module, plain synchronous functions."""
