"""Finds temporary files that ringwall left behind outside the directories of a test."""
import os
import time

PATIENCE = 60       # seconds; boxes of other tests, which run at the same time, remove their files within that time


def leftovers():
    """The paths in directories for temporary files whose names contain "ringwall"."""
    return {f'{folder}/{name}' for folder in ('/tmp', '/var/tmp', '/run', '/dev/shm') if os.path.isdir(folder)
            for name in os.listdir(folder) if 'ringwall' in name}


def left_since(before):
    """The paths that are not among those of leftovers() before, and do not disappear."""
    left, end = leftovers() - before, time.monotonic() + PATIENCE
    while left and time.monotonic() < end:
        time.sleep(0.05)
        left &= leftovers()
    return left
