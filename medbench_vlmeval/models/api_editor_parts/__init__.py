"""The parts of `APIEditor`, in a folder of their own: the host's start loads none of them."""
