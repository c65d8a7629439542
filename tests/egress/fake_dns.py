"""A name server for tests: it gives any reply that a test wants, and records every query.

A zone maps a name to a reply, or to a list of replies for successive queries. Tests change it while it is served:

    zone['www.good.example'] = Reply('93.184.216.1', '2606:2800:220::1')
    zone['rebind.example'] = [Reply('93.184.216.1'), Reply('10.0.0.1')]     # the last reply is repeated

The reply for any other name is NXDOMAIN. The position in a list is counted for each name and type, so a client that
asks for A and AAAA at the same time gets both from the same reply.
"""
import dataclasses
import ipaddress
import struct
import threading
import time

NOERROR, SERVFAIL, NXDOMAIN, REFUSED = 0, 2, 3, 5
TYPES = {1: 'A', 5: 'CNAME', 16: 'TXT', 28: 'AAAA', 33: 'SRV', 65: 'HTTPS'}
A, CNAME, AAAA = 1, 5, 28
RESPONSE, AUTHORITATIVE, TRUNCATED, RECURSION_DESIRED, RECURSION_AVAILABLE = 0x8000, 0x0400, 0x0200, 0x0100, 0x0080
MAX_ALIASES = 8


@dataclasses.dataclass(frozen=True)
class Query:
    """A query that the server received: its name in lower case, the name of its type, the transport ("udp" or "tcp"),
    and the addresses of the client (peer) and of the server that it asked."""
    name: str
    type_name: str
    transport: str
    peer: str
    server: str


class Reply:
    """The reply for a name. An A query gets the IPv4 addresses, an AAAA query the IPv6 addresses.

    target: the name has a CNAME record that leads to this name. rcode: the response code.
    delay: seconds before the reply is sent.
    silent: no reply is sent. truncated: over UDP the reply only has the TC flag, so the client retries over TCP.
    raw: the reply is the query's ID and these bytes. ttl: seconds for which a client may keep each record.
    others: the data of one record of each other type, by type number.
    """

    def __init__(self, *addresses, target='', rcode=NOERROR, delay=0, silent=False, truncated=False, raw=None, ttl=60,
                 others=None):
        self.addresses = [ipaddress.ip_address(address) for address in addresses]
        self.target, self.rcode, self.delay, self.silent, self.truncated = target, rcode, delay, silent, truncated
        self.raw, self.ttl, self.others = raw, ttl, others or {}

    def data(self, type_number):
        """The data of each record of this type."""
        version = {A: 4, AAAA: 6}.get(type_number)
        if version:
            return [address.packed for address in self.addresses if address.version == version]
        return [self.others[type_number]] if type_number in self.others else []


def encode_name(name):
    labels = [label.encode() for label in name.rstrip('.').split('.')]
    return b''.join(bytes([len(label)]) + label for label in labels) + b'\0'


def parse_question(packet):
    """The name in its original spelling, the type, and the bytes of the question."""
    labels, offset = [], 12
    while packet[offset]:
        labels.append(packet[offset + 1:offset + 1 + packet[offset]].decode('latin-1'))
        offset += 1 + packet[offset]
    type_number, = struct.unpack_from('!H', packet, offset + 1)
    return '.'.join(labels), type_number, packet[12:offset + 5]


class NameServer:
    """Serves one zone on any number of sockets, each in a thread of its own."""

    def __init__(self):
        self.zone, self.queries, self._reply_counts, self._lock = {}, [], {}, threading.Lock()

    def queries_for(self, name):
        """The recorded queries for this name and for names below it."""
        return [query for query in list(self.queries) if query.name == name or query.name.endswith(f'.{name}')]

    def reset(self):
        """Forgets the queries, and starts each list of replies from the beginning."""
        with self._lock:
            self.queries.clear()
            self._reply_counts.clear()

    def serve_udp(self, listener):
        while True:
            packet, peer = listener.recvfrom(4096)
            threading.Thread(target=self._answer_udp, args=(listener, packet, peer), daemon=True).start()

    def _answer_udp(self, listener, packet, peer):
        answer = self._answer(packet, 'udp', peer[0], listener.getsockname()[0])
        if answer:
            listener.sendto(answer, peer)

    def serve_tcp(self, connection, visit):
        """Serves one connection, where a length of two bytes precedes each message. visit: a Visit of servers.py, with
        both addresses."""
        with connection.makefile('rb') as stream:
            while len(head := stream.read(2)) == 2:
                packet = stream.read(int.from_bytes(head, 'big'))
                answer = self._answer(packet, 'tcp', visit.peer, visit.address)
                if not answer:
                    return
                connection.sendall(len(answer).to_bytes(2, 'big') + answer)

    def _answer(self, packet, transport, peer, server):
        try:
            spelled, type_number, question = parse_question(packet)
        except (IndexError, struct.error):
            return None
        name = spelled.lower()
        with self._lock:
            self.queries.append(Query(name, TYPES.get(type_number, str(type_number)), transport, peer, server))
        reply = self._next_reply(name, type_number)
        time.sleep(reply.delay)
        if reply.silent:
            return None
        if reply.raw is not None:
            return packet[:2] + reply.raw
        if reply.truncated and transport == 'udp':
            return self._message(packet, question, TRUNCATED, [])
        return self._message(packet, question, *self._records(name, type_number, reply))

    def _next_reply(self, name, type_number):
        replies = self.zone.get(name, Reply(rcode=NXDOMAIN))
        if isinstance(replies, Reply):
            return replies
        with self._lock:
            count = self._reply_counts.get((name, type_number), 0)
            self._reply_counts[name, type_number] = count + 1
        return replies[min(count, len(replies) - 1)]

    def _records(self, name, type_number, reply):
        """The response code and the records. Follows aliases, as a recursive resolver does."""
        records = []
        for _ in range(MAX_ALIASES):
            if not reply.target:
                break
            records.append((name, CNAME, reply.ttl, encode_name(reply.target)))
            name = reply.target
            reply = self._next_reply(name, type_number)
        records += [(name, type_number, reply.ttl, data) for data in reply.data(type_number)]
        return reply.rcode, records

    @staticmethod
    def _message(packet, question, flags_and_rcode, records):
        query_flags, = struct.unpack_from('!H', packet, 2)
        copied = query_flags & RECURSION_DESIRED
        flags = flags_and_rcode | RESPONSE | AUTHORITATIVE | RECURSION_AVAILABLE | copied
        message = packet[:2] + struct.pack('!HHHHH', flags, 1, len(records), 0, 0) + question
        for name, type_number, ttl, data in records:
            message += encode_name(name) + struct.pack('!HHIH', type_number, 1, ttl, len(data)) + data
        return message
