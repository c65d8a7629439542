"""Real agents with `ringwall mcp`: what their model is shown after each call of a tool.

Each agent runs once and makes all the calls of SCRIPT; the tests look at what its model server received.
"""
import base64
import json

import pytest

from agents import AGENTS
from picture import png

pytestmark = [pytest.mark.long, pytest.mark.heavy]
SCRIPT = {
    'read': ('Read', {'file_path': 'notes'}),
    'command': ('Bash', {'command': 'echo sum: $((40 + 2)); echo problem >&2; exit 3'}),
    'grep': ('Grep', {'pattern': 'sec.nd', 'output_mode': 'content'}),
    'glob': ('Glob', {'pattern': '**/*.py'}),
    'picture': ('Read', {'file_path': 'red.png'}),
    'missing': ('Read', {'file_path': 'missing'}),
    'outside': ('Read', {'file_path': '../secret'}),
    'write': ('Write', {'file_path': 'new', 'content': 'one\ntwo\n'}),
    'edit': ('Edit', {'file_path': 'new', 'old_string': 'two', 'new_string': 'three'}),
}
PICTURE = png(16)


@pytest.fixture(scope='module', params=[pytest.param(name, marks=pytest.mark.together(name)) for name in AGENTS])
def agent(request):
    return request.param


@pytest.fixture(scope='module')
def session(agent, start_agent, build, tmp_path_factory):
    """Runs the agent: (its workspace, {call: parts})."""
    home = tmp_path_factory.mktemp(agent) / 'home'
    work = home / 'work'
    (work / 'folder').mkdir(parents=True)
    (home / 'secret').write_text('not for the agent\n')
    (work / 'notes').write_text('first\nsecond line\n')
    (work / 'folder/program.py').write_text('pass\n')
    (work / 'red.png').write_bytes(PICTURE)
    shown = start_agent(agent, home, work, [build / 'ringwall', 'mcp', '--workspace', work], list(SCRIPT.values()))
    return work, dict(zip(SCRIPT, shown))


@pytest.fixture
def shown(session):
    return session[1]


def has_text(parts, text):
    """Whether one of the parts has this text, as it is or in a JSON string."""
    quoted = json.dumps(text, ensure_ascii=False)[1:-1]
    return any(part[0] == 'text' and (text in part[1] or quoted in part[1]) for part in parts)


def test_model_reads_a_file(shown):
    assert has_text(shown['read'], '1\tfirst\n2\tsecond line\n'), shown['read']


def test_model_sees_output_and_status_of_a_command(shown):
    for text in 'sum: 42', 'problem', 'exit: 3':
        assert has_text(shown['command'], text), shown['command']


def test_model_sees_the_lines_that_match(session):
    work, shown = session
    assert has_text(shown['grep'], f'{work}/notes:2:second line'), shown['grep']


def test_model_sees_the_names_of_files(session):
    work, shown = session
    assert has_text(shown['glob'], f'{work}/folder/program.py'), shown['glob']


def test_model_sees_a_picture(shown, agent):
    data = base64.b64encode(PICTURE).decode()
    if agent == 'codex-code':       # its program prints the result as text; with image() it would be a picture
        assert has_text(shown['picture'], data), shown['picture']
    else:
        assert ('image', 'image/png', data) in shown['picture'], shown['picture']


def test_model_sees_why_a_call_failed(session):
    work, shown = session
    assert has_text(shown['missing'], f'no such file: {work}/missing'), shown['missing']


def test_model_does_not_see_a_file_outside(shown):
    assert not has_text(shown['outside'], 'not for the agent'), shown['outside']


def test_agent_writes_and_edits(session):
    work, shown = session
    assert has_text(shown['write'], f'wrote 8 bytes to {work}/new'), shown['write']
    assert (work / 'new').read_text() == 'one\nthree\n', shown['edit']


def test_model_is_not_shown_the_fields_for_programs(shown):
    """They are for clients, in _meta of each result."""
    for call, parts in shown.items():
        if call not in ('missing', 'outside'):      # Gemini CLI and Qwen Code show an error whole
            assert not has_text(parts, '"ringwall/') and not has_text(parts, 'first_line'), parts
