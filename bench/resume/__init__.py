"""Nothing is lost: kills at random moments, and how soon the next piece of a long run computes."""
