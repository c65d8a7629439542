"""Connects to a name and port, and does one of: `send N`, sends N bytes and ends its side, and prints a digest of them
and of what came back; `reset`, sends a word, waits for it, and resets the connection."""
import hashlib
import socket
import struct
import sys
import threading

name, port, action = sys.argv[1], int(sys.argv[2]), sys.argv[3]
with socket.create_connection((name, port), 10) as connection:
    if action == 'reset':
        connection.sendall(b'word')
        print(connection.recv(100).decode())
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack('ii', 1, 0))
    else:
        sent, received = hashlib.sha256(), hashlib.sha256()

        def send():
            for number in range(int(sys.argv[4]) // 65536):
                block = hashlib.sha256(str(number).encode()).digest() * 2048
                sent.update(block)
                connection.sendall(block)
            connection.shutdown(socket.SHUT_WR)
        thread = threading.Thread(target=send)
        thread.start()
        while data := connection.recv(1 << 20):
            received.update(data)
        thread.join()
        print(sent.hexdigest(), received.hexdigest())
