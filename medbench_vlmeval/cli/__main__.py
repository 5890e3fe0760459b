"""``python -m medbench_vlmeval.cli``: the command ``medbench``."""

from . import main

if __name__ == "__main__":
    main()
