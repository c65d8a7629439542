"""Egress passes on a connection faithfully: every byte, EOF and resets in each direction, without added delay. It finds
a name in whatever way the name server answers."""
import pytest

from fake_internet import GOOD, BLACK_HOLE, took_less_than
from fake_dns import Reply

LEVELS = ('strict', 'maximum')
LARGE = 8 << 20     # bytes
CLOSED = '93.184.216.240'       # an address without a server, except on the ports of the trap
CURL_ERRORS = (22, 52, 56)      # curl's exit status for an HTTP error, an empty answer, a reset
CONNECT = '''
import socket, sys
try:
    with socket.create_connection((sys.argv[1], int(sys.argv[2])), 5) as connection:
        connection.sendall(b"knock")
        print(connection.recv(100) or "closed")
except ConnectionRefusedError:
    print("refused")
except ConnectionResetError:
    print("reset")
'''

each_level = pytest.mark.parametrize('level', LEVELS)


@pytest.fixture
def talk(boxed, programs, level):
    """Runs programs/echo_client.py in a box: talk('echo.good.example', 7, 'reset')."""
    def start(name, port, *words):
        return boxed('/usr/bin/python3', programs / 'echo_client.py', name, str(port), *words,
                     domains=[f'{name}:{port}'],
                     level=level)
    return start


@each_level
def test_large_data_passes_in_both_directions_at_once(talk, internet, level):
    result = talk('echo.good.example', 7, 'send', str(LARGE))
    assert result.returncode == 0, result.output
    sent, received = result.stdout.split()
    assert sent == received
    internet.settle()
    visit, = internet.visits_to('echo.good.example')
    assert (len(visit.received), visit.ended) == (LARGE, 'closed')


@each_level
@pytest.mark.parametrize('data', [b'\0binary', b'a line\n', b'word', b'HELO', b'\xe9' * 10000], ids=[
    'binary', 'line', 'word', 'word-like-a-method', 'no-control-byte'])
def test_first_bytes_are_passed_on_without_waiting_for_more(talk, level, data):
    """On a port other than 80 and 443 these may be all that the client sends before it waits for an answer."""
    result = talk('echo.good.example', 7, 'say', data.hex())
    assert (result.returncode, result.stdout) == (0, f'{data.hex()}\n'), result.output


@each_level
@pytest.mark.parametrize('text', ['last words\n', 'last words', ''], ids=['line', 'word', 'nothing'])
def test_server_closes_its_side_first(boxed, internet, level, text):
    result = boxed('nc', '-N', 'half.good.example', '7001', domains=['half.good.example:7001'], level=level,
                   input=text)
    assert (result.returncode, result.stdout) == (0, 'I have said all.\n'), result.stderr
    internet.settle()
    visit, = internet.visits_to('half.good.example')
    assert (visit.received, visit.ended) == (text.encode(), 'closed')


@each_level
@pytest.mark.parametrize('text', ['all words\n', 'all words', ''], ids=['line', 'word', 'nothing'])
def test_client_closes_its_side_first(boxed, level, text):
    result = boxed('nc', '-N', 'half.good.example', '7002', domains=['half.good.example:7002'], level=level,
                   input=text)
    assert (result.returncode, result.stdout) == (0, f'heard: {text}'), result.stderr


@each_level
def test_client_gets_a_reset_by_the_server(boxed, level):
    result = boxed('curl', '-sS', 'http://reset.good.example/', domains=['reset.good.example'], level=level)
    assert (result.returncode, result.stdout) == (56, 'begun'), result.output
    assert 'Connection reset by peer' in result.stderr


@each_level
def test_server_gets_a_reset_by_the_client(talk, internet, level):
    result = talk('echo.good.example', 7, 'reset')
    assert (result.returncode, result.stdout) == (0, 'a line\n'), result.output
    internet.settle()
    visit, = internet.visits_to('echo.good.example')
    assert (visit.received, visit.ended) == (b'a line\n', 'reset')


@each_level
def test_slow_answer_is_passed_on_without_added_delay(boxed, level):
    result = boxed('curl', '-sS', 'http://slow.good.example/', domains=['slow.good.example'], level=level)
    assert (result.returncode, result.stdout) == (0, 'slow\n'), result.output
    assert 0.4 < result.seconds < 3


@each_level
@pytest.mark.parametrize('name, site', [
    ('six.good.example', 'six.good.example'), ('four.good.example', 'four.good.example'),
    ('alias.good.example', GOOD), ('late.good.example', GOOD), ('long.good.example', GOOD)])
@pytest.mark.parametrize('family', ['-4', '-6'])
def test_name_is_reached_over_ipv4_and_ipv6_whatever_its_server_has(boxed, level, name, site, family):
    """A name has addresses of both families in a box, also if its server has only one, or the name is a CNAME, or the
    name server's reply is late or truncated."""
    result = boxed('curl', '-sS', family, f'http://{name}/', domains=[name], level=level)
    assert (result.returncode, result.stdout) == (0, f'{site} over http\n'), result.output


@each_level
@pytest.mark.parametrize('name', ['failing.good.example', 'missing.good.example', 'silent.good.example'])
def test_allowed_name_that_cannot_be_resolved_gives_an_error(boxed, internet, level, name):
    result = boxed('curl', '-sSf', '--max-time', '20', f'http://{name}/', domains=[name], level=level)
    assert result.returncode in CURL_ERRORS, result.output
    assert internet.visits == []


@pytest.mark.quick
@each_level
def test_closed_port_of_an_allowed_name_gives_an_error_at_once(boxed, internet, level):
    internet.names.zone['closed.good.example'] = Reply(CLOSED)
    def attempt():
        return boxed('/usr/bin/python3', '-c', CONNECT, 'closed.good.example', '9999',
                     domains=['closed.good.example:9999'], level=level)
    result = attempt()
    assert result.returncode == 0 and result.stdout in ('refused\n', 'reset\n'), result.output
    assert took_less_than(2, result, attempt)


@each_level
@pytest.mark.parametrize('dead', [(CLOSED,), (BLACK_HOLE[0],), BLACK_HOLE], ids=['closed', 'hole', 'holes'])
def test_dead_addresses_of_a_name_are_skipped(boxed, internet, level, dead):
    alive = internet.names.zone['half.good.example'].addresses[0]
    internet.names.zone['some.good.example'] = Reply(*dead, alive)
    def attempt():
        return boxed('nc', '-N', 'some.good.example', '7002', domains=['some.good.example:7002'], level=level,
                     input='words\n')
    result = attempt()
    assert (result.returncode, result.stdout) == (0, 'heard: words\n'), result.output
    assert took_less_than(3, result, attempt)
