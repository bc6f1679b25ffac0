"""Where environments are made: packages found, gathered, installed, tried, and put into one file."""
