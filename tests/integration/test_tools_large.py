"""The tools on large and odd input: a million files, files of 10 GB, fifos and sockets, names that are not UTF-8.

Memory stays bounded, the answers are clear, and no call blocks another one.
"""
import contextlib
import os
import pathlib
import shutil
import signal
import socket
import tempfile
import time

import pytest

from mcp_client import details
from test_mcp import Client

FILES, FOLDERS = 1000000, 1000
MEMORY_MAX = 200 << 20
SHARED_MEMORY = '/dev/shm'      # a million files are created there in seconds


def fill(folder):
    """Creates FILES empty files, a thousand in each directory. One of every hundred thousand is not empty."""
    files_per_folder = FILES // FOLDERS
    for number in range(FOLDERS):
        os.makedirs(f'{folder}/{number % 10}/d{number}')
        directory = os.open(f'{folder}/{number % 10}/d{number}', os.O_RDONLY)
        for name in range(files_per_folder):
            os.mknod(f'file{name}', 0o644, dir_fd=directory)
        os.close(directory)
        if number % 100 == 0:
            pathlib.Path(f'{folder}/{number % 10}/d{number}/file0').write_text('a needle\n', encoding='utf-8')


@pytest.fixture(scope='module', name='million')
def fixture_million():
    folder = tempfile.mkdtemp(prefix='of-a-test-', dir=SHARED_MEMORY if os.access(SHARED_MEMORY, os.W_OK) else None)
    fill(folder)
    yield pathlib.Path(folder)
    shutil.rmtree(folder)


@pytest.fixture(name='serve')
def fixture_serve(build, home):
    clients = []

    def start(workspace, *arguments):
        clients.append(Client(build, home, workspace, *arguments))
        return clients[-1]
    yield start
    for client in clients:
        with contextlib.suppress(BrokenPipeError):
            client.process.stdin.close()
        assert client.process.wait(timeout=20) == 0
        client.process.stdout.close()
        client.process.stderr.close()


def peak_memory(pid):
    line, = (line for line in pathlib.Path(f'/proc/{pid}/status').read_text(encoding='utf-8').splitlines()
             if line.startswith('VmHWM'))
    return int(line.split()[1]) << 10


def threads(pid):
    return len(os.listdir(f'/proc/{pid}/task'))


def send_call(client, number, tool, **arguments):
    client.send({'jsonrpc': '2.0', 'id': number, 'method': 'tools/call',
                 'params': {'name': tool, 'arguments': arguments}})


@pytest.mark.heavy
@pytest.mark.together('million')
@pytest.mark.long
def test_million_files_are_searched_in_bounded_memory(serve, million):
    signal.alarm(600)   # on a busy machine it takes longer than other tests may
    client = serve(million)
    result = client('Grep', pattern='needle', ignored=True)
    assert details(result) == {'files': 10, 'matches': 10, 'more': False}
    assert result['content'][0]['text'] == ''.join(f'{million}/0/d{number}/file0\n'
                                                   for number in range(0, FOLDERS, 100))
    found = client('Glob', pattern='**/file7')
    assert details(found) == {'matched': FOLDERS, 'shown': 100}
    assert details(client('Glob', pattern='*', limit=10000)) == {'matched': FILES, 'shown': 10000}
    everything = details(client('Grep', pattern='^', output_mode='count', head_limit=100000))
    assert everything == {'files': 10, 'matches': 10, 'more': False}
    assert peak_memory(client.worker_pid()) < MEMORY_MAX


@pytest.mark.heavy
@pytest.mark.together('million')
@pytest.mark.long
def test_search_blocks_no_other_call_and_ends_when_it_is_cancelled(serve, million):
    client = serve(million)
    client.refusal('Read', file_path='none')
    worker = client.worker_pid()
    start = time.monotonic()
    send_call(client, 'slow', 'Grep', pattern='no such thing')
    assert client.refusal('Read', file_path='none') == f'no such file: {million}/none'
    quick = time.monotonic() - start
    assert client.receive()['id'] == 'slow'
    duration = time.monotonic() - start
    assert quick < 0.7 * duration, f'a Read took {quick:.3f} s beside a Grep of {duration:.3f} s'

    send_call(client, 'unwanted', 'Grep', pattern='no such thing')
    assert client.refusal('Read', file_path='none')
    assert threads(worker) > 1
    client.send({'jsonrpc': '2.0', 'method': 'notifications/cancelled', 'params': {'requestId': 'unwanted'}})
    start = time.monotonic()
    while threads(worker) > 1 and time.monotonic() - start < duration:
        time.sleep(0.005)
    assert time.monotonic() - start < 0.7 * duration     # a tenth of a second on an idle machine
    assert client.ask('ping') == {}                      # the next message is not the answer of the cancelled call


@pytest.mark.parametrize('level', ['standard', 'strict', 'maximum'])
def test_box_that_cannot_fork_still_searches_with_threads(serve, workspace, level):
    policy = workspace.parent / 'p.yaml'
    policy.write_text('tools: {modules: {filesystem: }}\n', encoding='utf-8')
    for number in range(20):
        (workspace / f'd{number}').mkdir()
        (workspace / f'd{number}/f').write_text('needle\n', encoding='utf-8')
    client = serve(workspace, '--level', level, '-p', str(policy))
    assert details(client('Grep', pattern='needle')) == {'files': 20, 'matches': 20, 'more': False}
    assert details(client('Glob', pattern='f')) == {'matched': 20, 'shown': 20}


@pytest.mark.only_user
def test_search_works_if_no_thread_can_be_started(serve, workspace):
    """The limit of processes counts threads too. Here it allows only the keeper and the worker."""
    for number in range(200):
        (workspace / f'd{number}').mkdir()
        (workspace / f'd{number}/f').write_text('needle\n', encoding='utf-8')
    client = serve(workspace, '--processes', '1', '--level', 'strict')
    assert details(client('Grep', pattern='needle')) == {'files': 200, 'matches': 200, 'more': False}
    assert threads(client.worker_pid()) == 1


def test_huge_files_are_searched_in_bounded_memory(serve, workspace):
    """A file with a hole of 10 GB after some text: the text is searched, and the hole is skipped at once."""
    with open(workspace / 'huge', 'wb') as file:
        file.write(b'a needle\n' * 2000)
        file.truncate(10 << 30)
    with open(workspace / 'hole', 'wb') as file:
        file.truncate(10 << 30)
    # 45 MB
    (workspace / 'lines').write_text('a line of text\n' * 3000000 + 'needle at the end\n', encoding='utf-8')
    # one line
    (workspace / 'one').write_text('x' * (40 << 20) + ' needle', encoding='utf-8')
    client = serve(workspace)
    start = time.monotonic()
    assert client.text('Grep', pattern='needle', output_mode='count') == (
        f'{workspace}/huge:2000\n{workspace}/lines:1\n{workspace}/one:1\n')
    assert client.text('Grep', pattern='needle at',
                       output_mode='content') == f'{workspace}/lines:3000001:needle at the end\n'
    assert details(client('Glob', pattern='h*')) == {'matched': 2, 'shown': 2}
    assert client.text('Grep', pattern='text.needle at', multiline=True) == 'nothing matches'   # 16 MiB are searched
    assert '(1 large files were searched only in their first 16 MiB)' in client.text('Grep', pattern='line of',
                                                                                     multiline=True)
    assert 'hole is a binary file of 10737418240 bytes' in client.text('Read', file_path='hole')
    assert time.monotonic() - start < 60
    assert peak_memory(client.worker_pid()) < MEMORY_MAX


def test_fifos_sockets_and_symlink_loops_are_skipped_or_named_in_a_refusal(serve, workspace):
    os.mkfifo(workspace / 'fifo')
    with socket.socket(socket.AF_UNIX) as listener:
        previous = os.getcwd()
        os.chdir(workspace)     # the path of a socket must be short
        listener.bind('socket')
        os.chdir(previous)
    (workspace / 'a/b').mkdir(parents=True)
    (workspace / 'a/b/loop').symlink_to('../..')
    (workspace / 'self').symlink_to('.')
    (workspace / 'dangling').symlink_to('nowhere')
    (workspace / 'link').symlink_to('a/f')
    (workspace / 'a/f').write_text('needle\n', encoding='utf-8')
    client = serve(workspace)
    assert client.text('Grep', pattern='needle') == f'{workspace}/a/f\n'
    assert sorted(client.text('Glob', pattern='*').split()) == sorted(
        f'{workspace}/{name}' for name in ('a/b/loop', 'self', 'dangling', 'link', 'a/f'))
    assert client.refusal('Grep', pattern='x', path='fifo') == f'{workspace}/fifo is a fifo and cannot be searched'
    assert client.refusal('Grep',
                          pattern='x', path='socket') == f'{workspace}/socket is a socket and cannot be searched'
    assert client.refusal('Read', file_path='fifo') == f'{workspace}/fifo is a fifo and cannot be read'
    assert client.text('Grep', pattern='needle', path='link') == f'{workspace}/a/f\n'
    assert client.text('Grep', pattern='needle', path='a/b/loop/a/b/loop') == f'{workspace}/a/f\n'


@pytest.mark.only_root
def test_device_is_skipped_or_named_in_a_refusal(serve, workspace):
    os.mknod(workspace / 'zero', 0o666 | 0o020000, os.makedev(1, 5))
    client = serve(workspace)
    assert client.text('Grep', pattern='x') == 'nothing matches'
    assert client.text('Glob', pattern='*') == 'no file matches'
    assert client.refusal('Grep', pattern='x', path='zero') == f'{workspace}/zero is a device and cannot be searched'


def test_bytes_of_names_that_are_not_printable_text_are_escaped(serve, workspace):
    for name in (b'new\nline', b'latin\xe9', b'esc\x1b[2J', b'tab\there', 'ünï'.encode()):
        with open(os.fsencode(workspace) + b'/' + name, 'wb') as file:
            file.write(b'needle caf\xe9\n')
    client = serve(workspace)
    shown = ('esc\\x1b[2J', 'latin\\xe9', 'new\\x0aline', 'tab\\x09here', 'ünï')
    assert client.text('Grep', pattern='needle') == ''.join(f'{workspace}/{name}\n' for name in shown)
    assert client.text('Grep', pattern='needle', output_mode='content') == ''.join(
        f'{workspace}/{name}:1:needle caf\ufffd\n' for name in shown)
    assert sorted(client.text('Glob', pattern='*').splitlines()) == sorted(f'{workspace}/{name}' for name in shown)


def test_search_stops_at_a_depth_of_100_and_reports_it(serve, workspace):
    before = os.getcwd()
    os.chdir(workspace)
    for _ in range(150):
        os.mkdir('d')
        os.chdir('d')
        pathlib.Path('f').write_text('needle\n', encoding='utf-8')
    os.chdir(before)
    client = serve(workspace)
    result = client('Grep', pattern='needle')
    assert details(result)['files'] == 100
    assert result['content'][0]['text'].endswith('(1 directories could not be read)\n')


@pytest.mark.heavy
def test_pattern_that_takes_too_long_is_stopped_and_blocks_no_other_call(serve, workspace):
    (workspace / 'f').write_text('a' * 48 + ' ' + 'a' * 3000000, encoding='utf-8')
    client = serve(workspace)
    assert client.refusal('Grep', pattern='(a|aa)+[bc]') == 'the pattern takes too long; make it simpler'
    send_call(client, 'slow', 'Grep', pattern='[a ]*[a ]*[xy]')
    start = time.monotonic()
    assert client.refusal('Read', file_path='none')     # answered before the slow call
    reply = client.receive()
    assert reply['id'] == 'slow' and time.monotonic() - start < 30
