"""What ringwall could leave behind outside the places of a test. Boxes of other tests come and go meanwhile."""
import os
import time

PATIENCE = 60       # seconds after which a name of another box is gone too


def leftovers():
    """Names that are ringwall's, where temporary things are."""
    return {f'{folder}/{name}' for folder in ('/tmp', '/var/tmp', '/run', '/dev/shm') if os.path.isdir(folder)
            for name in os.listdir(folder) if 'ringwall' in name}


def left_since(before):
    """Those that were not there before, and stay."""
    left, end = leftovers() - before, time.monotonic() + PATIENCE
    while left and time.monotonic() < end:
        time.sleep(0.05)
        left &= leftovers()
    return left
