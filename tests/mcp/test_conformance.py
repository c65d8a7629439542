"""The conformance suite of the protocol's authors, in both eras: against fixture.c, which has what the suite asks for on our
own server; and, where no fixtures are needed, against ringwall as people run it."""
import contextlib
import json
import re
import socket
import subprocess
import threading

import pytest

BOTH = '''completion-complete tools-list tools-call-simple-text tools-call-image tools-call-audio tools-call-embedded-resource
    tools-call-mixed-content tools-call-error tools-call-with-progress server-sse-multiple-streams resources-list
    resources-read-text resources-read-binary resources-templates-read prompts-list prompts-get-simple prompts-get-with-args
    prompts-get-embedded-resource prompts-get-with-image dns-rebinding-protection'''.split()
LEGACY = '''server-initialize logging-set-level ping tools-call-with-logging tools-call-sampling tools-call-elicitation
    elicitation-sep1034-defaults elicitation-sep1330-enums resources-subscribe resources-unsubscribe'''.split()
INPUT_REQUIRED = '''basic-elicitation basic-sampling basic-list-roots request-state multiple-input-requests multi-round
    missing-input-response non-tool-request result-type unsupported-methods tampered-state capability-check ignore-extra-params
    validate-input'''.split()
MODERN = ['server-stateless', 'sep-2164-resource-not-found', 'caching',
          *(f'input-required-result-{name}' for name in INPUT_REQUIRED)]
# Those that do not count yet; of the extension `tasks`, which we do not have, nothing is asked.
UNSCORED = {'2025-11-25': ['server-session-lifecycle', 'server-sse-polling', 'json-schema-2020-12'],
            '2026-07-28': ['json-schema-2020-12', 'http-header-validation', 'http-custom-header-server-validation']}
SCORED = {'2025-11-25': BOTH + LEGACY, '2026-07-28': BOTH + MODERN}
SUCCESSES = {'2025-11-25': 69, '2026-07-28': 120}   # checks of those that count


def run_suite(node, scripts, output, *arguments):
    """What it said, and the checks of each scenario by its name."""
    script = scripts / 'node_modules/@modelcontextprotocol/conformance/dist/index.js'
    result = subprocess.run([node, script, 'server', '-o', output, *arguments], capture_output=True, text=True, timeout=300,
                            check=False)
    found = {}
    for path in output.glob('server-*/checks.json'):
        name = re.fullmatch(r'server-(.*)-\d{4}-\d\d-\d\dT[\d-]+Z', path.parent.name)[1]
        found[name] = json.loads(path.read_text())
    return result, found


def complaints(checks):
    return [check for check in checks if check['status'] not in ('SUCCESS', 'INFO')]


@pytest.fixture(scope='session')
def fixture_server(build):
    process = subprocess.Popen([build / 'tests/mcp/mcp_fixture', '0'], stdout=subprocess.PIPE, text=True)
    yield process.stdout.readline().strip()
    assert process.poll() is None   # it has lived through all of it
    process.kill()
    process.wait()
    process.stdout.close()


@pytest.fixture(scope='session')
def runs(node, scripts, fixture_server, tmp_path_factory):
    """Each revision's run, which takes a few seconds, once."""
    done = {}

    def run(revision):
        if revision not in done:
            done[revision] = run_suite(node, scripts, tmp_path_factory.mktemp('conformance'), '--url', fixture_server,
                                       '--requirements', revision)
        return done[revision]
    return run


@pytest.mark.parametrize('revision', SCORED)
def test_the_suite_is_content_and_has_run_everything(runs, revision):
    result, found = runs(revision)
    assert result.returncode == 0, result.stdout + result.stderr
    assert {name for name in found if not name.startswith('tasks-')} == {*SCORED[revision], *UNSCORED[revision]}
    assert len(SCORED[revision]) == {'2025-11-25': 30, '2026-07-28': 37}[revision]
    assert sum(check['status'] == 'SUCCESS' for name in SCORED[revision] for check in found[name]) == SUCCESSES[revision]


@pytest.mark.parametrize('revision, scenario', [(revision, name) for revision, names in SCORED.items()
                                                for name in names + UNSCORED[revision]])
def test_scenario(runs, revision, scenario):
    checks = runs(revision)[1][scenario]
    assert not complaints(checks)
    assert any(check['status'] == 'SUCCESS' for check in checks)


# ringwall itself. The suite cannot show a token, so somebody in between shows it.

def forward(client, port, token):
    """One request, to the server on this port, with the token; Host and Origin stay what they are."""
    head = b''
    while b'\r\n\r\n' not in head and (piece := client.recv(65536)):
        head += piece
    first, _, rest = head.partition(b'\r\n')
    with client, socket.create_connection(('127.0.0.1', port)) as server:
        server.sendall(first + f'\r\nAuthorization: Bearer {token}\r\nConnection: close\r\n'.encode() + rest)

        def pass_on(source, sink):
            with contextlib.suppress(OSError):
                while piece := source.recv(65536):
                    sink.sendall(piece)
        threading.Thread(target=lambda: pass_on(client, server), daemon=True).start()
        pass_on(server, client)
        with contextlib.suppress(OSError):
            client.shutdown(socket.SHUT_RDWR)


@pytest.fixture
def with_token(serve, token):
    """The address of a ringwall to which nobody has to show a token."""
    address, _ = serve()
    port = int(re.search(r':(\d+)/', address)[1])
    listener = socket.create_server(('127.0.0.1', 0))

    def accept():
        while True:
            try:
                client, _ = listener.accept()
            except OSError:
                return
            threading.Thread(target=forward, args=(client, port, token), daemon=True).start()
    threading.Thread(target=accept, daemon=True).start()
    yield f'http://127.0.0.1:{listener.getsockname()[1]}/mcp'
    listener.shutdown(socket.SHUT_RDWR)
    listener.close()


@pytest.mark.parametrize('revision, scenario', [
    *(('2025-11-25', name) for name in ('dns-rebinding-protection', 'server-initialize', 'ping', 'tools-list',
                                        'server-sse-multiple-streams', 'server-session-lifecycle')),
    *(('2026-07-28', name) for name in ('dns-rebinding-protection', 'http-header-validation', 'tools-list',
                                        'server-sse-multiple-streams')),
])
def test_ringwall_itself(node, scripts, with_token, tmp_path, revision, scenario):
    result, found = run_suite(node, scripts, tmp_path / 'out', '--url', with_token, '--scenario', scenario,
                              '--spec-version', revision)
    assert result.returncode == 0 and set(found) == {scenario}, result.stdout + result.stderr
    assert not complaints(found[scenario])
