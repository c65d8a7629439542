"""Fetches a page with the plain calls of the C library: getaddrinfo, socket, connect, send, recv."""
import socket
import sys

name = sys.argv[1]
try:
    found = socket.getaddrinfo(name, 80, type=socket.SOCK_STREAM)
except socket.gaierror as error:
    sys.exit(f'getaddrinfo: {error.args[0]} {error.args[1]}')
family, kind, protocol, _, address = found[0]
with socket.socket(family, kind, protocol) as connection:
    connection.connect(address)
    connection.sendall(f'GET / HTTP/1.1\r\nHost: {name}\r\nConnection: close\r\n\r\n'.encode())
    answer = b''
    while data := connection.recv(4096):
        answer += data
sys.stdout.write(answer.partition(b'\r\n\r\n')[2].decode())
