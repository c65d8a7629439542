"""Real clients from the npm registry: SDK version 1, SDK version 2 in each of its modes of choosing the era, and the
inspector."""
import json
import os
import pathlib
import subprocess
import time

import pytest

from mcp_client import details

TOOLS = ['Read', 'Write', 'Edit', 'MultiEdit', 'NotebookEdit', 'List', 'Move', 'Glob', 'Grep', 'Bash', 'BashOutput',
         'KillShell', 'WebFetch']


@pytest.fixture
def inspector(build, scripts, node, tmp_path):
    """Runs the inspector's command line with the Node that it needs: inspector('legacy', '--method', …) -> result."""
    work, home = tmp_path / 'work', tmp_path / 'home'
    work.mkdir()
    home.mkdir()
    (work / 'f').write_text('one\ntwo\n')

    def run(era, *arguments):
        result = subprocess.run([node, scripts / 'node_modules/.bin/mcp-inspector', '--cli', *arguments,
                                 '--protocol-era', era,
                                 '--format', 'json', '-q', '--', build / 'ringwall', 'mcp', '--workspace', work],
                                env={'HOME': str(home), 'PATH': os.environ['PATH']}, cwd=home, capture_output=True,
                                text=True,
                                timeout=100, check=False)
        assert result.returncode == 0, result.stderr + result.stdout
        return json.loads(result.stdout)['result']
    return run


def check_session(result, workspace):
    """Checks the output of sdk_session.mjs, and returns it."""
    assert result.returncode == 0, result.stderr
    output = json.loads(result.stdout)
    text = {name: answer['content'][0]['text'] for name, answer in output.items() if isinstance(answer, dict)}
    assert output['tools'] == TOOLS
    assert text['write'] == f'wrote 8 bytes to {workspace}/dir/f' and text['read'] == '1\tone\n2\ttwo\n'
    assert details(output['edit']) == {'path': f'{workspace}/dir/f', 'replacements': 1}
    assert (text['glob'], text['grep']) == (f'{workspace}/dir/f\n', f'{workspace}/dir/f:2:2\n')
    assert text['bash'] == 'one\n2\nexit: 3' and not output['bash']['isError']
    assert output['outside']['isError'] and text['outside'].startswith(('no such file', 'cannot '))
    assert output['wrong']['isError'] and output['unknown'] == -32602 and output['many'] == 50
    assert (workspace / 'dir/f').read_text() == 'one\n2\n'
    assert text['slow'] == 'late\nexit: 0'
    assert (output['call'], output['command']) == ('cancelled', 'killed')
    return output


LEVELS = pytest.mark.parametrize('level', ['standard', 'strict', 'maximum'])
CLIENTS = pytest.mark.parametrize('client', ['v1', 'legacy', 'auto', 'modern'])


@LEVELS
@CLIENTS
def test_session_over_stdio(build, scripts, tmp_path, client, level):
    check_session(subprocess.run(['node', scripts / 'sdk_session.mjs', client, build / 'ringwall', 'mcp', '--level',
                                  level,
                                  '--workspace', tmp_path], capture_output=True, text=True, timeout=100, check=False),
                  tmp_path)


def count_boxes(process):
    """The number of boxes of tools: the broker's children, without the first, which is the box of the server."""
    return len(pathlib.Path(f'/proc/{process.pid}/task/{process.pid}/children').read_text().split()) - 1


@LEVELS
@CLIENTS
def test_session_over_http(scripts, serve, token, tmp_path, client, level):
    """A legacy client has its own box until its DELETE; a modern one keeps the box of its key for a while."""
    address, process = serve('--level', level)
    output = check_session(subprocess.run(['node', scripts / 'sdk_session.mjs', client, address],
                                          env={**os.environ, 'TOKEN': token},
                                          capture_output=True, text=True, timeout=100, check=False), tmp_path / 'work')
    has_session = client in ('v1', 'legacy')
    assert ('session' in output) == has_session
    deadline, expected = time.monotonic() + 10, 1 if has_session else 2
    while count_boxes(process) != expected and time.monotonic() < deadline:
        time.sleep(0.02)
    assert count_boxes(process) == expected


ERAS = pytest.mark.parametrize('era', ['legacy', 'auto', 'modern'])


@ERAS
def test_inspector_accepts_the_schemas_of_the_tools(inspector, era):
    """With --strict it fails on a schema that some clients do not understand."""
    tools = inspector(era, '--method', 'tools/list', '--strict')['tools']
    assert [tool['name'] for tool in tools] == TOOLS
    assert all(len(tool['annotations']) >= 4 and 'outputSchema' not in tool for tool in tools)


@ERAS
def test_inspector_reads_a_file(inspector, tmp_path, era):
    answer = inspector(era, '--method', 'tools/call', '--tool-name', 'Read', '--tool-arg', 'file_path=f')
    assert answer['content'] == [{'type': 'text', 'text': '1\tone\n2\ttwo\n'}] and not answer['isError']
    assert details(answer) == {'path': f'{tmp_path}/work/f', 'first_line': 1, 'lines': 2, 'more': False}


@ERAS
def test_inspector_makes_200_calls_without_errors(inspector, era):
    summary = inspector(era, '--method', 'tools/call', '--tool-name', 'Read', '--tool-arg', 'file_path=f', '--load',
                        '--load-requests', '200')
    assert {name: summary[name] for name in ('requests', 'ok', 'toolErrors', 'errors')} == {
        'requests': 200, 'ok': 200, 'toolErrors': 0, 'errors': 0}


@ERAS
def test_inspector_lists_the_tools_over_http(scripts, node, serve, token, tmp_path, era):
    address, _ = serve()
    result = subprocess.run([node, scripts / 'node_modules/.bin/mcp-inspector', '--cli', '--method', 'tools/list',
                             '--strict',
                             '--protocol-era', era, '--format', 'json', '-q', '--transport', 'http', '--server-url',
                             address,
                             '--header', f'Authorization: Bearer {token}'],
                            env={'HOME': str(tmp_path), 'PATH': os.environ['PATH']}, cwd=tmp_path, capture_output=True,
                            text=True,
                            timeout=100, check=False)
    assert result.returncode == 0, result.stderr + result.stdout
    assert [tool['name'] for tool in json.loads(result.stdout)['result']['tools']] == TOOLS
