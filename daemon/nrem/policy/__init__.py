"""Pure decisions: values in, decisions out; no I/O and no clock."""
