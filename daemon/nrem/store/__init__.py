"""The only SQL: one SQLite file for all agents."""
