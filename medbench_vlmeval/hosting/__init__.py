"""The only code that touches VLMEvalKit's registries.

Nothing is imported here: `medbench_vlmeval.register` comes through this package while the host may
still be executing.
"""
