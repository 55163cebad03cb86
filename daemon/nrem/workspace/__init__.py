"""The only git, and the only files of a workspace."""
