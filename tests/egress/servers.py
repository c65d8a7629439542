"""The servers of the test internet: listeners, the record of each connection, and handlers for each kind of server.

A handler is a function of a connection and its Visit. It is called in a thread of its own, and the connection is closed
when it returns.
"""
import contextlib
import dataclasses
import http.server
import socket
import ssl
import struct
import threading
import time

import h2.config
import h2.connection
import h2.events
import h2.exceptions

TIMEOUT = 30        # seconds after which a silent client is disconnected
SLOW_DELAY = 0.1    # seconds between the pieces of a slow server


@dataclasses.dataclass
class RequestRecord:
    """The record of one HTTP request, as the server understood it."""
    method: str
    path: str
    host: str
    version: str


@dataclasses.dataclass
class Visit:
    """The record of one connection, or one datagram, that reached a server."""
    server: str             # the name of the site or server
    address: str            # that the client connected to
    port: int
    peer: str
    sni: str | None = None  # TLS: the name in the ClientHello
    alpn: str | None = None
    requests: list = dataclasses.field(default_factory=list)
    received: bytearray = dataclasses.field(default_factory=bytearray)      # unless it is a web server
    ended: str = ''         # "closed" or "reset" by the client, if the handler waits for that


class Listener:
    """Accepts connections on a socket and calls the handler for each."""

    def __init__(self, listening, server, handler, visits):
        self.socket, self.server, self.handler, self.visits = listening, server, handler, visits
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        address, port = self.socket.getsockname()[:2]
        while True:
            try:
                connection, peer = self.socket.accept()
            except OSError:
                return
            if address in ('0.0.0.0', '::'):
                visit = Visit(self.server, connection.getsockname()[0], port, peer[0])
            else:
                visit = Visit(self.server, address, port, peer[0])
            self.visits.append(visit)
            threading.Thread(target=self._serve, args=(connection, visit), daemon=True).start()

    def _serve(self, connection, visit):
        connection.settimeout(TIMEOUT)
        try:
            self.handler(connection, visit)
        except (OSError, EOFError, h2.exceptions.ProtocolError):
            pass        # a client may disconnect at any time
        finally:
            connection.close()

    def close(self):
        """May be called twice."""
        with contextlib.suppress(OSError):
            self.socket.shutdown(socket.SHUT_RDWR)      # wakes the thread that accepts
        self.socket.close()


# Handlers that are not web servers.

def receive(connection, visit):
    """Yields what the client sends, until it closes its side or resets the connection. Records both."""
    try:
        while data := connection.recv(65536):
            visit.received += data
            yield data
        visit.ended = 'closed'
    except ConnectionResetError:
        visit.ended = 'reset'


def echo(connection, visit):
    """Sends everything back."""
    for data in receive(connection, visit):
        connection.sendall(data)


def greet_and_half_close(connection, visit):
    """Sends a line, closes its own side, and then receives until the client closes."""
    connection.sendall(b'I have said all.\n')
    connection.shutdown(socket.SHUT_WR)
    for _ in receive(connection, visit):
        pass


def answer_after_eof(connection, visit):
    """Receives until the client closes its side, and then sends everything back."""
    for _ in receive(connection, visit):
        pass
    connection.sendall(b'heard: ' + visit.received)


def reset_midway(connection, visit):
    """Sends the start of an answer, and then resets the connection."""
    visit.received = connection.recv(65536)
    connection.sendall(b'HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nbegun')
    time.sleep(SLOW_DELAY)      # so that the start arrives before the reset
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack('ii', 1, 0))


def answer_slowly(connection, visit):
    """Sends the body of its answer byte by byte."""
    visit.received = connection.recv(65536)
    for piece in (b'HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\n', b's', b'l', b'o', b'w', b'\n'):
        connection.sendall(piece)
        time.sleep(SLOW_DELAY)


def echo_datagrams(listening, server, visits):
    """Serves a UDP socket: sends every datagram back."""
    address, port = listening.getsockname()[:2]
    while True:
        data, peer = listening.recvfrom(65536)
        visits.append(Visit(server, address, port, peer[0], received=data))
        listening.sendto(data, peer)


# Web servers.

@dataclasses.dataclass
class Site:
    """A web site: its name, its addresses, its TLS context, and its offers: functions that answer an HttpRequest, by
    the prefix of the path."""
    name: str
    addresses: tuple
    offers: dict
    context: ssl.SSLContext

    def answer(self, request):
        """The status, headers and body for a request."""
        for prefix, offer in self.offers.items():
            if request.path.startswith(prefix):
                return offer(request)
        return (200, {}, f'{self.name} over {request.scheme}\n'.encode()) if request.path == '/' else (404, {}, b'')


@dataclasses.dataclass
class HttpRequest:
    """A whole HTTP request, for a site to answer."""
    method: str
    scheme: str
    host: str
    target: str
    headers: dict
    body: bytes

    @property
    def path(self):
        return self.target.partition('?')[0]


class WebServer:
    """Serves the sites that share an address. Like a shared hosting server it chooses the certificate by SNI and the
    site by the Host header; for an unknown name, the first site. So a client that sends one name in SNI and another in
    Host (domain fronting) is served, unless egress stops it."""

    def __init__(self, *sites):
        self.sites = sites

    def find_site(self, name):
        name = (name or '').rpartition(':')[0] or name
        return next((site for site in self.sites if site.name == name), self.sites[0])

    def serve_http(self, connection, visit):
        WebConnection(self, 'http', connection, visit)

    def serve_https(self, connection, visit):
        def choose_certificate(tls, name, _):
            visit.sni = name
            tls.context = self.find_site(name).context
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.sni_callback = choose_certificate
        with context.wrap_socket(connection, server_side=True) as tls:
            visit.alpn = tls.selected_alpn_protocol()
            if visit.alpn == 'h2':
                serve_h2(self, tls, visit)
            else:
                WebConnection(self, 'https', tls, visit)

    def answer(self, visit, version, request):
        visit.requests.append(RequestRecord(request.method, request.target, request.host, version))
        return self.find_site(request.host).answer(request)


class WebConnection(http.server.BaseHTTPRequestHandler):
    """Serves HTTP/1 on one connection."""
    protocol_version = 'HTTP/1.1'
    server_version, sys_version = 'test', ''

    def __init__(self, web, scheme, connection, visit):
        self.web, self.scheme, self.visit = web, scheme, visit
        super().__init__(connection, (visit.peer, 0), web)

    def respond(self):
        body = self.read_body()
        headers = {name.lower(): value for name, value in self.headers.items()}
        request = HttpRequest(self.command, self.scheme, headers.get('host', ''), self.path, headers, body)
        status, answer_headers, content = self.web.answer(self.visit, self.request_version, request)
        self.send_response(status)
        for name, value in {**answer_headers, 'Content-Length': str(len(content))}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != 'HEAD':
            self.wfile.write(content)

    do_GET = do_HEAD = do_POST = do_PUT = respond

    def read_body(self):
        if self.headers.get('Transfer-Encoding', '').lower() != 'chunked':
            return self.rfile.read(int(self.headers.get('Content-Length', 0)))
        body = b''
        while size := int(self.rfile.readline().split(b';')[0], 16):
            body += self.rfile.read(size)
            self.rfile.readline()
        while self.rfile.readline().strip():
            pass
        return body

    def log_message(self, format, *arguments):      # pylint: disable=redefined-builtin
        """Prints nothing: the visit records the request."""


def serve_h2(web, connection, visit):
    """Serves HTTP/2 on one connection."""
    protocol = h2.connection.H2Connection(h2.config.H2Configuration(client_side=False, header_encoding='utf-8'))
    protocol.initiate_connection()
    connection.sendall(protocol.data_to_send())
    headers, bodies, pending_bodies = {}, {}, {}
    while data := connection.recv(65536):
        for event in protocol.receive_data(data):
            if isinstance(event, h2.events.RequestReceived):
                headers[event.stream_id], bodies[event.stream_id] = dict(event.headers), b''
            elif isinstance(event, h2.events.DataReceived):
                bodies[event.stream_id] += event.data
                protocol.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
            elif isinstance(event, h2.events.StreamEnded):
                pending_bodies[event.stream_id] = send_head(
                    web, protocol, visit, event.stream_id, headers.pop(event.stream_id), bodies.pop(event.stream_id))
        for stream in list(pending_bodies):
            pending_bodies[stream] = send_body(protocol, stream, pending_bodies[stream])
            if not pending_bodies[stream]:
                protocol.end_stream(stream)
                del pending_bodies[stream]
        connection.sendall(protocol.data_to_send())


def send_head(web, protocol, visit, stream, headers, body):
    """Answers a request: sends the headers and returns the body."""
    request = HttpRequest(headers[':method'], headers[':scheme'], headers.get(':authority', headers.get('host', '')),
                          headers[':path'], headers, body)
    status, answer_headers, content = web.answer(visit, 'HTTP/2', request)
    protocol.send_headers(stream, [(':status', str(status)), ('content-length', str(len(content))),
                                   *((name.lower(), value) for name, value in answer_headers.items())])
    return content


def send_body(protocol, stream, content):
    """Sends as much of the body as the flow control window allows, and returns the rest."""
    while content and (room := min(protocol.local_flow_control_window(stream), protocol.max_outbound_frame_size)):
        protocol.send_data(stream, content[:room])
        content = content[room:]
    return content
