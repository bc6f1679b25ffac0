"""Speed, as ratios: both sides in one run. `python -m bench` runs all, `python -m bench startup` one."""
