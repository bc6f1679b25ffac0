"""The same result as text and as JSON."""
