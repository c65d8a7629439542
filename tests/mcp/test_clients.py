"""The clients that people use, from the npm registry: SDK version 1, version 2 in each way to find out about the era, and
the inspector."""
import json
import os
import pathlib
import platform
import shutil
import subprocess

import pytest

HERE = pathlib.Path(__file__).resolve().parent
BUILD = pathlib.Path(os.environ.get('RINGWALL_BUILD') or HERE.parents[1] / 'build').resolve()


@pytest.fixture(scope='session')
def scripts():
    """The scripts of this folder beside the packages that its lock file names."""
    if not shutil.which('npm') or int(subprocess.run(['node', '-p', 'process.versions.node.split(".")[0]'], capture_output=True,
                                                     text=True, check=True).stdout) < 20:
        pytest.skip('needs Node 20 or newer, with npm')
    folder = BUILD / 'mcp-clients'
    folder.mkdir(exist_ok=True)
    for name in ('package.json', 'package-lock.json', '.npmrc', 'session.mjs', 'v2.mjs'):
        shutil.copy(HERE / name, folder)
    result = subprocess.run(['npm', 'ci', '--no-progress'], cwd=folder, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    return folder


@pytest.fixture
def inspector(scripts, tmp_path):
    """The inspector's command line, with the Node that it needs: inspector('legacy', '--method', …) -> result."""
    node = scripts / f'node_modules/node-linux-{dict(x86_64="x64", aarch64="arm64").get(platform.machine())}/bin/node'
    if not node.exists():
        pytest.skip(f'there is no Node 22 for {platform.machine()} among the packages')
    work, home = tmp_path / 'work', tmp_path / 'home'
    work.mkdir()
    home.mkdir()
    (work / 'f').write_text('one\ntwo\n')

    def ask(era, *arguments):
        result = subprocess.run([node, scripts / 'node_modules/.bin/mcp-inspector', '--cli', *arguments, '--protocol-era', era,
                                 '--format', 'json', '-q', '--', BUILD / 'ringwall', 'mcp', '--workspace', work],
                                env={'HOME': str(home), 'PATH': os.environ['PATH']}, cwd=home, capture_output=True, text=True,
                                timeout=100, check=False)
        assert result.returncode == 0, result.stderr + result.stdout
        return json.loads(result.stdout)['result']
    return ask


@pytest.mark.parametrize('level', ['standard', 'strict', 'maximum'])
@pytest.mark.parametrize('client', ['v1', 'legacy', 'auto', 'modern'])
def test_a_session(scripts, tmp_path, client, level):
    result = subprocess.run(['node', scripts / 'session.mjs', client, BUILD / 'ringwall', 'mcp', '--level', level, '--workspace',
                             tmp_path], capture_output=True, text=True, timeout=100, check=False)
    assert result.returncode == 0, result.stderr
    said = json.loads(result.stdout)
    text = {name: answer['content'][0]['text'] for name, answer in said.items() if isinstance(answer, dict)}
    assert said['tools'] == ['Read', 'Write', 'Edit', 'Glob', 'Grep', 'Bash', 'BashOutput', 'KillShell', 'WebFetch']
    assert text['write'] == f'wrote 8 bytes to {tmp_path}/dir/f' and text['read'] == '1\tone\n2\ttwo\n'
    assert said['edit']['structuredContent'] == {'path': f'{tmp_path}/dir/f', 'replacements': 1}
    assert (text['glob'], text['grep']) == (f'{tmp_path}/dir/f\n', f'{tmp_path}/dir/f:2:2\n')
    assert text['bash'] == 'one\n2\nexit: 3' and not said['bash']['isError']
    assert said['outside']['isError'] and text['outside'].startswith('path is outside workspace root')
    assert said['wrong']['isError'] and said['unknown'] == -32602 and said['many'] == 50
    assert (tmp_path / 'dir/f').read_text() == 'one\n2\n'


ERAS = pytest.mark.parametrize('era', ['legacy', 'auto', 'modern'])


@ERAS
def test_the_inspector_finds_nothing_wrong_with_the_tools(inspector, era):
    """With --strict it fails on a schema that some clients would not understand."""
    tools = inspector(era, '--method', 'tools/list', '--strict')['tools']
    assert [tool['name'] for tool in tools] == ['Read', 'Write', 'Edit', 'Glob', 'Grep', 'Bash', 'BashOutput', 'KillShell']
    assert all(len(tool['annotations']) >= 4 and tool['outputSchema']['type'] == 'object' for tool in tools)


@ERAS
def test_the_inspector_reads_a_file(inspector, tmp_path, era):
    answer = inspector(era, '--method', 'tools/call', '--tool-name', 'Read', '--tool-arg', 'file_path=f')
    assert answer['content'] == [{'type': 'text', 'text': '1\tone\n2\ttwo\n'}] and not answer['isError']
    assert answer['structuredContent'] == {'path': f'{tmp_path}/work/f', 'first_line': 1, 'lines': 2, 'more': False}


@ERAS
def test_the_inspector_puts_load_on(inspector, era):
    summary = inspector(era, '--method', 'tools/call', '--tool-name', 'Read', '--tool-arg', 'file_path=f', '--load',
                        '--load-requests', '200')
    assert {name: summary[name] for name in ('requests', 'ok', 'toolErrors', 'errors')} == {
        'requests': 200, 'ok': 200, 'toolErrors': 0, 'errors': 0}
