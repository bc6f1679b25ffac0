"""How soon a program starts in its environment, against what guides tell people to do."""
