"""The only model traffic."""
