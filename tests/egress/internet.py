"""A small internet in namespaces of our own; README.md tells how it is put together, and how tests use it."""
import contextlib
import os
import socket
import threading
import time

import servers
from authority import Authority
from names import NameServer, Reply, SERVFAIL
from offers import git_over_http, make_repository, npm_registry, pip_index
from spaces import Space, cover, enter
from ssh import SshServer, account

# The machine that ringwall runs on, and the other end of its cable.
HOST = ('93.184.215.2', '2606:2800:215::2')
GATEWAY = ('93.184.215.1', '2606:2800:215::1')
RESOLVER = ('93.184.214.53', '2606:2800:214::53')       # that the machine uses
PUBLIC_RESOLVER = ('8.8.8.8', '2001:4860:4860::8888')   # that a program might ask by itself
METADATA = '169.254.169.254'
HOLE = ('93.184.213.1', '2606:2800:213::1')             # where packets vanish without a word
ARRIVAL = 0.05      # seconds that a packet, and the thread that waits for it, have to arrive

GOOD, OTHER = 'www.good.example', 'www.other.example'   # two sites that offer the same

# Names in the hand of somebody who wants to be led to where nothing may go: <key>.lies.example.
LIES = {
    'loopback': '127.0.0.1',
    'loopback-odd': '127.9.9.9',
    'loopback6': '::1',
    'unspecified': '0.0.0.0',
    'unspecified6': '::',
    'private10': '10.0.0.1',
    'private172': '172.16.0.1',
    'private192': '192.168.0.1',
    'unique-local': 'fd12::1',
    'link-local': '169.254.1.1',
    'link-local6': 'fe80::1',
    'cgnat': '100.64.0.1',
    'metadata': METADATA,
    'metadata6': 'fd00:ec2::254',
    'mapped': '::ffff:10.0.0.1',
    'mapped-public': '::ffff:93.184.216.1',
    'compatible': '::10.0.0.1',
    'nat64': '64:ff9b::a00:1',
    'sixtofour': '2002:a00:1::1',
    'teredo': '2001::a00:1',
    'multicast': '224.0.0.1',
    'multicast6': 'ff02::1',
    'broadcast': '255.255.255.255',
    'reserved': '240.0.0.1',
    'benchmark': '198.18.0.1',      # where egress has addresses of its own making
    'host': HOST[0],
    'host6': HOST[1],
}

# Ports that have a trap on every address that is nobody's.
TRAPS_PLAIN, TRAPS_SECURE, TRAPS_ECHO = (80, 8080), (443,), (7, 22, 53, 853, 3000)
# Services of the host's own, on all of its addresses.
HOST_PORTS = (80, 8080)


def over_within(seconds, result, again):
    """Did it take less? A busy machine makes anything slow now and then; what waits for something is slow every time."""
    for _ in range(5):
        if result.seconds < seconds:
            return True
        result = again()
    return result.seconds < seconds


class Internet:
    """Made once: the process that makes it is on the host of this internet from then on.

    names: the name server (names.NameServer), with `zone` and `queries`. visits: what reached a server, in order.
    """

    def __init__(self, folder):
        self.folder, self.names, self.visits, self.web = folder, NameServer(), [], {}
        self._count, self._listeners = 0, []
        enter()
        self.host, self.world = Space(), Space(new=True)
        self._connect()
        self._cover_files()
        self.authority = Authority(self._folder('authority'))
        self.ssh = SshServer(self._folder('git'))
        make_repository(self.ssh.folder)
        self.offers = {'/thing.git/': git_over_http(self.ssh.folder), '/npm/': npm_registry('/npm/'),
                       '/simple/': pip_index('/simple/')}
        self._serve_names()
        self._serve_sites()
        self._serve_places()
        self._serve_host()

    def _folder(self, name):
        path = self.folder / name
        path.mkdir()
        return path

    # The cable, and the files that say how to use it.

    def _connect(self):
        self.host.configure('link set lo up')
        self.world.configure(f'''
            link set lo up
            link add host type veth peer name eth0 netns {os.getpid()}
            link set host up
            address add {GATEWAY[0]}/24 dev host
            address add {GATEWAY[1]}/64 dev host nodad
            route add local 0.0.0.0/0 dev lo table main
            -6 route add local ::/0 dev lo table main
            route add blackhole {HOLE[0]}
            -6 route add blackhole {HOLE[1]}
        ''')    # every address that is not the host's is the world's
        self.host.configure(f'''
            link set eth0 up
            address add {HOST[0]}/24 dev eth0
            address add {HOST[1]}/64 dev eth0 nodad
            route add default via {GATEWAY[0]}
            -6 route add default via {GATEWAY[1]}
        ''')

    def _cover_files(self):
        with open('/etc/passwd', encoding='utf-8') as file:
            accounts = file.read()
        files = {'resolv.conf': f'nameserver {RESOLVER[0]}\noptions timeout:2 attempts:1\n',
                 'hosts': '127.0.0.1 localhost\n::1 localhost\n',
                 'passwd': accounts + account(self.folder / 'git')}
        for name, text in files.items():
            path = self.folder / name
            path.write_text(text)
            path.chmod(0o644)
            cover(f'/etc/{name}', path)

    # What is served.

    def listen(self, address, port, handler, server='', space=None):
        """Serves TCP there: handler(connection, visit), see servers.py. Returns the listener, which has close()."""
        listening = (space or self.world).socket(address, port)
        listener = servers.Listener(listening, server or f'{address}:{port}', handler, self.visits)
        self._listeners.append(listener)
        return listener

    def listen_datagrams(self, address, port, serve, *arguments):
        """Serves UDP there: serve(socket, ...) in a thread."""
        listening = self.world.socket(address, port, socket.SOCK_DGRAM)
        threading.Thread(target=serve, args=(listening, *arguments), daemon=True).start()

    def allot(self):
        """Two addresses, one of each family, that nobody has yet."""
        self._count += 1
        block, number = divmod(self._count, 256)
        return f'93.184.{216 + block}.{number}', f'2606:2800:220::{self._count:x}'

    def make_site(self, name, protocols=('h2', 'http/1.1'), families=(4, 6), beside=None):
        """A web site on ports 80 and 443, and its names in the zone; beside another site, at that one's addresses."""
        addresses = beside.addresses if beside else tuple(
            address for family, address in zip((4, 6), self.allot()) if family in families)
        site = servers.Site(name, addresses, self.offers, self.authority.context(name, protocols))
        self.names.zone[name] = Reply(*addresses)
        if beside:
            self.web[beside.name].sites += (site,)
            self.web[name] = self.web[beside.name]
            return site
        web = self.web[name] = servers.WebServer(site)
        for address in addresses:
            self.listen(address, 80, web.plain, name)
            self.listen(address, 443, web.secure, name)
        return site

    def make_place(self, name, *handlers):
        """A host with other services than the web's: (port, handler)…"""
        addresses = self.allot()
        self.names.zone[name] = Reply(*addresses)
        for address in addresses:
            for port, handler in handlers:
                self.listen(address, port, handler, name)
        return addresses

    def _serve_names(self):
        for address in (*RESOLVER, *PUBLIC_RESOLVER):
            self.listen(address, 53, self.names.serve_tcp, 'resolver')
            self.listen_datagrams(address, 53, self.names.serve_udp)

    def _serve_sites(self):
        for name in (GOOD, OTHER):
            site = self.make_site(name)
            for address in site.addresses:
                self.listen(address, 22, self.ssh.serve, name)
        self.ssh.know(GOOD, OTHER)
        self.make_site('four.good.example', families=(4,))
        self.make_site('six.good.example', families=(6,))
        self.make_site('old.good.example', protocols=('http/1.1',))
        self.make_site('hidden.other.example', beside=self.make_site('front.good.example'))
        zone = self.names.zone
        zone['alias.good.example'] = Reply(alias=GOOD)
        zone['failing.good.example'] = Reply(rcode=SERVFAIL)
        zone['silent.good.example'] = Reply(silent=True)
        addresses = self.web[GOOD].sites[0].addresses
        zone['late.good.example'] = Reply(*addresses, delay=0.5)
        zone['long.good.example'] = Reply(*addresses, truncated=True)
        for key, address in LIES.items():
            zone[f'{key}.lies.example'] = Reply(address)
        zone['mixed.lies.example'] = Reply(addresses[0], '10.0.0.1')
        zone['rebind.lies.example'] = [Reply(addresses[0]), Reply('10.0.0.1')]
        zone['alias.lies.example'] = Reply(alias='private10.lies.example')

    def _serve_places(self):
        addresses = self.make_place('echo.good.example', (7, servers.echo), (80, servers.echo), (443, servers.echo))
        for address in addresses:
            self.listen_datagrams(address, 443, servers.echo_datagrams, 'echo.good.example', self.visits)
        self.make_place('half.good.example', (7001, servers.speak_first), (7002, servers.answer_after_end))
        self.make_place('slow.good.example', (80, servers.slow), (7003, servers.slow))
        self.make_place('reset.good.example', (80, servers.reset), (7004, servers.reset))

        # Whoever gets to where nothing may go is served, and seen.
        metadata = self._trap('metadata')
        self.listen(METADATA, 80, metadata.plain, 'metadata')
        trap = self._trap('trap')
        for address in ('0.0.0.0', '::'):
            for port in TRAPS_PLAIN:
                self.listen(address, port, trap.plain, 'trap')
            for port in TRAPS_SECURE:
                self.listen(address, port, trap.secure, 'trap')
            for port in TRAPS_ECHO:
                self.listen(address, port, servers.echo, 'trap')

    def _serve_host(self):
        service = self._trap('host')
        for address in ('0.0.0.0', '::'):
            for port in HOST_PORTS:
                self.listen(address, port, service.plain, 'host', self.host)

    def _trap(self, name):
        return servers.WebServer(servers.Site(name, (), {}, self.authority.context(f'{name}.example', ('http/1.1',))))

    # For tests.

    def visits_to(self, server):
        """The visits to a site by its name, or to "trap", "metadata", "host", "resolver"."""
        return [visit for visit in list(self.visits) if visit.server == server]

    def settle(self):
        """Lets what is on its way arrive. To be called before a test looks for what must not be there."""
        time.sleep(ARRIVAL)

    def trespasses(self):
        """The visits to where nothing in a box may ever come."""
        self.settle()
        return [visit for server in ('trap', 'metadata', 'host') for visit in self.visits_to(server)]

    @contextlib.contextmanager
    def for_one_test(self):
        """Begins with nothing seen, and ends with what there was before: names, sites, listeners."""
        zone, listeners = dict(self.names.zone), len(self._listeners)
        sites = {web: web.sites for web in self.web.values()}
        self.names.forget()
        self.visits.clear()
        yield self
        for listener in self._listeners[listeners:]:
            listener.close()
        del self._listeners[listeners:]
        self.web = {name: web for name, web in self.web.items() if web in sites}
        for web, before in sites.items():
            web.sites = before
        self.names.zone.clear()
        self.names.zone.update(zone)
