"""Other forms of the same files: what a pack is converted to, and made of again."""
