"""Sessions of modern clients of `ringwall mcp --http`, whose protocol has none: keys that they send, or none."""
import re

import pytest
from test_mcp_http import META, SESSIONS, call, serve, server, text_of, token_file, tool, wait_for  # noqa: F401


def in_session(server, key, name, in_header=False, **arguments):
    """Returns the status, and the text or the error."""
    meta = META if in_header or not key else {**META, 'ringwall/session': key}
    header = {'Ringwall_Session': key} if in_header else {}
    status, _, reply = server.post(call('tools/call', _meta=meta, name=name, arguments=arguments), Mcp_Name=name,
                                   Mcp_Method='tools/call', MCP_Protocol_Version='2026-07-28', **header)
    return status, text_of(reply) if 'result' in reply else reply['error']['message']


def test_modern_clients_with_different_keys_have_boxes_of_their_own(server, workspace):
    (workspace / 'f').write_text('text\n')
    key = server.modern('server/discover')[2]['result']['_meta']['ringwall/session']
    assert re.fullmatch('[0-9a-f]{32}', key)
    assert server.modern('server/discover')[2]['result']['_meta']['ringwall/session'] != key
    assert in_session(server, key, 'Read', file_path='f') == (200, '1\ttext\n')
    assert in_session(server, key, 'Bash', command='echo mine >/tmp/note') == (200, 'exit: 0')
    for other in ('another', None):
        text = in_session(server, other, 'Write', file_path='f', content='lost')[1]
        assert f'refusing to overwrite {workspace}/f: Read it first' in text
        assert 'exit: 1' in in_session(server, other, 'Bash', command='cat /tmp/note 2>/dev/null')[1]
    assert in_session(server, key, 'Bash', in_header=True, command='cat /tmp/note') == (200, 'mine\nexit: 0')
    assert in_session(server, key, 'Write', in_header=True, file_path='f', content='new')[1].startswith('wrote 3 bytes')


def test_call_of_a_modern_client_without_a_key_has_a_box_that_ends_with_it(server):
    reply = server.modern('tools/call', name='Bash', arguments={'command': 'touch /tmp/x; echo out'})[2]
    answer, note = (part['text'] for part in reply['result']['content'])
    assert answer == 'out\nexit: 0'
    assert 'This call had a box of its own' in note and 'Ringwall-Session' in note
    assert in_session(server, None, 'Bash', command='ls /tmp') == (200, 'exit: 0')
    wait_for(lambda: server.boxes() == 1)


@pytest.mark.parametrize('key', ['', 'with space', 'a/b', 'x' * 65, 'caf\xe9'])
def test_invalid_session_key_is_refused(server, key):
    status, text = in_session(server, key or ' ', 'Bash', command='true', in_header=not key)
    assert (status, text) == (400, "the session key must be 1 to 64 letters, digits, '.', '_' or '-'")


def test_session_key_is_no_session_of_a_legacy_client(server):
    session = server.open()
    assert server.post(tool('Bash', command='echo mine >/tmp/note'), **session)[0] == 200
    assert 'exit: 1' in in_session(server, session['Mcp_Session_Id'], 'Bash', command='cat /tmp/note 2>&1')[1]
    assert server.post(call('ping'), Mcp_Session_Id='another')[0] == 404
    assert in_session(server, 'another', 'Bash', command='true') == (200, 'exit: 0')
    assert server.post(call('ping'), Mcp_Session_Id='another')[0] == 404


def test_session_with_a_background_command_outlives_newer_ones_without(server):
    assert in_session(server, 'busy', 'Bash', command='sleep 1000', run_in_background=True)[0] == 200
    for _ in range(SESSIONS + 10):
        server.open()
    assert in_session(server, 'busy', 'Bash', command='pgrep -x sleep >/dev/null; echo $?')[1] == '0\nexit: 0'
