"""What goes through egress comes out as it went in: every byte, each end of a connection when it ends, and delays no
longer than they were; and a name is found however the name server answers."""
import pytest

from internet import GOOD, HOLE, over_within
from names import Reply

LEVELS = ('strict', 'maximum')
MUCH = 8 << 20      # bytes
CLOSED = '93.184.216.240'       # nobody's; refuses what is no trap's
HTTP_ENDED = (22, 52, 56)       # curl: an error of HTTP; no answer; reset
KNOCK = '''
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
    """Runs programs/talk.py in a box: talk('echo.good.example', 7, 'reset')."""
    def start(name, port, *words):
        return boxed('/usr/bin/python3', programs / 'talk.py', name, str(port), *words, domains=[f'{name}:{port}'],
                     level=level)
    return start


@each_level
def test_much_goes_both_ways_at_once(talk, internet, level):
    result = talk('echo.good.example', 7, 'send', str(MUCH))
    assert result.returncode == 0, result.said
    sent, received = result.stdout.split()
    assert sent == received
    internet.settle()
    visit, = internet.visits_to('echo.good.example')
    assert (len(visit.received), visit.ended) == (MUCH, 'closed')


@each_level
@pytest.mark.parametrize('words', [b'\0binary', b'a line\n', b'word', b'HELO', b'\xe9' * 10000], ids=[
    'binary', 'line', 'word', 'word-like-a-method', 'no-control-byte'])
def test_first_bytes_are_not_waited_for_to_be_more(talk, level, words):
    """On a port that is for anything, a server may be waiting for just these."""
    result = talk('echo.good.example', 7, 'say', words.hex())
    assert (result.returncode, result.stdout) == (0, f'{words.hex()}\n'), result.said


@each_level
@pytest.mark.parametrize('words', ['last words\n', 'last words', ''], ids=['line', 'word', 'nothing'])
def test_server_ends_its_side_first(boxed, internet, level, words):
    result = boxed('nc', '-N', 'half.good.example', '7001', domains=['half.good.example:7001'], level=level,
                   input=words)
    assert (result.returncode, result.stdout) == (0, 'I have said all.\n'), result.stderr
    internet.settle()
    visit, = internet.visits_to('half.good.example')
    assert (visit.received, visit.ended) == (words.encode(), 'closed')


@each_level
@pytest.mark.parametrize('words', ['all words\n', 'all words', ''], ids=['line', 'word', 'nothing'])
def test_client_ends_its_side_first(boxed, level, words):
    result = boxed('nc', '-N', 'half.good.example', '7002', domains=['half.good.example:7002'], level=level,
                   input=words)
    assert (result.returncode, result.stdout) == (0, f'heard: {words}'), result.stderr


@each_level
def test_reset_by_the_server_is_a_reset(boxed, level):
    result = boxed('curl', '-sS', 'http://reset.good.example/', domains=['reset.good.example'], level=level)
    assert (result.returncode, result.stdout) == (56, 'begun'), result.said
    assert 'Connection reset by peer' in result.stderr


@each_level
def test_reset_by_the_client_is_a_reset(talk, internet, level):
    result = talk('echo.good.example', 7, 'reset')
    assert (result.returncode, result.stdout) == (0, 'a line\n'), result.said
    internet.settle()
    visit, = internet.visits_to('echo.good.example')
    assert (visit.received, visit.ended) == (b'a line\n', 'reset')


@each_level
def test_slow_answer_comes_as_it_is_sent(boxed, level):
    result = boxed('curl', '-sS', 'http://slow.good.example/', domains=['slow.good.example'], level=level)
    assert (result.returncode, result.stdout) == (0, 'slow\n'), result.said
    assert 0.4 < result.seconds < 3


@each_level
@pytest.mark.parametrize('name, site', [
    ('six.good.example', 'six.good.example'), ('four.good.example', 'four.good.example'),
    ('alias.good.example', GOOD), ('late.good.example', GOOD), ('long.good.example', GOOD)])
@pytest.mark.parametrize('family', ['-4', '-6'])
def test_name_is_found_however_it_is_answered(boxed, level, name, site, family):
    """A box has both families for every name, whichever its server has."""
    result = boxed('curl', '-sS', family, f'http://{name}/', domains=[name], level=level)
    assert (result.returncode, result.stdout) == (0, f'{site} over http\n'), result.said


@each_level
@pytest.mark.parametrize('name', ['failing.good.example', 'missing.good.example', 'silent.good.example'])
def test_allowed_name_that_nobody_knows_ends_in_an_error(boxed, internet, level, name):
    result = boxed('curl', '-sSf', '--max-time', '20', f'http://{name}/', domains=[name], level=level)
    assert result.returncode in HTTP_ENDED, result.said
    assert internet.visits == []


@pytest.mark.quick
@each_level
def test_server_that_is_not_there_ends_in_an_error_at_once(boxed, internet, level):
    internet.names.zone['closed.good.example'] = Reply(CLOSED)
    def attempt():
        return boxed('/usr/bin/python3', '-c', KNOCK, 'closed.good.example', '9999',
                     domains=['closed.good.example:9999'], level=level)
    result = attempt()
    assert result.returncode == 0 and result.stdout in ('refused\n', 'reset\n'), result.said
    assert over_within(2, result, attempt)


@each_level
@pytest.mark.parametrize('dead', [(CLOSED,), (HOLE[0],), HOLE], ids=['closed', 'hole', 'holes'])
def test_addresses_that_are_dead_are_passed_over(boxed, internet, level, dead):
    alive = internet.names.zone['half.good.example'].addresses[0]
    internet.names.zone['some.good.example'] = Reply(*dead, alive)
    def attempt():
        return boxed('nc', '-N', 'some.good.example', '7002', domains=['some.good.example:7002'], level=level,
                     input='words\n')
    result = attempt()
    assert (result.returncode, result.stdout) == (0, 'heard: words\n'), result.said
    assert over_within(3, result, attempt)
