"""What each agent would show its model of the results of `ringwall mcp`: everything that the tool says.

This needs no agent: clients.py says what each one shows, and test_clients.py that this is true.
"""
import base64
import re
import time

import pytest

from clients import CLIENTS, shown_to_model
from mcp_client import Client, Stdio
from picture import png

pytestmark = pytest.mark.together('shown')
PICTURE = png(16)
FILES = {'notes': 'first\nsecond "line" <b>\n', 'folder/program.py': 'pass\n'}
CALLS = (       # a tool, its arguments, and text that its answer must have; WORK is the workspace
    ('Read', {'file_path': 'notes'}, '1\tfirst\n2\tsecond "line" <b>\n'),
    ('Write', {'file_path': 'new', 'content': 'one\ntwo\n'}, 'WORK/new'),
    ('Edit', {'file_path': 'new', 'old_string': 'two', 'new_string': 'three'}, 'WORK/new'),
    ('MultiEdit', {'file_path': 'new', 'edits': [{'old_string': 'three', 'new_string': 'four'}]}, '+four'),
    ('List', {'path': 'folder'}, 'program.py  5 bytes'),
    ('Move', {'source': 'new', 'destination': 'newer'}, 'WORK/newer'),
    ('Glob', {'pattern': '**/*.py'}, 'WORK/folder/program.py'),
    ('Grep', {'pattern': 'sec.nd', 'output_mode': 'content'}, 'WORK/notes:2:second "line" <b>'),
    ('Bash', {'command': 'echo out; echo problem >&2; exit 3'}, 'problem'),
    ('Bash', {'command': 'echo out; exit 3'}, 'exit: 3'),
)
ERRORS = (
    ('Read', {'file_path': 'missing'}, 'no such file: WORK/missing'),
    ('Edit', {'file_path': 'notes', 'old_string': 'no such text', 'new_string': ''}, ''),
    ('Bash', {'command': 'sudo true'}, 'sudo'),
    ('WebFetch', {'url': 'http://127.0.0.1/'}, '127.0.0.1'),
)
ERAS = 'legacy', 'modern'


@pytest.fixture(scope='module', params=ERAS)
def server(request, build, tmp_path_factory):
    """A client of a server with FILES in its workspace: server(TOOL, **ARGUMENTS) -> result; and the workspace."""
    work = tmp_path_factory.mktemp('shown') / 'work'
    for name, text in FILES.items():
        (work / name).parent.mkdir(parents=True, exist_ok=True)
        (work / name).write_text(text)
    (work / 'red.png').write_bytes(PICTURE)
    transport = Stdio([build / 'ringwall', 'mcp', '--workspace', work])
    yield Client(transport, modern=request.param == 'modern'), work
    assert transport.close() == 0


@pytest.fixture(scope='module')
def results(server):
    """The result of each call: [(TOOL, ARGUMENTS, text that it must have, result)]."""
    client, work = server
    return [(tool, arguments, text.replace('WORK', str(work)), client(tool, **arguments))
            for tool, arguments, text in CALLS + ERRORS]


def shown_text(client, result, tool, arguments=None):
    """All text that the model is shown. Inside JSON it is quoted; then this has it unquoted too."""
    text = '\n'.join(part[1] for part in shown_to_model(client, result, tool, arguments) if part[0] == 'text')
    return text + '\n' + re.sub(r'\\(["\\nt])', lambda match: {'n': '\n', 't': '\t'}.get(match[1], match[1]), text)


clients = pytest.mark.parametrize('client', CLIENTS)


@clients
def test_model_is_shown_all_that_a_tool_says(results, client):
    for tool, arguments, text, result in results:
        shown = shown_text(client, result, tool, arguments)
        assert text in shown, (tool, result, shown)
        for block in result['content']:
            assert block['text'].strip() in shown, (tool, result, shown)


def test_results_and_errors_are_told_apart(results):
    assert [result.get('isError', False) for *_, result in results] == [False] * len(CALLS) + [True] * len(ERRORS)


@clients
def test_model_is_shown_a_picture(server, client):
    result, data = server[0]('Read', file_path='red.png'), base64.b64encode(PICTURE).decode()
    if client == 'codex-code':      # the model's program has it, and can show it as a picture
        assert data in shown_text(client, result, 'Read')
    else:
        assert ('image', 'image/png', data) in shown_to_model(client, result, 'Read')


@clients
def test_model_can_name_a_command_in_the_background(server, client):
    """Its id is in the text, and with it the model gets the output and ends the command."""
    result = server[0]('Bash', command='echo early; sleep 100', run_in_background=True)
    number = re.search('[0-9a-f]{16,}', shown_text(client, result, 'Bash'))
    assert number, result
    output = ''
    for _ in range(100):
        output += shown_text(client, server[0]('BashOutput', shell_id=number[0]), 'BashOutput')
        if 'early' in output:
            break
        time.sleep(0.1)
    else:
        raise AssertionError(output)
    result = server[0]('KillShell', shell_id=number[0])
    assert not result.get('isError') and result['content'][0]['text'] in shown_text(client, result, 'KillShell')


@clients
def test_model_is_not_shown_the_fields_for_programs(results, client):
    """They are in _meta. Gemini CLI and Qwen Code show errors whole."""
    for tool, arguments, _, result in results[:len(CALLS)]:
        shown = shown_text(client, result, tool, arguments)
        assert '"ringwall/' not in shown and 'exit_code' not in shown and 'first_line' not in shown, shown
