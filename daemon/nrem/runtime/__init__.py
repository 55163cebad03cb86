"""What makes the parts one program."""
