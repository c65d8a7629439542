"""Connects to an address and a port, does what its input says, and prints what came back, or why it failed.

Each line is one of: `send HEX`; `bytewise HEX`, each byte by itself; `urgent HEX`, out of band; `wait`, for the
beginning of an answer; `pause`, a moment; `end`, of what we send. After them it listens until nothing comes any more.
"""
import errno
import socket
import sys
import time

MOMENT, PATIENCE = 0.05, 5      # seconds

answer = b''


def listen(connection, seconds):
    global answer       # pylint: disable=global-statement
    connection.settimeout(seconds)
    data = connection.recv(65536)
    answer += data
    return data


def follow(connection, word, data):
    if word == 'send':
        connection.sendall(data)
    elif word == 'bytewise':
        for byte in data:
            connection.send(bytes([byte]))
            time.sleep(0.0002)
    elif word == 'urgent':
        connection.send(data, socket.MSG_OOB)
    elif word == 'wait':
        listen(connection, PATIENCE)
    elif word == 'pause':
        time.sleep(MOMENT)
    elif word == 'end':
        connection.shutdown(socket.SHUT_WR)


def main():
    with socket.create_connection((sys.argv[1], int(sys.argv[2])), PATIENCE) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for line in sys.stdin:
            word, _, digits = line.rstrip('\n').partition(' ')
            follow(connection, word, bytes.fromhex(digits))
        while listen(connection, 4 * MOMENT if answer else PATIENCE):
            pass


try:
    main()
except TimeoutError:
    pass        # nothing more comes
except OSError as error:
    print(errno.errorcode.get(error.errno, error), file=sys.stderr)
sys.stdout.buffer.write(answer)
