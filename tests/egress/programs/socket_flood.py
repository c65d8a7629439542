"""Makes sockets as fast as it can, in several threads and child processes: `socket_flood.py SECONDS`. Then prints whether it
can still make one.

Half of the threads keep their sockets until there are no descriptors left. Each child is killed after 2 ms, mostly in
the middle of the system call.
"""
import errno
import os
import signal
import socket
import sys
import threading
import time

THREADS, CHILDREN = 4, 200
end = time.monotonic() + float(sys.argv[1])


def make_sockets(keep):
    sockets = []
    while time.monotonic() < end:
        try:
            sockets.append(socket.socket())
        except OSError as error:
            assert error.errno == errno.EMFILE, error
            sockets.clear()
        if not keep:
            sockets.clear()


threads = [threading.Thread(target=make_sockets, args=(number % 2,)) for number in range(THREADS)]
for thread in threads:
    thread.start()
killed = 0
while time.monotonic() < end and killed < CHILDREN:
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
