"""Attacks on the loopback of the host. The tests use no other addresses; tests/egress makes an internet to attack."""
import contextlib
import socket
import threading
import time

from attack_host import Attack, assert_stopped, rows, server_reached, start_listener

# At standard socket() fails. At strict and maximum a box has a loopback of its own, on which no process listens.
NO_SOCKET = 'EPERM EACCES EAFNOSUPPORT'
NO_SERVER = {'standard': NO_SOCKET, 'strict': 'ECONNREFUSED EOPNOTSUPP', 'maximum': 'ECONNREFUSED EOPNOTSUPP'}
NO_CLIENT = {'standard': NO_SOCKET, 'strict': 'ETIMEDOUT', 'maximum': 'ETIMEDOUT'}
OWN_LOOPBACK = ('strict', 'maximum')


def with_server(kind, family=socket.AF_INET, address='127.0.0.1'):
    def before(stage):
        server = start_listener(stage, (address, 0), kind, family)
        stage.names['port'] = str(server.getsockname()[1])
    return before


def loopback(name, kind=socket.SOCK_STREAM, **more):
    family, address = more.pop('where', (socket.AF_INET, '127.0.0.1'))
    return Attack(name, ('{port}',), NO_SERVER, effect=server_reached, before=with_server(kind, family, address),
                  **more)


IP6 = (socket.AF_INET6, '::1')


@rows(
    loopback('connect_tcp'),
    loopback('connect_ipv4_mapped'),
    loopback('connect_tcp6', where=IP6),
    loopback('connect_mptcp', lacks='this kernel has no MPTCP'),
    loopback('send_tcp_fast_open'),
    loopback('send_udp', kind=socket.SOCK_DGRAM, may_succeed_at=OWN_LOOPBACK),
    loopback('send_udp6', kind=socket.SOCK_DGRAM, where=IP6, may_succeed_at=OWN_LOOPBACK),
    Attack('raw_socket', (), NO_SOCKET, only='root'),
    Attack('packet_socket', (), NO_SOCKET, only='root'),
    Attack('netlink_dump', (), f'{NO_SOCKET} EPROTONOSUPPORT'),
    Attack('vsock_socket', (), NO_SOCKET, lacks='this kernel has no vsock'),
    Attack('alg_socket', (), NO_SOCKET, lacks='this kernel has no AF_ALG'),
)
def test_loopback_of_the_host_is_not_reachable(stages, attack, level):
    assert_stopped(stages, attack, level)


def with_client(stage):
    """Chooses a free port and starts a thread of the host that connects to it as soon as the box listens."""
    with socket.socket() as free:
        free.bind(('127.0.0.1', 0))
        port = free.getsockname()[1]
    stage.names['port'], stage.connected = str(port), threading.Event()
    stop = threading.Event()

    def connect():
        while not stop.is_set():
            with contextlib.suppress(OSError):
                socket.create_connection(('127.0.0.1', port), 1).close()
                stage.connected.set()
                return
            time.sleep(0.02)
    thread = threading.Thread(target=connect)
    thread.start()
    stage.closing.callback(thread.join)
    stage.closing.callback(stop.set)


@rows(Attack('listen_tcp', ('{port}',), NO_CLIENT, before=with_client,
             effect=lambda stage: stage.connected.wait(0.3)))
def test_box_cannot_listen_on_a_port_of_the_host(stages, attack, level):
    assert_stopped(stages, attack, level)
