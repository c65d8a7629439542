"""Talking to processes of the host: System V, message queues, unix sockets, D-Bus, keyrings."""
import ctypes
import os
import secrets
import socket
import subprocess

import pytest

from stage import LEVELS, SPACES, Attack, hold, listener, reached, rows

libc = ctypes.CDLL(None, use_errno=True)
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


def with_messages(stage):
    key = fresh_key()
    stage.queue = libc.msgget(key, IPC_CREAT | IPC_EXCL | 0o600)
    assert stage.queue >= 0
    stage.closing.callback(libc.msgctl, stage.queue, IPC_RMID, None)
    stage.names['ipc'] = str(key)


def with_a_message(stage):
    with_messages(stage)
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


# An ipc namespace has no such thing; without one a filter answers.
APART = {'standard': 'EPERM EACCES ENOSYS', 'strict': 'ENOENT EINVAL', 'maximum': 'ENOENT EINVAL'}


@rows(
    Attack('shared_memory', ('{ipc}',), APART, secret=True, before=with_segment),
    Attack('shared_memory_by_id', ('{identity}',), APART, secret=True, before=with_segment),
    Attack('send_message', ('{ipc}',), APART, effect=message_arrived, before=with_messages),
    Attack('receive_message', ('{ipc}',), APART, secret=True, before=with_a_message),
    Attack('raise_semaphore', ('{ipc}',), APART, before=with_semaphore,
           effect=lambda stage: libc.semctl(stage.semaphores, 0, GETVAL) == 1),
    Attack('send_to_queue', ('{queue}',), APART, effect=posix_message_arrived, before=with_posix_queue),
    Attack('receive_from_queue', ('{queue}',), APART, secret=True, before=with_a_posix_message),
    Attack('remove_queue', ('{queue}',), APART, before=with_posix_queue),
)
def test_system_v_and_posix_ipc_are_apart(stages, attack, level):
    hold(stages, attack, level)


def with_shared_file(stage):
    path = f'/dev/shm/ringwall-attack-{secrets.token_hex(6)}'
    with open(path, 'w', encoding='utf-8') as file:
        file.write(stage.secret)
    stage.closing.callback(os.unlink, path)
    stage.names['shared'] = path


@rows(Attack('read', ('{shared}',), {'standard': 'EACCES', 'strict': 'ENOENT', 'maximum': 'ENOENT'}, secret=True,
             before=with_shared_file, title='read posix shared memory'))
def test_posix_shared_memory_is_apart(stages, attack, level):
    hold(stages, attack, level)


def abstract(kind):
    def before(stage):
        name = f'ringwall-attack-{secrets.token_hex(6)}'
        listener(stage, '\0' + name, kind)
        stage.names['abstract'] = '@' + name
    return before


def pathname(kind, folder='other', name='docker.sock'):
    def before(stage):
        path = getattr(stage, folder) / name
        listener(stage, str(path), kind)
        stage.names['socket'] = str(path)
    return before


ABSTRACT = {'standard': 'EPERM', 'strict': 'EPERM ECONNREFUSED', 'maximum': 'EPERM ECONNREFUSED'}
STREAM, DATAGRAM, PACKETS = socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_SEQPACKET


@rows(
    Attack('connect_stream', ('{abstract}',), ABSTRACT, effect=reached, before=abstract(STREAM)),
    Attack('connect_packets', ('{abstract}',), ABSTRACT, effect=reached, before=abstract(PACKETS)),
    Attack('connect_datagrams', ('{abstract}',), ABSTRACT, effect=reached, before=abstract(DATAGRAM)),
    Attack('send_unconnected', ('{abstract}',), ABSTRACT, effect=reached, before=abstract(DATAGRAM)),
    Attack('send_many_unconnected', ('{abstract}',), ABSTRACT, effect=reached, before=abstract(DATAGRAM)),
)
def test_abstract_sockets_are_apart(stages, attack, level):
    hold(stages, attack, level)


def by_path(name, kind, *arguments, **more):
    return Attack(name, arguments or ('{socket}',), 'ENOENT EACCES EPERM ECONNREFUSED', effect=reached,
                  before=pathname(kind), **more)


@rows(
    by_path('connect_stream', STREAM, title='docker.sock'),
    by_path('connect_packets', PACKETS),
    by_path('connect_datagrams', DATAGRAM),
    by_path('send_unconnected', DATAGRAM),
    by_path('send_many_unconnected', DATAGRAM),
    by_path('connect_stream', STREAM, '/proc/self/cwd/../other/docker.sock', title='docker.sock by a link of proc'),
    by_path('connect_stream', STREAM, '../other/docker.sock', title='docker.sock by dots'),
)
def test_sockets_by_path(stages, attack, level):
    hold(stages, attack, level)


READABLE_SOCKETS = 'before Landlock ABI 9 mounts do not close a socket in a tree that may be read (SECURITY.md)'


@rows(
    Attack('connect_stream', ('{socket}',), 'EACCES EPERM ECONNREFUSED', flags=('--ro', '{given}'), effect=reached,
           before=pathname(STREAM, 'given'), hole=READABLE_SOCKETS, hole_levels=SPACES, title='connect to a socket in a readable tree'),
    Attack('send_unconnected', ('{socket}',), 'EACCES EPERM ECONNREFUSED', flags=('--ro', '{given}'), effect=reached,
           before=pathname(DATAGRAM, 'given'), hole=READABLE_SOCKETS, hole_levels=SPACES, title='send to a socket in a readable tree'),
)
def test_a_socket_in_a_readable_tree_is_no_door(stages, attack, level):
    """Reading does not mean talking: a service that listens there would act for the box."""
    hold(stages, attack, level)


def in_run(kind, where='/run'):
    def before(stage):
        path = f'{where}/ringwall-attack-{secrets.token_hex(6)}.sock'
        listener(stage, path, kind)
        stage.closing.callback(os.unlink, path)
        stage.names['socket'] = path
    return before


@rows(
    Attack('connect_stream', ('{socket}',), 'ENOENT EPERM', effect=reached, before=in_run(STREAM), only='root', title='a service in run'),
    Attack('connect_stream', ('{socket}',), 'ENOENT EPERM', effect=reached, before=in_run(STREAM, '/tmp'), title='a service in tmp'),
    Attack('connect_stream', ('{socket}',), 'ENOENT EPERM', flags=('--read', 'broad'), effect=reached,
           before=in_run(STREAM, '/tmp'), title='a service in tmp with broad reading'),
    Attack('connect_stream', ('{socket}',), 'ENOENT EACCES EPERM', flags=('--read', 'broad'), effect=reached,
           before=pathname(STREAM), hole=READABLE_SOCKETS, hole_levels=SPACES, title='docker.sock with broad reading'),
)
def test_a_service_of_the_host_is_apart(stages, attack, level):
    hold(stages, attack, level)


def announced(variable, form, make):
    def before(stage):
        make(stage)
        stage.variables = {variable: stage.fill(form)}
    return before


@rows(
    Attack('connect_by_environment', ('DBUS_SESSION_BUS_ADDRESS',), 'ENOENT EACCES', effect=reached,
           before=announced('DBUS_SESSION_BUS_ADDRESS', 'unix:path={socket}', pathname(STREAM, 'other', 'bus'))),
    Attack('connect_by_environment', ('DBUS_SESSION_BUS_ADDRESS',), 'ENOENT EACCES EPERM', effect=reached,
           flags=('--env', 'DBUS_SESSION_BUS_ADDRESS'), title='D-Bus with its address handed on',
           before=announced('DBUS_SESSION_BUS_ADDRESS', 'unix:path={socket}', pathname(STREAM, 'other', 'bus'))),
    Attack('connect_by_environment', ('SSH_AUTH_SOCK',), 'ENOENT EACCES', effect=reached,
           before=announced('SSH_AUTH_SOCK', '{socket}', pathname(STREAM, 'other', 'agent'))),
)
def test_the_buses_of_the_host_are_apart(stages, attack, level):
    hold(stages, attack, level)


def with_key(stage):
    name = f'ringwall-attack-{secrets.token_hex(6)}'
    made = subprocess.run([stage.program, 'make_key', name, stage.secret], capture_output=True, text=True)
    assert made.returncode == 0, made.stdout
    stage.closing.callback(subprocess.run, [stage.program, 'drop_key', name], stdout=subprocess.DEVNULL)
    stage.names['keyname'] = name


@rows(
    Attack('read_key', ('{keyname}',), 'EPERM ENOSYS', secret=True, before=with_key),
    Attack('request_key', ('{keyname}',), 'EPERM ENOSYS', secret=True, before=with_key),
)
def test_keyrings_are_apart(stages, attack, level):
    hold(stages, attack, level)


@pytest.mark.parametrize('level', LEVELS)
def test_a_key_is_not_added(stages, level):
    def drop(stage):
        stage.closing.callback(subprocess.run, [stage.program, 'drop_key', 'ringwall-attack'], stdout=subprocess.DEVNULL)
    hold(stages, Attack('make_key', ('ringwall-attack', 'x'), 'EPERM ENOSYS', before=drop), level)
