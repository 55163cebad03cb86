"""The operations by what they are about."""
