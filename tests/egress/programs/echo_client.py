"""Connects to a name and a port, and does one of these:

    send N      sends N bytes and closes its side; prints a digest of them and of what came back
    say HEX     sends these bytes; prints as many bytes that come back, in hexadecimal
    reset       sends a line, waits for an answer, and resets the connection
"""
import hashlib
import socket
import struct
import sys
import threading

BLOCK = 65536


def send(connection, count, digest):
    for number in range(count // BLOCK):
        block = b'\0' + hashlib.sha256(str(number).encode()).digest() * 2047 + bytes(31)
        digest.update(block)
        connection.sendall(block)
    connection.shutdown(socket.SHUT_WR)


def main(name, port, action, argument=''):
    with socket.create_connection((name, int(port)), 4) as connection:
        if action == 'send':
            sent, received = hashlib.sha256(), hashlib.sha256()
            thread = threading.Thread(target=send, args=(connection, int(argument), sent))
            thread.start()
            while data := connection.recv(BLOCK):
                received.update(data)
            thread.join()
            print(sent.hexdigest(), received.hexdigest())
        elif action == 'say':
            data = bytes.fromhex(argument)
            connection.sendall(data)
            with connection.makefile('rb') as stream:
                print(stream.read(len(data)).hex())
        elif action == 'reset':
            connection.sendall(b'a line\n')
            print(connection.recv(100).decode(), end='')
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack('ii', 1, 0))


main(*sys.argv[1:])
