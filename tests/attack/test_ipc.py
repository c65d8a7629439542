"""Attacks that communicate with processes of the host: System V and POSIX IPC, unix sockets, D-Bus, keyrings."""
import ctypes
import os
import secrets
import socket
import subprocess

import pytest

from attack_host import LEVELS, Attack, assert_stopped, rows, server_reached, start_listener

libc = ctypes.CDLL(None, use_errno=True)
ABSENT = {'standard': 'EACCES', 'strict': 'ENOENT EPERM', 'maximum': 'ENOENT EPERM'}     # for a path outside of the box
libc.shmat.restype = ctypes.c_void_p
IPC_CREAT, IPC_EXCL, IPC_RMID, SETVAL, GETVAL = 0o1000, 0o2000, 0, 16, 12


def fresh_key():
    return secrets.randbelow(2**30) + 1


def with_segment(stage):
    key = fresh_key()
    identity = libc.shmget(key, 4096, IPC_CREAT | IPC_EXCL | 0o600)
    assert identity >= 0
    stage.closing.callback(libc.shmctl, identity, IPC_RMID, None)
    memory = libc.shmat(identity, None, 0)
    ctypes.memmove(memory, stage.secret.encode() + b'\0', len(stage.secret) + 1)
    libc.shmdt(ctypes.c_void_p(memory))
    stage.names.update(ipc=str(key), identity=str(identity))


class Message(ctypes.Structure):
    _fields_ = [('type', ctypes.c_long), ('text', ctypes.c_char * 64)]


def with_message_queue(stage):
    key = fresh_key()
    stage.queue = libc.msgget(key, IPC_CREAT | IPC_EXCL | 0o600)
    assert stage.queue >= 0
    stage.closing.callback(libc.msgctl, stage.queue, IPC_RMID, None)
    stage.names['ipc'] = str(key)


def with_a_message(stage):
    with_message_queue(stage)
    assert libc.msgsnd(stage.queue, ctypes.byref(Message(1, stage.secret.encode())), 64, 0) == 0


def message_arrived(stage):
    return libc.msgrcv(stage.queue, ctypes.byref(Message()), 64, 0, 0o4000) >= 0


def with_semaphore(stage):
    key = fresh_key()
    stage.semaphores = libc.semget(key, 1, IPC_CREAT | IPC_EXCL | 0o600)
    assert stage.semaphores >= 0
    stage.closing.callback(libc.semctl, stage.semaphores, 0, IPC_RMID)
    stage.names['ipc'] = str(key)


def with_posix_queue(stage):
    name = f'/ringwall-attack-{secrets.token_hex(6)}'
    stage.queue = libc.mq_open(name.encode(), os.O_RDWR | os.O_CREAT | os.O_NONBLOCK, 0o600, None)
    assert stage.queue >= 0
    stage.closing.callback(libc.mq_unlink, name.encode())
    stage.closing.callback(os.close, stage.queue)
    stage.names['queue'] = name


def with_a_posix_message(stage):
    with_posix_queue(stage)
    assert libc.mq_send(stage.queue, stage.secret.encode(), len(stage.secret), 0) == 0


def posix_message_arrived(stage):
    return libc.mq_receive(stage.queue, ctypes.create_string_buffer(8192), 8192, None) >= 0


# In an IPC namespace the object does not exist; without one a filter refuses the call.
NO_IPC = {'standard': 'EPERM EACCES ENOSYS', 'strict': 'ENOENT EINVAL', 'maximum': 'ENOENT EINVAL'}


@rows(
    Attack('read_shared_memory', ('{ipc}',), NO_IPC, secret=True, before=with_segment),
    Attack('read_shared_memory_by_id', ('{identity}',), NO_IPC, secret=True, before=with_segment),
    Attack('send_message', ('{ipc}',), NO_IPC, effect=message_arrived, before=with_message_queue),
    Attack('receive_message', ('{ipc}',), NO_IPC, secret=True, before=with_a_message),
    Attack('raise_semaphore', ('{ipc}',), NO_IPC, before=with_semaphore,
           effect=lambda stage: libc.semctl(stage.semaphores, 0, GETVAL) == 1),
    Attack('send_to_queue', ('{queue}',), NO_IPC, effect=posix_message_arrived, before=with_posix_queue),
    Attack('receive_from_queue', ('{queue}',), NO_IPC, secret=True, before=with_a_posix_message),
    Attack('remove_queue', ('{queue}',), NO_IPC, before=with_posix_queue),
)
def test_system_v_and_posix_ipc_of_the_host_are_not_accessible(stages, attack, level):
    assert_stopped(stages, attack, level)


def with_shared_file(stage):
    path = f'/dev/shm/ringwall-attack-{secrets.token_hex(6)}'
    with open(path, 'w', encoding='utf-8') as file:
        file.write(stage.secret)
    stage.closing.callback(os.unlink, path)
    stage.names['shared'] = path


@rows(Attack('read', ('{shared}',), {'standard': 'EACCES', 'strict': 'ENOENT', 'maximum': 'ENOENT'}, secret=True,
             before=with_shared_file, title='read posix shared memory'))
def test_posix_shared_memory_of_the_host_is_not_accessible(stages, attack, level):
    assert_stopped(stages, attack, level)


def with_abstract_server(kind):
    def before(stage):
        name = f'ringwall-attack-{secrets.token_hex(6)}'
        start_listener(stage, '\0' + name, kind)
        stage.names['abstract'] = '@' + name
    return before


def with_server(kind, folder='other', name='docker.sock'):
    def before(stage):
        path = getattr(stage, folder) / name
        start_listener(stage, str(path), kind)
        stage.names['socket'] = str(path)
    return before


ABSTRACT = {'standard': 'EPERM', 'strict': 'EPERM ECONNREFUSED', 'maximum': 'EPERM ECONNREFUSED'}
STREAM, DATAGRAM, PACKETS = socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_SEQPACKET


@rows(
    Attack('connect_stream', ('{abstract}',), ABSTRACT, effect=server_reached, before=with_abstract_server(STREAM)),
    Attack('connect_seqpacket', ('{abstract}',), ABSTRACT, effect=server_reached, before=with_abstract_server(PACKETS)),
    Attack('connect_datagram', ('{abstract}',), ABSTRACT, effect=server_reached, before=with_abstract_server(DATAGRAM)),
    Attack('send_unconnected', ('{abstract}',), ABSTRACT, effect=server_reached, before=with_abstract_server(DATAGRAM)),
    Attack('sendmmsg_unconnected', ('{abstract}',), ABSTRACT, effect=server_reached,
           before=with_abstract_server(DATAGRAM)),
)
def test_abstract_sockets_of_the_host_are_not_accessible(stages, attack, level):
    assert_stopped(stages, attack, level)


def by_path(name, kind, *arguments, **more):
    return Attack(name, arguments or ('{socket}',), 'ENOENT EACCES EPERM ECONNREFUSED', effect=server_reached,
                  before=with_server(kind), **more)


@rows(
    by_path('connect_stream', STREAM, title='docker.sock'),
    by_path('connect_seqpacket', PACKETS),
    by_path('connect_datagram', DATAGRAM),
    by_path('send_unconnected', DATAGRAM),
    by_path('sendmmsg_unconnected', DATAGRAM),
    by_path('connect_stream', STREAM, '/proc/self/cwd/../other/docker.sock',
            title='docker.sock through a link in /proc'),
    by_path('connect_stream', STREAM, '../other/docker.sock', title='docker.sock through ..'),
)
def test_sockets_of_the_host_are_not_accessible_by_path(stages, attack, level):
    assert_stopped(stages, attack, level)


@rows(
    Attack('connect_stream', ('{socket}',), 'EACCES EPERM ECONNREFUSED', flags=('--ro', '{given}'),
           effect=server_reached, before=with_server(STREAM, 'given'), title='connect to a socket in a readable tree'),
    Attack('send_unconnected', ('{socket}',), 'EACCES EPERM ECONNREFUSED', flags=('--ro', '{given}'),
           effect=server_reached, before=with_server(DATAGRAM, 'given'), title='send to a socket in a readable tree'),
    *(Attack(name, arguments, 'EACCES EPERM ECONNREFUSED ENOENT', flags=flags, effect=server_reached,
             before=with_server(kind, folder, where),
             title=f'{name} {where} {" ".join(flags)} {" ".join(arguments)}')
      for flags, folder, where in ((('--ro', '{given}'), 'given', 'inner/docker.sock'),
                                   (('--read', 'broad'), 'home', '.docker.sock'),
                                   (('--read', 'broad'), 'home', 'agent.sock'))
      for name, kind, arguments in (
          ('connect_stream', STREAM, ('{socket}',)), ('connect_seqpacket', PACKETS, ('{socket}',)),
          ('connect_datagram', DATAGRAM, ('{socket}',)), ('send_unconnected', DATAGRAM, ('{socket}',)),
          ('sendmmsg_unconnected', DATAGRAM, ('{socket}',)))),
)
def test_socket_in_a_readable_tree_cannot_be_connected_to(stages, attack, level):
    """A right to read does not include a right to connect: the service behind the socket would act for the box."""
    assert_stopped(stages, attack, level)


def with_service(kind, where='/run'):
    def before(stage):
        path = f'{where}/ringwall-attack-{secrets.token_hex(6)}.sock'
        start_listener(stage, path, kind)
        stage.closing.callback(os.unlink, path)
        stage.names['socket'] = path
    return before


@rows(
    Attack('connect_stream', ('{socket}',), ABSENT, effect=server_reached, before=with_service(STREAM), only='root',
           title='a service in /run'),
    Attack('connect_stream', ('{socket}',), ABSENT, effect=server_reached, before=with_service(STREAM, '/tmp'),
           title='a service in /tmp'),
    Attack('connect_stream', ('{socket}',), ABSENT, flags=('--read', 'broad'), effect=server_reached,
           before=with_service(STREAM, '/tmp'), title='a service in /tmp with broad reading'),
    Attack('connect_stream', ('{socket}',), 'ENOENT EACCES EPERM', flags=('--read', 'broad'), effect=server_reached,
           before=with_server(STREAM), title='docker.sock with broad reading'),
)
def test_service_of_the_host_cannot_be_connected_to(stages, attack, level):
    assert_stopped(stages, attack, level)


def with_address_in_environment(variable, form, start_server):
    def before(stage):
        start_server(stage)
        stage.variables = {variable: stage.fill(form)}
    return before


@rows(
    Attack('connect_by_environment', ('DBUS_SESSION_BUS_ADDRESS',), 'ENOENT EACCES', effect=server_reached,
           before=with_address_in_environment('DBUS_SESSION_BUS_ADDRESS', 'unix:path={socket}',
                                              with_server(STREAM, 'other', 'bus'))),
    Attack('connect_by_environment', ('DBUS_SESSION_BUS_ADDRESS',), 'ENOENT EACCES EPERM', effect=server_reached,
           flags=('--env', 'DBUS_SESSION_BUS_ADDRESS'), title='D-Bus with its address in the environment of the box',
           before=with_address_in_environment('DBUS_SESSION_BUS_ADDRESS', 'unix:path={socket}',
                                              with_server(STREAM, 'other', 'bus'))),
    Attack('connect_by_environment', ('SSH_AUTH_SOCK',), 'ENOENT EACCES', effect=server_reached,
           before=with_address_in_environment('SSH_AUTH_SOCK', '{socket}', with_server(STREAM, 'other', 'agent'))),
)
def test_d_bus_and_ssh_agent_of_the_host_are_not_accessible(stages, attack, level):
    assert_stopped(stages, attack, level)


def with_key(stage):
    name = f'ringwall-attack-{secrets.token_hex(6)}'
    result = subprocess.run([stage.program, 'add_key', name, stage.secret], capture_output=True, text=True)
    assert result.returncode == 0, result.stdout
    stage.closing.callback(subprocess.run, [stage.program, 'unlink_key', name], stdout=subprocess.DEVNULL)
    stage.names['key_name'] = name


@rows(
    Attack('read_key', ('{key_name}',), 'EPERM ENOSYS', secret=True, before=with_key),
    Attack('request_key', ('{key_name}',), 'EPERM ENOSYS', secret=True, before=with_key),
)
def test_keys_of_the_host_cannot_be_read(stages, attack, level):
    assert_stopped(stages, attack, level)


@pytest.mark.parametrize('level', LEVELS)
def test_key_cannot_be_added(stages, level):
    def unlink_key(stage):
        stage.closing.callback(subprocess.run, [stage.program, 'unlink_key', 'ringwall-attack'],
                               stdout=subprocess.DEVNULL)
    assert_stopped(stages, Attack('add_key', ('ringwall-attack', 'x'), 'EPERM ENOSYS', before=unlink_key), level)
