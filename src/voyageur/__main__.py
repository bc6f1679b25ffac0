"""`python -m voyageur`: the same as `voy`."""

from voyageur.cli import main

main()
