"""Servers of the test internet: what listens, what it remembers of each visit, and how each kind behaves.

A handler is a function of a connection and its Visit, called in a thread of its own; the connection is closed after it.
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

PATIENCE = 30       # seconds for a client that says nothing
SLOWNESS = 0.1      # seconds between the pieces of a slow server


@dataclasses.dataclass
class Request:
    """One HTTP request, as the server understood it."""
    method: str
    path: str
    host: str
    version: str


@dataclasses.dataclass
class Visit:
    """One connection, or one datagram, that reached a server, and what was seen of it."""
    server: str             # whose: a site's name, or what listens there
    address: str            # that was dialled
    port: int
    peer: str
    sni: str | None = None  # TLS: the name in the ClientHello
    alpn: str | None = None
    requests: list = dataclasses.field(default_factory=list)
    received: bytearray = dataclasses.field(default_factory=bytearray)      # by what is no HTTP server
    ended: str = ''         # "closed" or "reset" by the client, where a handler waits for it


class Listener:
    """Accepts on a socket, and calls the handler for each connection."""

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
        connection.settimeout(PATIENCE)
        try:
            self.handler(connection, visit)
        except (OSError, EOFError, h2.exceptions.ProtocolError):
            pass        # clients go as they please
        finally:
            connection.close()

    def close(self):
        """May be called twice."""
        with contextlib.suppress(OSError):
            self.socket.shutdown(socket.SHUT_RDWR)      # wakes the thread that accepts
        self.socket.close()


# What is no web server.

def receive(connection, visit):
    """Receives until the client has no more to say, or is gone. Yields what came."""
    try:
        while data := connection.recv(65536):
            visit.received += data
            yield data
        visit.ended = 'closed'
    except ConnectionResetError:
        visit.ended = 'reset'


def echo(connection, visit):
    """Says everything again."""
    for data in receive(connection, visit):
        connection.sendall(data)


def speak_first(connection, visit):
    """Greets, closes its own side, and then listens to the end."""
    connection.sendall(b'I have said all.\n')
    connection.shutdown(socket.SHUT_WR)
    for _ in receive(connection, visit):
        pass


def answer_after_end(connection, visit):
    """Hears the client out, until it closes its side, and then answers with what it heard."""
    for _ in receive(connection, visit):
        pass
    connection.sendall(b'heard: ' + visit.received)


def reset(connection, visit):
    """Begins an answer, and resets in the middle of it."""
    visit.received = connection.recv(65536)
    connection.sendall(b'HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nbegun')
    time.sleep(SLOWNESS)        # so that what was begun arrives
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack('ii', 1, 0))


def slow(connection, visit):
    """Answers in pieces of a byte."""
    visit.received = connection.recv(65536)
    for piece in (b'HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\n', b's', b'l', b'o', b'w', b'\n'):
        connection.sendall(piece)
        time.sleep(SLOWNESS)


def echo_datagrams(listening, server, visits):
    """Serves a UDP socket: says everything again."""
    address, port = listening.getsockname()[:2]
    while True:
        data, peer = listening.recvfrom(65536)
        visits.append(Visit(server, address, port, peer[0], received=data))
        listening.sendto(data, peer)


# Web servers.

@dataclasses.dataclass
class Site:
    """A web site: its name, its addresses, and what it offers below which path, as functions of a Call."""
    name: str
    addresses: tuple
    offers: dict
    context: ssl.SSLContext

    def answer(self, call):
        """Status, headers and body."""
        for prefix, offer in self.offers.items():
            if call.path.startswith(prefix):
                return offer(call)
        return (200, {}, f'{self.name} over {call.scheme}\n'.encode()) if call.path == '/' else (404, {}, b'')


@dataclasses.dataclass
class Call:
    """One request, for a site to answer."""
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
    """The sites that share an address. Like a hoster it picks the certificate by SNI and the site by Host; without one
    that it knows, the first. So a client that shows one name and wants another is served, unless somebody stops it."""

    def __init__(self, *sites):
        self.sites = sites

    def find(self, name):
        name = (name or '').rpartition(':')[0] or name
        return next((site for site in self.sites if site.name == name), self.sites[0])

    def plain(self, connection, visit):
        WebConnection(self, 'http', connection, visit)

    def secure(self, connection, visit):
        def choose(secured, name, _):
            visit.sni = name
            secured.context = self.find(name).context
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.sni_callback = choose
        with context.wrap_socket(connection, server_side=True) as secured:
            visit.alpn = secured.selected_alpn_protocol()
            if visit.alpn == 'h2':
                serve_h2(self, secured, visit)
            else:
                WebConnection(self, 'https', secured, visit)

    def answer(self, visit, version, call):
        visit.requests.append(Request(call.method, call.target, call.host, version))
        return self.find(call.host).answer(call)


class WebConnection(http.server.BaseHTTPRequestHandler):
    """HTTP/1 on one connection."""
    protocol_version = 'HTTP/1.1'
    server_version, sys_version = 'test', ''

    def __init__(self, web, scheme, connection, visit):
        self.web, self.scheme, self.visit = web, scheme, visit
        super().__init__(connection, (visit.peer, 0), web)

    def respond(self):
        body = self.read_body()
        headers = {name.lower(): value for name, value in self.headers.items()}
        call = Call(self.command, self.scheme, headers.get('host', ''), self.path, headers, body)
        status, added, content = self.web.answer(self.visit, self.request_version, call)
        self.send_response(status)
        for name, value in {**added, 'Content-Length': str(len(content))}.items():
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
        """The visit has it."""


def serve_h2(web, connection, visit):
    """HTTP/2 on one connection."""
    protocol = h2.connection.H2Connection(h2.config.H2Configuration(client_side=False, header_encoding='utf-8'))
    protocol.initiate_connection()
    connection.sendall(protocol.data_to_send())
    headers, bodies, answers = {}, {}, {}
    while data := connection.recv(65536):
        for event in protocol.receive_data(data):
            if isinstance(event, h2.events.RequestReceived):
                headers[event.stream_id], bodies[event.stream_id] = dict(event.headers), b''
            elif isinstance(event, h2.events.DataReceived):
                bodies[event.stream_id] += event.data
                protocol.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
            elif isinstance(event, h2.events.StreamEnded):
                answers[event.stream_id] = begin_answer(web, protocol, visit, event.stream_id,
                                                        headers.pop(event.stream_id), bodies.pop(event.stream_id))
        for stream in list(answers):
            answers[stream] = continue_answer(protocol, stream, answers[stream])
            if not answers[stream]:
                protocol.end_stream(stream)
                del answers[stream]
        connection.sendall(protocol.data_to_send())


def begin_answer(web, protocol, visit, stream, headers, body):
    """Sends the head; returns the body."""
    call = Call(headers[':method'], headers[':scheme'], headers.get(':authority', headers.get('host', '')),
                headers[':path'], headers, body)
    status, added, content = web.answer(visit, 'HTTP/2', call)
    protocol.send_headers(stream, [(':status', str(status)), ('content-length', str(len(content))),
                                   *((name.lower(), value) for name, value in added.items())])
    return content


def continue_answer(protocol, stream, content):
    """Sends as much as the client takes now; returns the rest."""
    while content and (room := min(protocol.local_flow_control_window(stream), protocol.max_outbound_frame_size)):
        protocol.send_data(stream, content[:room])
        content = content[room:]
    return content
