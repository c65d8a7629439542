"""Every block of the pages is followed: commands are run, policies checked, programs compiled.

A test is one section of a page. reader.py says what the reader has; pages.py, what the blocks mean. README.md's two
commands are ./run and ./test themselves; other suites run them.
"""
import contextlib
import json
import os
import re
import urllib.error
import urllib.request

import pytest

from pages import matches, read_page
from reader import REPO, Reader

PAGES = ['README.md', 'CONTRIBUTING.md', 'SECURITY.md',
         *sorted(str(path.relative_to(REPO)) for path in (REPO / 'docs').rglob('*.md'))]
SECTIONS = [(page, section) for page in PAGES for section in read_page(REPO / page)]

# Commands that must fail, by a part of them, and the exit status: the page shows a refusal.
FAILING = {'git push': 128, 'echo 4 >> ~/datasets/numbers': 2, "cat ~/.ssh/id_ed25519'": 1}
# Commands that serve until they are ended, by a part of them.
SERVERS = ('jupyter notebook', 'npx vite', 'mcp --http')
# Commands that refuse where no cgroup can be made.
NEED_CGROUP = ('--memory', '--processes')


@pytest.fixture
def reader(home, build, internet):
    return Reader(home, build, internet)


def title(value):
    return value if isinstance(value, str) else re.sub(r'\W+', '-', value.title).strip('-').lower()


def prepare(reader, text):
    """Gives the reader what this section's text needs, or skips the test with the reason."""
    if os.geteuid() == 0 and any(program in text for program in ('postgresql', 'jupyter')):
        pytest.skip('Postgres and Jupyter refuse to run as root')
    if 'postgresql' in text and not os.path.exists('/usr/lib/postgresql'):
        pytest.skip('this machine has no Postgres')
    if ('-- claude' in text and not reader.has_claude()) or ('npx vite' in text and not reader.install_vite()):
        pytest.skip('npm could not install the programs of tests/docs/programs')
    return reader.ssh_agent() if 'SSH_AUTH_SOCK' in text else contextlib.nullcontext()


def fetch(url):
    request = urllib.request.Request(url, headers={'Accept': 'text/html'})     # as a browser does
    with urllib.request.urlopen(request, timeout=20) as answer:
        return answer.read().decode()


def check_server(command, said):
    """A browser on this machine gets a page from the server."""
    if 'vite' in command:
        assert 'The project' in fetch('http://127.0.0.1:5173/')
    elif 'jupyter' in command:
        assert 'Jupyter' in fetch(re.search(r'http://127\.0\.0\.1:8888/\?token=\w+', said)[0])
    elif 'unix:' not in command:
        with pytest.raises(urllib.error.HTTPError, match='401'):
            fetch('http://127.0.0.1:8765/mcp')


def follow_command(reader, command, expected):
    if any(part in command for part in SERVERS):
        with reader.serve(command, expected) as said:
            check_server(command, said)
        return
    status, output = reader.type(command)
    if any(part in command for part in NEED_CGROUP) and status == 125:
        assert 'cgroup' in output
        return
    assert status == next((code for part, code in FAILING.items() if part in command), 0), f'{command}\n{output}'
    assert not expected or matches(expected, output), f'{command}\nprints\n{output}'


def follow_block(reader, block):
    name = block.file_name()
    if block.language == 'console':
        for command, expected in block.commands():
            follow_command(reader, command, expected)
    elif block.language == 'yaml':
        path = reader.save(name or 'policy.yaml', block.text)
        status, output = reader.type(f'ringwall policy check {path.name}')
        assert status == 0, output
    elif block.language == 'json':
        json.loads(block.text)
    elif block.language in ('c', 'sh') and name:
        reader.save(name, block.text)


@pytest.mark.parametrize('page, section', [pytest.param(page, section, id=f'{page}-{title(section)}')
                                           for page, section in SECTIONS
                                           if (page, section.title) != ('README.md', 'Install and quick start')])
def test_section_can_be_followed(reader, page, section):
    with prepare(reader, ''.join(block.text for block in section.blocks)):
        for block in section.blocks:
            follow_block(reader, block)


@pytest.mark.parametrize('page', ['ringwall.1', 'ringwall-doctor.1', 'ringwall-policy.5'])
def test_blocks_of_a_man_page_are_policies_that_compile(reader, page):
    text = (REPO / f'man/{page}.scd.in').read_text()
    blocks = re.findall(r'^```\n(.*?)^```$', text, re.M | re.S)
    assert len(blocks) == (1 if page == 'ringwall-policy.5' else 0)
    for block in blocks:
        (reader.project / 'my-project').mkdir()
        reader.save('policy.yaml', block)
        status, output = reader.type('ringwall policy check policy.yaml')
        assert status == 0, output


# What README.md's section "Status" says that ringwall does with a key, and how that looks.
NOT_YET = {
    '`workspace_snapshot: true`':
        ('ringwall run --level maximum', 'security: {sandbox: {workspace_snapshot: true}}', 125),
    '`mode: accept-edits`, in `ringwall mcp`': ('ringwall mcp', 'mode: accept-edits', 125),
    '`session_timeout`, `idle_timeout`, in `ringwall mcp`':
        ('ringwall mcp', 'security: {sandbox: {session_timeout: 1h, idle_timeout: 1h}}', 125),
    '`pool_size`, `pool_max`': ('ringwall run', 'security: {sandbox: {pool_size: 1, pool_max: 2}}', 0),
    '`tools.modules.mcp.config.servers`':
        ('ringwall run', 'tools: {modules: {mcp: {config: {servers: {x: {command: touch, args: [started], '
                         'sandbox: {permissions: [process.exec], paths: {write: ["{workspace}"]}}}}}}}}', 0),
}
WORDS = {125: 'refuses to run', 0: ('accepts it, without effect', 'compiles the plan of each server, and starts none')}


@pytest.mark.parametrize('key', NOT_YET)
def test_readme_says_what_is_done_with_a_key_that_has_no_effect_yet(reader, key):
    table = dict(re.findall(r'^\| (.+?) \| (.+?) \|$', (REPO / 'README.md').read_text().split('## Status')[1], re.M))
    table = {name: text for name, text in table.items() if name.startswith('`')}
    assert set(table) == set(NOT_YET)
    command, policy, expected = NOT_YET[key]
    assert table[key] in WORDS[expected]
    reader.save('policy.yaml', policy)
    what = '' if 'mcp' in command else ' -- echo ran'
    status, output = reader.type(f'{command} -p policy.yaml{what}')
    assert status == expected and ('ran\n' in output) == (expected == 0), output
    assert not (reader.project / 'started').exists()
