"""Connects to an address and a port, carries out the lines of its standard input, and prints what came back. Errors go
to standard error.

    send HEX        sends these bytes
    bytewise HEX    sends these bytes, each in a write of its own
    urgent HEX      sends these bytes out of band
    wait            waits for the beginning of an answer
    pause           waits 50 ms
    end             closes our side of the connection

After the last line it receives until the peer closes, or sends nothing for a while.
"""
import errno
import socket
import sys
import time

PAUSE, TIMEOUT = 0.05, 5        # seconds

answer = b''


def receive(connection, seconds):
    global answer       # pylint: disable=global-statement
    connection.settimeout(seconds)
    data = connection.recv(65536)
    answer += data
    return data


def carry_out(connection, word, data):
    if word == 'send':
        connection.sendall(data)
    elif word == 'bytewise':
        for byte in data:
            connection.send(bytes([byte]))
            time.sleep(0.0002)
    elif word == 'urgent':
        connection.send(data, socket.MSG_OOB)
    elif word == 'wait':
        receive(connection, TIMEOUT)
    elif word == 'pause':
        time.sleep(PAUSE)
    elif word == 'end':
        connection.shutdown(socket.SHUT_WR)


def main():
    with socket.create_connection((sys.argv[1], int(sys.argv[2])), TIMEOUT) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for line in sys.stdin:
            word, _, digits = line.rstrip('\n').partition(' ')
            carry_out(connection, word, bytes.fromhex(digits))
        while receive(connection, 4 * PAUSE if answer else TIMEOUT):
            pass


try:
    main()
except TimeoutError:
    pass        # the peer sends nothing more
except OSError as error:
    print(errno.errorcode.get(error.errno, error), file=sys.stderr)
sys.stdout.buffer.write(answer)
