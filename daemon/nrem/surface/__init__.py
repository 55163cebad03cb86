"""Thin skins over the operations."""
