"""Programs that run in another Python, in the checkout of a model; `models/bridge.py` starts them.

Nothing here imports the rest of the package, and the rest of it imports nothing from here: each
file must run where only the model's own packages are installed, with Python 3.8 or later.
"""
