"""`voy demo`: a small honest training job and the story that is told with it."""
