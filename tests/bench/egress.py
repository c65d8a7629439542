#!/usr/bin/python3
"""What egress costs: a client in a box against the same client outside, in one run, taking turns.

    egress.py RINGWALL STATIC-TRUE NET-BENCH [--rounds N] [--seconds S] [--write FOLDER]

    namespace of this process                              namespace of the server
    ┌─────────────────────────────────────────┐            ┌────────────────────────┐
    │ 93.184.215.2                            │───  veth ──│ 93.184.216.1, a server │
    │ "in the box":  client, egress           │            └────────────────────────┘
    │ "outside":     the client               │
    │ "loopback":    the client, and a server │
    └─────────────────────────────────────────┘

1. Bytes per second, new connections per second (connect, a byte each way, close), and the time of a request.
2. The memory of egress, without connections and with idle ones.
3. The time that egress adds to the start of a box.

Client, server and egress share the machine's cores. Needs root and ip(8). If srt is installed, its proxy,
which is its only access to the network, is compared with ringwall's proxy.
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
# nearly the loopback's MTU, so that both use packets of the same size; and the MTU of Ethernet
MTU, ETHERNET_MTU = 65535, 1500
CLONE_NEWNS, CLONE_NEWNET, MS_BIND, MS_REC, MS_PRIVATE = 0x00020000, 0x40000000, 0x1000, 0x4000, 0x40000
CLIENT_SETUPS = ('in the box', 'outside', 'loopback')
# title: what net_bench does, over how many connections
WORKLOADS = {
    'down, 1': ('down', 1), 'down, 32': ('down', 32), 'up, 1': ('up', 1), 'up, 32': ('up', 32),
    'down, 1, ordinary packets': ('down', 1), 'down, 32, ordinary packets': ('down', 32),
    'new, 1': ('new', 1), 'new, 32': ('new', 32),
    'kept': ('kept', 1), 'http': ('http', 1),
}
IDLE_CONNECTIONS = 500
THROUGHPUT_TARGET, CONNECTIONS_TARGET, SRT_TARGET, LATENCY_TARGET = 0.5, 0.3, 5, 0.15
IDLE_TARGET, CONNECTION_TARGET, START_TARGET = 4, 40, 1.5     # MB, KB, ms

_libc = ctypes.CDLL(None, use_errno=True)


def call_libc(name, *arguments):
    if getattr(_libc, name)(*arguments) < 0:
        number = ctypes.get_errno()
        sys.exit(f'{name}: {os.strerror(number)}')


def run_ip(line):
    subprocess.run(['ip', *line.split()], check=True)


def write(path, text):
    with open(path, 'w', encoding='ascii') as file:
        file.write(text)


def enter_namespaces(folder):
    """Enters new network and mount namespaces, in which the server's name resolves."""
    call_libc('unshare', CLONE_NEWNS | CLONE_NEWNET)
    call_libc('mount', None, b'/', None, MS_REC | MS_PRIVATE, None)
    for name, text in (('hosts', f'127.0.0.1 localhost\n{SERVER} {HOST}\n'), ('resolv.conf', f'nameserver {SERVER}\n')):
        write(f'{folder}/{name}', text)
        call_libc('mount', os.fsencode(f'{folder}/{name}'), os.fsencode(os.path.realpath(f'/etc/{name}')), None,
                  MS_BIND, None)
    run_ip('link set lo up')
    # there are thousands of connections per second, and each leaves its port in TIME_WAIT
    write('/proc/sys/net/ipv4/ip_local_port_range', '10000 65000')
    write('/proc/sys/net/ipv4/tcp_tw_reuse', '1')


class VethPair:
    """A veth pair to the server's network namespace."""

    def __init__(self, pid):
        self.ip_at_server = ['nsenter', f'--net=/proc/{pid}/ns/net', 'ip']
        run_ip(f'link add eth0 type veth peer name eth0 netns {pid}')
        self.on_both_sides('link set eth0 up')
        run_ip(f'addr add {OWN} peer {SERVER} dev eth0')
        run_ip('route add default dev eth0')
        subprocess.run([*self.ip_at_server, *f'addr add {SERVER} peer {OWN} dev eth0'.split()], check=True)

    def on_both_sides(self, line):
        run_ip(line)
        subprocess.run([*self.ip_at_server, *line.split()], check=True)

    def set_mtu(self, mtu):
        self.on_both_sides(f'link set eth0 mtu {mtu}')


@contextlib.contextmanager
def run_server(program, own_namespace):
    """Runs a server, in this network namespace or in one of its own, which a veth pair connects."""
    with subprocess.Popen([*(['unshare', '--net'] if own_namespace else []), program, 'serve', '80', str(PORT)],
                          stdout=subprocess.PIPE,
                          stdin=subprocess.DEVNULL, text=True) as process:
        try:
            process.stdout.readline()
            yield VethPair(process.pid) if own_namespace else None
        finally:
            process.kill()


def box_command(arguments, *flags):
    return [arguments.ringwall, 'run', '-q', '--level', 'maximum', *flags, '--']


def box_with_network(arguments):
    return box_command(arguments, '--allow-domain', HOST, '--allow-domain', f'{HOST}:{PORT}')


def client_command(arguments, setup, job, connections, proxy=None):
    host = {'in the box': HOST, 'outside': HOST, 'loopback': '127.0.0.1'}.get(setup, HOST)
    command = [arguments.net_bench, job, host, '80' if job == 'http' else str(PORT), str(connections),
               str(arguments.seconds)]
    return command + [str(proxy)] if proxy else command


def run_client(command, **options):
    """Returns the two numbers that the client prints."""
    result = subprocess.run(command, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True, check=False,
                            **options)
    if result.returncode:
        sys.exit(f'{" ".join(command)} failed with status {result.returncode}')
    return [float(word) for word in result.stdout.split()]


def measure_workloads(arguments, veth_pair):
    """Returns the medians by workload and setup: bytes or exchanges per second, and microseconds of an exchange."""
    found = {}
    for workload, (job, connections) in WORKLOADS.items():
        results = {setup: [] for setup in CLIENT_SETUPS}
        veth_pair.set_mtu(ETHERNET_MTU if 'ordinary' in workload else MTU)
        for _ in range(arguments.rounds):
            for setup in CLIENT_SETUPS:
                command = client_command(arguments, setup, job, connections)
                results[setup].append(
                    run_client(box_with_network(arguments) + command if setup == 'in the box' else command))
        found[workload] = {setup: [statistics.median(column) for column in zip(*rows)]
                           for setup, rows in results.items()}
        print(f'{workload}: done', file=sys.stderr)
    return found


def egress_kilobytes(front):
    """The memory of egress: its proportional share of all pages, and its private pages."""
    with open(f'/proc/{front}/task/{front}/children', encoding='ascii') as file:
        children = file.read().split()
    for child in children:
        with open(f'/proc/{child}/comm', encoding='ascii') as file:
            if file.read() == 'ringwall-egress\n':
                with open(f'/proc/{child}/smaps_rollup', encoding='ascii') as sums:
                    sizes = dict(re.findall(r'^(\w+): +(\d+) kB', sums.read(), re.MULTILINE))
                return int(sizes['Pss']), int(sizes['Private_Clean']) + int(sizes['Private_Dirty'])
    return sys.exit('no ringwall-egress process was found')


def measure_memory(arguments, connections):
    with subprocess.Popen(box_with_network(arguments) + client_command(arguments, 'in the box', 'hold', connections),
                          stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, text=True) as front:
        front.stdout.readline()
        found = egress_kilobytes(front.pid)
        front.stdin.close()
    return found


def measure_starts(arguments):
    program = f'{os.getcwd()}/true'
    commands = [[*box_command(arguments), program], [*box_command(arguments, '--allow-domain', 'example.com'), program]]
    times = [[milliseconds(command) for command in commands] for _ in range(arguments.rounds * 20)]
    return [statistics.median(column) for column in zip(*times)]


def measure_proxies(arguments):
    """New connections per second through srt's proxy and ours; empty if srt is not installed or does not run."""
    srt = shutil.which('srt')
    if not srt:
        print('srt is skipped: it is not installed', file=sys.stderr)
        return {}
    settings = {'network': {'allowedDomains': [HOST], 'deniedDomains': []},
                'filesystem': {'denyRead': [], 'allowWrite': [], 'denyWrite': []}}
    write('srt.json', json.dumps(settings))
    clients = {name: client_command(arguments, name, 'new', 32, PROXY_PORT) for name in ('srt', 'ringwall')}
    # srt's proxy wants the credentials that srt puts into this variable
    credentials = '$(printf %s "${HTTP_PROXY#http://}" | sed "s/@.*//" | base64 -w0)'
    commands = {'srt': [srt, '--settings', f'{os.getcwd()}/srt.json', '-c',
                        f'{" ".join(clients["srt"])} {credentials}'],
                'ringwall': box_with_network(arguments) + clients['ringwall']}
    result = subprocess.run(commands['srt'], capture_output=True, text=True, check=False)
    if result.returncode:
        print(f'srt is skipped: {(result.stderr.strip() or "it failed").splitlines()[-1]}', file=sys.stderr)
        return {}
    times = [[run_client(command)[0] for command in commands.values()] for _ in range(arguments.rounds)]
    return dict(zip(commands, (statistics.median(column) for column in zip(*times))))


def at_least(value, target):
    return f'≥ {target}: {"met" if value >= target else "MISSED"}'


def at_most(value, target):
    return f'≤ {target}: {"met" if value <= target else "MISSED"}'


def report_rates(found):
    lines = ['| per second | in the box | outside | loopback | × outside | × loopback | target |',
             '|---|---|---|---|---|---|---|']
    rows = [(f'bytes {workload.replace(",", " over", 1)}', workload, 1e9, 'GB',
             None if 'ordinary' in workload else THROUGHPUT_TARGET)
            for workload, (job, _) in WORKLOADS.items() if job in ('down', 'up')]
    rows += [('new connections, one after the other', 'new, 1', 1e3, 'thousand', CONNECTIONS_TARGET),
             ('new connections, 32 at a time', 'new, 32', 1e3, 'thousand', CONNECTIONS_TARGET)]
    for title, workload, unit, name, target in rows:
        rates = [found[workload][setup][0] for setup in CLIENT_SETUPS]
        ratios = [rates[0] / rate for rate in rates[1:]]
        lines.append(f'| {title}, {name} | {" | ".join(f"{rate / unit:.2f}" for rate in rates)} | '
                     f'{ratios[0]:.2f} | {ratios[1]:.2f} | {at_least(ratios[1], target) if target else ""} |')
    return lines


def report_latencies(found):
    lines = ['| median, ms | in the box | outside | loopback | more than outside | target |',
             '|---|---|---|---|---|---|']
    for title, workload in (('a byte and its answer, open connection', 'kept'),
                            ('an HTTP request, open connection', 'http'),
                            ('connect, a byte and its answer, close', 'new, 1')):
        times = [found[workload][setup][1] / 1000 for setup in CLIENT_SETUPS]
        more = times[0] - times[1]
        lines.append(f'| {title} | {" | ".join(f"{time:.3f}" for time in times)} | {more:.3f} | '
                     f'{at_most(more, LATENCY_TARGET)} |')
    return lines


def report(workloads, memory, starts, proxies):
    lines = [*report_rates(workloads), '', *report_latencies(workloads), '']
    for title, rate in proxies.items():
        lines.append(f'- new connections per second through the proxy of {title}, 32 at a time: {rate:.0f}')
    if proxies:
        ratio = proxies['ringwall'] / proxies['srt']
        lines.append(f'- new connections per second: {ratio:.1f} × srt ({at_least(ratio, SRT_TARGET)})')
    (idle_share, idle_own), (busy_share, _) = memory
    each = (busy_share - idle_share) / IDLE_CONNECTIONS
    lines += [f'- memory of egress, idle: {idle_share / 1024:.2f} MB, of which {idle_own / 1024:.2f} are private '
              f'({at_most(idle_share / 1024, IDLE_TARGET)})',
              f'- memory of an idle connection: {each:.1f} KB ({at_most(each, CONNECTION_TARGET)})',
              f'- start of a box without network {starts[0]:.2f} ms, with {starts[1]:.2f} ms: '
              f'{starts[1] - starts[0]:.2f} ms more '
              f'({at_most(starts[1] - starts[0], START_TARGET)})']
    return '\n'.join(lines) + '\n'


def main():
    parser = argparse.ArgumentParser()
    for name in ('ringwall', 'true', 'net_bench'):
        parser.add_argument(name, type=os.path.abspath)
    parser.add_argument('--rounds', type=int, default=7)
    parser.add_argument('--seconds', type=float, default=0.5, help='how long each client runs')
    parser.add_argument('--write', type=os.path.abspath)
    arguments = parser.parse_args()
    if os.geteuid() != 0:
        sys.exit('this benchmark must run as root, because it makes network namespaces')
    with tempfile.TemporaryDirectory(dir='/home', prefix='.ringwall-bench-') as folder:
        enter_namespaces(folder)
        os.mkdir(f'{folder}/workspace')
        os.chdir(f'{folder}/workspace')
        shutil.copy(arguments.true, 'true')
        arguments.net_bench = shutil.copy(arguments.net_bench, f'{folder}/workspace/net_bench')
        with run_server(arguments.net_bench, own_namespace=True) as veth_pair, \
                run_server(arguments.net_bench, own_namespace=False):
            workloads = measure_workloads(arguments, veth_pair)
            memory = [measure_memory(arguments, number) for number in (0, IDLE_CONNECTIONS)]
            text = report(workloads, memory, measure_starts(arguments), measure_proxies(arguments))
        os.chdir('/')
    print(text)
    if arguments.write:
        with open(f'{arguments.write}/egress.md', 'w', encoding='utf-8') as file:
            file.write(f'# Egress\n\nMeasured by `tests/bench/egress.py` on two cores, Linux '
                       f'{os.uname().release}, as root, taking turns in one run; client, server and egress share the '
                       f'cores. "Outside" '
                       f'is the same client to the same server without a box, "loopback" to a server in its own '
                       f'namespace. The veth pair '
                       f'has an MTU of {MTU}, like the loopback; for "ordinary packets" it is '
                       f'{ETHERNET_MTU}.\n\n{text}')


main()
