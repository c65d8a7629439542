"""A small test internet in network namespaces. README.md explains its parts and how tests use it."""
import contextlib
import os
import socket
import threading
import time

import servers
from certificate_authority import Authority
from fake_dns import NameServer, Reply, SERVFAIL
from site_content import git_over_http, make_repository, npm_registry, pip_index
from namespaces import NetworkNamespace, enter_namespaces, mount_file_over
from ssh_server import SshServer, passwd_line

# The host, which is the machine that ringwall runs on, and the other end of its veth pair.
HOST = ('93.184.215.2', '2606:2800:215::2')
GATEWAY = ('93.184.215.1', '2606:2800:215::1')
RESOLVER = ('93.184.214.53', '2606:2800:214::53')       # the name server of the host
PUBLIC_RESOLVER = ('8.8.8.8', '2001:4860:4860::8888')   # a name server that a program may choose itself
METADATA = '169.254.169.254'
BLACK_HOLE = ('93.184.213.1', '2606:2800:213::1')       # packets to these addresses are dropped silently
SETTLE_SECONDS = 0.05   # until a packet has arrived and a server's thread has recorded it

GOOD, OTHER = 'www.good.example', 'www.other.example'   # two sites that serve the same

# Names of an attacker that resolve to addresses which egress must refuse: <key>.lies.example.
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
    'benchmark': '198.18.0.1',      # egress takes the addresses that stand for names from this range
    'host': HOST[0],
    'host6': HOST[1],
}

# The ports of the trap, which listens on every address that no other server has.
TRAP_HTTP_PORTS, TRAP_HTTPS_PORTS, TRAP_ECHO_PORTS = (80, 8080), (443,), (7, 22, 53, 853, 3000)
# The ports of the services on the host, on all of its addresses.
HOST_PORTS = (80, 8080)


def took_less_than(seconds, result, again):
    """A busy machine makes anything slow now and then; a program that waits for something is slow every time."""
    for _ in range(5):
        if result.seconds < seconds:
            return True
        result = again()
    return result.seconds < seconds


class Internet:
    """The test internet. It can be made only once: it moves the calling process into the host's namespaces for good.

    names: the name server (names.NameServer), with `zone` and `queries`. visits: what reached a server, in order.
    """

    def __init__(self, folder):
        self.folder, self.names, self.visits, self.web = folder, NameServer(), [], {}
        self._allocated, self._listeners = 0, []
        enter_namespaces()
        self.host, self.world = NetworkNamespace(), NetworkNamespace(new=True)
        self._connect()
        self._mount_files()
        self.authority = Authority(self._make_folder('authority'))
        self.ssh = SshServer(self._make_folder('git'))
        make_repository(self.ssh.folder)
        self.offers = {'/thing.git/': git_over_http(self.ssh.folder), '/npm/': npm_registry('/npm/'),
                       '/simple/': pip_index('/simple/')}
        self._serve_names()
        self._serve_sites()
        self._serve_other_servers()
        self._serve_traps()
        self._serve_host()

    def _make_folder(self, name):
        path = self.folder / name
        path.mkdir()
        return path

    # The veth pair, and the configuration files of the host.

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
            route add blackhole {BLACK_HOLE[0]}
            -6 route add blackhole {BLACK_HOLE[1]}
        ''')    # the local routes make every address that the host does not have an address of the world
        self.host.configure(f'''
            link set eth0 up
            address add {HOST[0]}/24 dev eth0
            address add {HOST[1]}/64 dev eth0 nodad
            route add default via {GATEWAY[0]}
            -6 route add default via {GATEWAY[1]}
        ''')

    def _mount_files(self):
        with open('/etc/passwd', encoding='utf-8') as file:
            accounts = file.read()
        files = {'resolv.conf': f'nameserver {RESOLVER[0]}\noptions timeout:2 attempts:1\n',
                 'hosts': '127.0.0.1 localhost\n::1 localhost\n',
                 'passwd': accounts + passwd_line(self.folder / 'git')}
        for name, text in files.items():
            path = self.folder / name
            path.write_text(text)
            path.chmod(0o644)
            mount_file_over(f'/etc/{name}', path)

    # Servers.

    def listen(self, address, port, handler, server='', namespace=None):
        """Serves TCP with handler(connection, visit), see servers.py. Returns the listener, which has close()."""
        listening = (namespace or self.world).socket(address, port)
        listener = servers.Listener(listening, server or f'{address}:{port}', handler, self.visits)
        self._listeners.append(listener)
        return listener

    def listen_datagrams(self, address, port, serve, *arguments):
        """Serves UDP: calls serve(socket, ...) in a thread."""
        listening = self.world.socket(address, port, socket.SOCK_DGRAM)
        threading.Thread(target=serve, args=(listening, *arguments), daemon=True).start()

    def allocate_addresses(self):
        """An IPv4 address and an IPv6 address that no server has yet."""
        self._allocated += 1
        block, number = divmod(self._allocated, 256)
        return f'93.184.{216 + block}.{number}', f'2606:2800:220::{self._allocated:x}'

    def make_site(self, name, protocols=('h2', 'http/1.1'), families=(4, 6), shares_server_of=None):
        """Makes a web site on ports 80 and 443, and adds its name to the zone. If shares_server_of is another site,
        both have the same addresses and server."""
        addresses = shares_server_of.addresses if shares_server_of else tuple(
            address for family, address in zip((4, 6), self.allocate_addresses()) if family in families)
        site = servers.Site(name, addresses, self.offers, self.authority.server_context(name, protocols))
        self.names.zone[name] = Reply(*addresses)
        if shares_server_of:
            self.web[shares_server_of.name].sites += (site,)
            self.web[name] = self.web[shares_server_of.name]
            return site
        web = self.web[name] = servers.WebServer(site)
        for address in addresses:
            self.listen(address, 80, web.serve_http, name)
            self.listen(address, 443, web.serve_https, name)
        return site

    def make_server(self, name, *handlers):
        """Makes a server that is not a web site, and adds its name to the zone. Each of `handlers` is (port, handler).
        Returns its addresses."""
        addresses = self.allocate_addresses()
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
        self.ssh.write_known_hosts(GOOD, OTHER)
        self.make_site('four.good.example', families=(4,))
        self.make_site('six.good.example', families=(6,))
        self.make_site('old.good.example', protocols=('http/1.1',))
        self.make_site('hidden.other.example', shares_server_of=self.make_site('front.good.example'))
        zone = self.names.zone
        zone['alias.good.example'] = Reply(target=GOOD)
        zone['failing.good.example'] = Reply(rcode=SERVFAIL)
        zone['silent.good.example'] = Reply(silent=True)
        addresses = self.web[GOOD].sites[0].addresses
        zone['late.good.example'] = Reply(*addresses, delay=0.5)
        zone['long.good.example'] = Reply(*addresses, truncated=True)
        for key, address in LIES.items():
            zone[f'{key}.lies.example'] = Reply(address)
        zone['mixed.lies.example'] = Reply(addresses[0], '10.0.0.1')
        zone['rebind.lies.example'] = [Reply(addresses[0]), Reply('10.0.0.1')]
        zone['alias.lies.example'] = Reply(target='private10.lies.example')

    def _serve_other_servers(self):
        addresses = self.make_server('echo.good.example', (7, servers.echo), (80, servers.echo), (443, servers.echo))
        for address in addresses:
            self.listen_datagrams(address, 443, servers.echo_datagrams, 'echo.good.example', self.visits)
        self.make_server('half.good.example', (7001, servers.greet_and_half_close), (7002, servers.answer_after_eof))
        self.make_server('slow.good.example', (80, servers.answer_slowly), (7003, servers.answer_slowly))
        self.make_server('reset.good.example', (80, servers.reset_midway), (7004, servers.reset_midway))

    def _serve_traps(self):
        """A client that connects to an address that a box must not reach is served, and recorded."""
        metadata = self._make_trap('metadata')
        self.listen(METADATA, 80, metadata.serve_http, 'metadata')
        trap = self._make_trap('trap')
        for address in ('0.0.0.0', '::'):
            for port in TRAP_HTTP_PORTS:
                self.listen(address, port, trap.serve_http, 'trap')
            for port in TRAP_HTTPS_PORTS:
                self.listen(address, port, trap.serve_https, 'trap')
            for port in TRAP_ECHO_PORTS:
                self.listen(address, port, servers.echo, 'trap')

    def _serve_host(self):
        service = self._make_trap('host')
        for address in ('0.0.0.0', '::'):
            for port in HOST_PORTS:
                self.listen(address, port, service.serve_http, 'host', self.host)

    def _make_trap(self, name):
        context = self.authority.server_context(f'{name}.example', ('http/1.1',))
        return servers.WebServer(servers.Site(name, (), {}, context))

    # For tests.

    def visits_to(self, server):
        """The visits to a site by its name, or to "trap", "metadata", "host", "resolver"."""
        return [visit for visit in list(self.visits) if visit.server == server]

    def settle(self):
        """Waits until packets that are on their way have arrived. Call it before asserting that something did not
        arrive, or checking how a connection ended."""
        time.sleep(SETTLE_SECONDS)

    def forbidden_visits(self):
        """The visits to servers that a box must never reach: the trap, the metadata service, and the services of the
        host. Calls settle() first."""
        self.settle()
        return [visit for server in ('trap', 'metadata', 'host') for visit in self.visits_to(server)]

    @contextlib.contextmanager
    def for_one_test(self):
        """Forgets all visits and queries at the start. At the end restores the zone, the sites and the listeners."""
        zone, listeners = dict(self.names.zone), len(self._listeners)
        sites = {web: web.sites for web in self.web.values()}
        self.names.reset()
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
