"""The host's loopback, out of reach. No test here uses an address that is not loopback."""
import contextlib
import socket
import threading
import time

from stage import Attack, hold, listener, reached, rows

# Without the right no socket is made; with a network namespace nobody listens there.
NO_SOCKET = 'EPERM EACCES EAFNOSUPPORT'


def server(kind, family=socket.AF_INET, address='127.0.0.1'):
    def before(stage):
        made = listener(stage, (address, 0), kind, family)
        stage.names['port'] = str(made.getsockname()[1])
    return before


def loopback(name, kind=socket.SOCK_STREAM, **more):
    family, address = more.pop('where', (socket.AF_INET, '127.0.0.1'))
    return Attack(name, ('{port}',), NO_SOCKET, effect=reached, before=server(kind, family, address), **more)


IP6 = (socket.AF_INET6, '::1')


@rows(
    loopback('connect_tcp'),
    loopback('connect_mapped'),
    loopback('connect_tcp6', where=IP6),
    loopback('connect_mptcp', lacks='this kernel has no MPTCP'),
    loopback('send_fast'),
    loopback('send_udp', kind=socket.SOCK_DGRAM),
    loopback('send_udp6', kind=socket.SOCK_DGRAM, where=IP6),
    Attack('raw_socket', (), NO_SOCKET, only='root'),
    Attack('packet_socket', (), NO_SOCKET, only='root'),
    Attack('netlink_dump', (), NO_SOCKET),
    Attack('vsock_socket', (), NO_SOCKET, lacks='this kernel has no vsock'),
    Attack('crypto_socket', (), NO_SOCKET, lacks='this kernel has no AF_ALG'),
)
def test_the_host_is_out_of_reach(stages, attack, level):
    hold(stages, attack, level)


def visitor(stage):
    """Somebody on the host who comes as soon as a door opens."""
    with socket.socket() as free:
        free.bind(('127.0.0.1', 0))
        port = free.getsockname()[1]
    stage.names['port'], stage.visited = str(port), threading.Event()
    stop = threading.Event()

    def visit():
        while not stop.is_set():
            with contextlib.suppress(OSError):
                socket.create_connection(('127.0.0.1', port), 1).close()
                stage.visited.set()
                return
            time.sleep(0.02)
    thread = threading.Thread(target=visit)
    thread.start()
    stage.closing.callback(thread.join)
    stage.closing.callback(stop.set)


@rows(Attack('listen_tcp', ('{port}',), NO_SOCKET, before=visitor, effect=lambda stage: stage.visited.wait(0.3)))
def test_no_door_is_opened_from_inside(stages, attack, level):
    hold(stages, attack, level)
