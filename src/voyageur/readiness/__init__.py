"""Is this project ready for that cluster?"""
