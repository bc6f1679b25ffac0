"""What runs inside a job: standard library only, Python 3.8 or newer. It travels as runtime.pyz in the run's folder."""
