"""A name server that lies as it is told to, and remembers what it was asked.

A zone maps names to replies, or to several that follow each other. Tests change it while it is served:

    zone['www.good.example'] = Reply('93.184.216.1', '2606:2800:220::1')
    zone['rebind.example'] = [Reply('93.184.216.1'), Reply('10.0.0.1')]     # the last one stays

A name that is not there is NXDOMAIN. The turns of several replies are counted by name and type, so a client that asks
for A and AAAA at once sees the same turn in both.
"""
import dataclasses
import ipaddress
import struct
import threading
import time

NOERROR, SERVFAIL, NXDOMAIN, REFUSED = 0, 2, 3, 5
TYPES = {1: 'A', 5: 'CNAME', 16: 'TXT', 28: 'AAAA', 33: 'SRV', 65: 'HTTPS'}
A, CNAME, AAAA = 1, 5, 28
RESPONSE, AUTHORITATIVE, TRUNCATED, RECURSION = 0x8000, 0x0400, 0x0200, 0x0080
MOST_ALIASES = 8


@dataclasses.dataclass(frozen=True)
class Query:
    """A question that came: its name in lower case, its type, and over "udp" or "tcp"."""
    name: str
    type: str
    transport: str
    peer: str
    server: str


class Reply:
    """The answer for a name. Of the addresses a question gets those of its family.

    alias: the name is another's. rcode: an error. delay: seconds before it is sent. silent: nothing is sent.
    truncated: over UDP only the word that TCP is to be tried. raw: these bytes behind the ID, whatever they are.
    others: for further types, by number, the bytes of their data.
    """

    def __init__(self, *addresses, alias='', rcode=NOERROR, delay=0, silent=False, truncated=False, raw=None, ttl=60,
                 others=None):
        self.addresses = [ipaddress.ip_address(address) for address in addresses]
        self.alias, self.rcode, self.delay, self.silent, self.truncated = alias, rcode, delay, silent, truncated
        self.raw, self.ttl, self.others = raw, ttl, others or {}

    def data(self, kind):
        """The data of the records of this type."""
        version = {A: 4, AAAA: 6}.get(kind)
        if version:
            return [address.packed for address in self.addresses if address.version == version]
        return [self.others[kind]] if kind in self.others else []


def encode_name(name):
    labels = [label.encode() for label in name.rstrip('.').split('.')]
    return b''.join(bytes([len(label)]) + label for label in labels) + b'\0'


def parse_question(packet):
    """The name as it was spelled, the type, and the bytes of the question."""
    labels, place = [], 12
    while packet[place]:
        labels.append(packet[place + 1:place + 1 + packet[place]].decode('latin-1'))
        place += 1 + packet[place]
    kind, = struct.unpack_from('!H', packet, place + 1)
    return '.'.join(labels), kind, packet[12:place + 5]


class NameServer:
    """Serves one zone on any number of sockets, each from a thread of its own."""

    def __init__(self):
        self.zone, self.queries, self._turns, self._lock = {}, [], {}, threading.Lock()

    def asked(self, name):
        """The queries for this name or one below it."""
        return [query for query in list(self.queries) if query.name == name or query.name.endswith(f'.{name}')]

    def forget(self):
        with self._lock:
            self.queries.clear()
            self._turns.clear()

    def serve_udp(self, listener):
        while True:
            packet, peer = listener.recvfrom(4096)
            threading.Thread(target=self._answer_udp, args=(listener, packet, peer), daemon=True).start()

    def _answer_udp(self, listener, packet, peer):
        answer = self._answer(packet, 'udp', peer[0], listener.getsockname()[0])
        if answer:
            listener.sendto(answer, peer)

    def serve_tcp(self, connection, visit):
        """One connection: each message has its length in front."""
        with connection.makefile('rb') as stream:
            while len(head := stream.read(2)) == 2:
                packet = stream.read(int.from_bytes(head, 'big'))
                answer = self._answer(packet, 'tcp', visit.peer, visit.address)
                if not answer:
                    return
                connection.sendall(len(answer).to_bytes(2, 'big') + answer)

    def _answer(self, packet, transport, peer, server):
        try:
            spelled, kind, question = parse_question(packet)
        except (IndexError, struct.error):
            return None
        name = spelled.lower()
        with self._lock:
            self.queries.append(Query(name, TYPES.get(kind, str(kind)), transport, peer, server))
        reply = self._reply(name, kind)
        time.sleep(reply.delay)
        if reply.silent:
            return None
        if reply.raw is not None:
            return packet[:2] + reply.raw
        if reply.truncated and transport == 'udp':
            return self._message(packet, question, TRUNCATED, [])
        return self._message(packet, question, *self._records(name, kind, reply))

    def _reply(self, name, kind):
        replies = self.zone.get(name, Reply(rcode=NXDOMAIN))
        if isinstance(replies, Reply):
            return replies
        with self._lock:
            turn = self._turns.get((name, kind), 0)
            self._turns[name, kind] = turn + 1
        return replies[min(turn, len(replies) - 1)]

    def _records(self, name, kind, reply):
        """The response code, and the records: aliases are followed as a resolver does it."""
        records = []
        for _ in range(MOST_ALIASES):
            if not reply.alias:
                break
            records.append((name, CNAME, reply.ttl, encode_name(reply.alias)))
            name = reply.alias
            reply = self._reply(name, kind)
        records += [(name, kind, reply.ttl, data) for data in reply.data(kind)]
        return reply.rcode, records

    @staticmethod
    def _message(packet, question, flags, records):
        asked, = struct.unpack_from('!H', packet, 2)
        flags |= RESPONSE | AUTHORITATIVE | RECURSION | asked & 0x0100
        head = packet[:2] + struct.pack('!HHHHH', flags, 1, len(records), 0, 0)
        for name, kind, ttl, data in records:
            question += encode_name(name) + struct.pack('!HHIH', kind, 1, ttl, len(data)) + data
        return head + question
