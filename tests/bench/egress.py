#!/usr/bin/python3
"""What a box's way to the network costs, against the same client outside the box, in one run, in turns.

    egress.py RINGWALL STATIC-TRUE NET-BENCH [--rounds N] [--seconds S] [--write FOLDER]

    namespace of this process                              namespace of the server
    ┌─────────────────────────────────────────┐            ┌────────────────────────┐
    │ 93.184.215.2                            │───  veth ──│ 93.184.216.1, a server │
    │ "in the box":  client, egress           │            └────────────────────────┘
    │ "outside":     the client               │
    │ "loopback":    the client, and a server │
    └─────────────────────────────────────────┘

1. Bytes a second, new connections a second (connect, a byte each way, close), and what a request takes.
2. The memory of egress, idle and with connections that do nothing.
3. What it adds to the start of a box.

Client, server and egress share the machine's cores. Needs root and ip(8). srt, where it is installed, is measured by its
proxy (it has no other way), as ringwall's own is beside it.
"""
import argparse
import contextlib
import ctypes
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile

from timing import milliseconds

HOST, PORT, PROXY_PORT = 'bench.example', 7000, 3128
SERVER, OWN = '93.184.216.1', '93.184.215.2'
# nearly the loopback's, or the packets' sizes would be what is compared; and an ordinary one
MTU, ETHERNET_MTU = 65535, 1500
CLONE_NEWNS, CLONE_NEWNET, MS_BIND, MS_REC, MS_PRIVATE = 0x00020000, 0x40000000, 0x1000, 0x4000, 0x40000
PEERS = ('in the box', 'outside', 'loopback')
# what net_bench is to do, over how many connections
WORKS = {
    'down, 1': ('down', 1), 'down, 32': ('down', 32), 'up, 1': ('up', 1), 'up, 32': ('up', 32),
    'down, 1, ordinary packets': ('down', 1), 'down, 32, ordinary packets': ('down', 32),
    'new, 1': ('new', 1), 'new, 32': ('new', 32),
    'kept': ('kept', 1), 'http': ('http', 1),
}
IDLE_CONNECTIONS = 500
THROUGHPUT_BAR, CONNECTIONS_BAR, SRT_BAR, LATENCY_BAR = 0.5, 0.3, 5, 0.15
IDLE_BAR, CONNECTION_BAR, START_BAR = 4, 40, 1.5     # MB, KB, ms

_libc = ctypes.CDLL(None, use_errno=True)


def call(name, *arguments):
    if getattr(_libc, name)(*arguments) < 0:
        number = ctypes.get_errno()
        sys.exit(f'{name}: {os.strerror(number)}')


def ip(line):
    subprocess.run(['ip', *line.split()], check=True)


def write(path, text):
    with open(path, 'w', encoding='ascii') as file:
        file.write(text)


def enter(folder):
    """Namespaces of our own, in which the server's name is known; they end with this process."""
    call('unshare', CLONE_NEWNS | CLONE_NEWNET)
    call('mount', None, b'/', None, MS_REC | MS_PRIVATE, None)
    for name, text in (('hosts', f'127.0.0.1 localhost\n{SERVER} {HOST}\n'), ('resolv.conf', f'nameserver {SERVER}\n')):
        write(f'{folder}/{name}', text)
        call('mount', os.fsencode(f'{folder}/{name}'), os.fsencode(os.path.realpath(f'/etc/{name}')), None, MS_BIND, None)
    ip('link set lo up')
    # thousands of connections a second, of which each leaves its port behind for a while
    write('/proc/sys/net/ipv4/ip_local_port_range', '10000 65000')
    write('/proc/sys/net/ipv4/tcp_tw_reuse', '1')


class Cable:
    """To the server in its own namespace."""

    def __init__(self, pid):
        self.there = ['nsenter', f'--net=/proc/{pid}/ns/net', 'ip']
        ip(f'link add eth0 type veth peer name eth0 netns {pid}')
        self.on_both_sides('link set eth0 up')
        ip(f'addr add {OWN} peer {SERVER} dev eth0')
        ip('route add default dev eth0')
        subprocess.run([*self.there, *f'addr add {SERVER} peer {OWN} dev eth0'.split()], check=True)

    def on_both_sides(self, line):
        ip(line)
        subprocess.run([*self.there, *line.split()], check=True)

    def set_mtu(self, mtu):
        self.on_both_sides(f'link set eth0 mtu {mtu}')


@contextlib.contextmanager
def server(program, apart):
    """A server on our side, or apart in a namespace that a cable leads to."""
    with subprocess.Popen([*(['unshare', '--net'] if apart else []), program, 'serve', '80', str(PORT)], stdout=subprocess.PIPE,
                          stdin=subprocess.DEVNULL, text=True) as process:
        try:
            process.stdout.readline()
            yield Cable(process.pid) if apart else None
        finally:
            process.kill()


def box(arguments, *flags):
    return [arguments.ringwall, 'run', '-q', '--level', 'maximum', *flags, '--']


def to_server(arguments):
    return box(arguments, '--allow-domain', HOST, '--allow-domain', f'{HOST}:{PORT}')


def client(arguments, peer, what, connections, proxy=None):
    host = {'in the box': HOST, 'outside': HOST, 'loopback': '127.0.0.1'}.get(peer, HOST)
    words = [arguments.net_bench, what, host, '80' if what == 'http' else str(PORT), str(connections), str(arguments.seconds)]
    return words + [str(proxy)] if proxy else words


def ask(command, **options):
    """The two numbers that the client prints."""
    result = subprocess.run(command, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True, check=False, **options)
    if result.returncode:
        sys.exit(f'{" ".join(command)} failed with status {result.returncode}')
    return [float(word) for word in result.stdout.split()]


def measure_works(arguments, cable):
    """The medians, by work and by peer: how many a second, and the microseconds of each."""
    found = {}
    for work, (what, connections) in WORKS.items():
        told = {peer: [] for peer in PEERS}
        cable.set_mtu(ETHERNET_MTU if 'ordinary' in work else MTU)
        for _ in range(arguments.rounds):
            for peer in PEERS:
                words = client(arguments, peer, what, connections)
                told[peer].append(ask(to_server(arguments) + words if peer == 'in the box' else words))
        found[work] = {peer: [statistics.median(column) for column in zip(*rows)] for peer, rows in told.items()}
        print(f'{work}: done', file=sys.stderr)
    return found


def kilobytes(front):
    """What egress has of its own, and its part of what it shares."""
    with open(f'/proc/{front}/task/{front}/children', encoding='ascii') as file:
        children = file.read().split()
    for child in children:
        with open(f'/proc/{child}/comm', encoding='ascii') as file:
            if file.read() == 'ringwall-egress\n':
                with open(f'/proc/{child}/smaps_rollup', encoding='ascii') as sums:
                    sizes = dict(re.findall(r'^(\w+): +(\d+) kB', sums.read(), re.MULTILINE))
                return int(sizes['Pss']), int(sizes['Private_Clean']) + int(sizes['Private_Dirty'])
    return sys.exit('there is no ringwall-egress')


def measure_memory(arguments, connections):
    with subprocess.Popen(to_server(arguments) + client(arguments, 'in the box', 'hold', connections), stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, text=True) as front:
        front.stdout.readline()
        found = kilobytes(front.pid)
        front.stdin.close()
    return found


def measure_starts(arguments):
    program = f'{os.getcwd()}/true'
    commands = [[*box(arguments), program], [*box(arguments, '--allow-domain', 'example.com'), program]]
    times = [[milliseconds(command) for command in commands] for _ in range(arguments.rounds * 20)]
    return [statistics.median(column) for column in zip(*times)]


def measure_proxies(arguments):
    """New connections a second by a proxy, srt's and ours; nothing where srt is not installed or does not run."""
    srt = shutil.which('srt')
    if not srt:
        print('srt is left out: it is not installed', file=sys.stderr)
        return {}
    settings = {'network': {'allowedDomains': [HOST], 'deniedDomains': []},
                'filesystem': {'denyRead': [], 'allowWrite': [], 'denyWrite': []}}
    write('srt.json', json.dumps(settings))
    words = {peer: client(arguments, peer, 'new', 32, PROXY_PORT) for peer in ('srt', 'ringwall')}
    # its proxy wants what it has put into the variable, as any client takes it from there
    name_and_word = '$(printf %s "${HTTP_PROXY#http://}" | sed "s/@.*//" | base64 -w0)'
    commands = {'srt': [srt, '--settings', f'{os.getcwd()}/srt.json', '-c', f'{" ".join(words["srt"])} {name_and_word}'],
                'ringwall': to_server(arguments) + words['ringwall']}
    result = subprocess.run(commands['srt'], capture_output=True, text=True, check=False)
    if result.returncode:
        print(f'srt is left out: {(result.stderr.strip() or "it failed").splitlines()[-1]}', file=sys.stderr)
        return {}
    times = [[ask(command)[0] for command in commands.values()] for _ in range(arguments.rounds)]
    return dict(zip(commands, (statistics.median(column) for column in zip(*times))))


def at_least(value, bar):
    return f'≥ {bar}: {"held" if value >= bar else "MISSED"}'


def at_most(value, bar):
    return f'≤ {bar}: {"held" if value <= bar else "MISSED"}'


def report_rates(found):
    lines = ['| a second | in the box | outside | loopback | × outside | × loopback | bar |', '|---|---|---|---|---|---|---|']
    rows = [(f'bytes {work.replace(",", " over", 1)}', work, 1e9, 'GB', None if 'ordinary' in work else THROUGHPUT_BAR)
            for work, (what, _) in WORKS.items() if what in ('down', 'up')]
    rows += [('new connections, one after the other', 'new, 1', 1e3, 'thousand', CONNECTIONS_BAR),
             ('new connections, 32 at a time', 'new, 32', 1e3, 'thousand', CONNECTIONS_BAR)]
    for title, work, unit, name, bar in rows:
        rates = [found[work][peer][0] for peer in PEERS]
        ratios = [rates[0] / rate for rate in rates[1:]]
        lines.append(f'| {title}, {name} | {" | ".join(f"{rate / unit:.2f}" for rate in rates)} | '
                     f'{ratios[0]:.2f} | {ratios[1]:.2f} | {at_least(ratios[1], bar) if bar else ""} |')
    return lines


def report_latencies(found):
    lines = ['| the middle one of many, ms | in the box | outside | loopback | more than outside | bar |',
             '|---|---|---|---|---|---|']
    for title, work in (('a byte and its answer, open connection', 'kept'), ('an HTTP request, open connection', 'http'),
                        ('connect, a byte and its answer, close', 'new, 1')):
        times = [found[work][peer][1] / 1000 for peer in PEERS]
        more = times[0] - times[1]
        lines.append(f'| {title} | {" | ".join(f"{time:.3f}" for time in times)} | {more:.3f} | {at_most(more, LATENCY_BAR)} |')
    return lines


def report(works, memory, starts, proxies):
    lines = [*report_rates(works), '', *report_latencies(works), '']
    for title, rate in proxies.items():
        lines.append(f'- new connections a second by the proxy of {title}, 32 at a time: {rate:.0f}')
    if proxies:
        ratio = proxies['ringwall'] / proxies['srt']
        lines.append(f'- new connections a second: {ratio:.1f} × srt ({at_least(ratio, SRT_BAR)})')
    (idle_share, idle_own), (busy_share, _) = memory
    each = (busy_share - idle_share) / IDLE_CONNECTIONS
    lines += [f'- memory of egress, idle: {idle_share / 1024:.2f} MB, of which {idle_own / 1024:.2f} are its own '
              f'({at_most(idle_share / 1024, IDLE_BAR)})',
              f'- memory of a connection that does nothing: {each:.1f} KB ({at_most(each, CONNECTION_BAR)})',
              f'- start of a box without network {starts[0]:.2f} ms, with {starts[1]:.2f} ms: {starts[1] - starts[0]:.2f} ms more '
              f'({at_most(starts[1] - starts[0], START_BAR)})']
    return '\n'.join(lines) + '\n'


def main():
    parser = argparse.ArgumentParser()
    for name in ('ringwall', 'true', 'net_bench'):
        parser.add_argument(name, type=os.path.abspath)
    parser.add_argument('--rounds', type=int, default=7)
    parser.add_argument('--seconds', type=float, default=0.5, help='each client runs so long')
    parser.add_argument('--write', type=os.path.abspath)
    arguments = parser.parse_args()
    if os.geteuid() != 0:
        sys.exit('only root can measure it: it makes network namespaces')
    with tempfile.TemporaryDirectory(dir='/home', prefix='.ringwall-bench-') as folder:
        enter(folder)
        os.mkdir(f'{folder}/workspace')
        os.chdir(f'{folder}/workspace')
        shutil.copy(arguments.true, 'true')
        arguments.net_bench = shutil.copy(arguments.net_bench, f'{folder}/workspace/net_bench')
        with server(arguments.net_bench, apart=True) as cable, server(arguments.net_bench, apart=False):
            works = measure_works(arguments, cable)
            memory = [measure_memory(arguments, number) for number in (0, IDLE_CONNECTIONS)]
            text = report(works, memory, measure_starts(arguments), measure_proxies(arguments))
        os.chdir('/')
    print(text)
    if arguments.write:
        with open(f'{arguments.write}/egress.md', 'w', encoding='utf-8') as file:
            file.write(f'# The way to the network\n\nMeasured by `tests/bench/egress.py` on two cores, Linux '
                       f'{os.uname().release}, as root, in turns in one run; client, server and egress share the cores. "Outside" '
                       f'is the same client to the same server without a box, "loopback" to a server on its own side. The cable '
                       f'has an MTU of {MTU}, as the loopback has; where packets are ordinary, {ETHERNET_MTU}.\n\n{text}')


main()
