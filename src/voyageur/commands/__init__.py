"""One file per verb, each a list of steps."""
