"""Asks for sockets, and again, from several threads and processes: `storm.py SECONDS`. Then prints whether one can be had.

Every other process is killed wherever it is, which is mostly in the middle of such a call.
"""
import errno
import os
import signal
import socket
import sys
import threading
import time

THREADS, CROWD = 4, 200
end = time.monotonic() + float(sys.argv[1])


def ask(many):
    kept = []
    while time.monotonic() < end:
        try:
            kept.append(socket.socket())
        except OSError as error:
            assert error.errno == errno.EMFILE, error
            kept.clear()
        if not many:
            kept.clear()


threads = [threading.Thread(target=ask, args=(number % 2,)) for number in range(THREADS)]
for thread in threads:
    thread.start()
killed = 0
while time.monotonic() < end and killed < CROWD:
    child = os.fork()
    if child == 0:
        while True:
            socket.socket()
    time.sleep(0.002)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    killed += 1
for thread in threads:
    thread.join()
with socket.socket() as last:
    print('one more:', last.getsockname())
