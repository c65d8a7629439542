"""The conformance suite of the protocol's authors, in both eras: against fixture.c, which has the suite's fixtures on
our own server; and, where no fixtures are needed, against `ringwall mcp` itself."""
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
# Scenarios that the suite does not score yet. Those of the extension `tasks`, which ringwall lacks, are ignored.
UNSCORED = {'2025-11-25': ['server-session-lifecycle', 'server-sse-polling', 'json-schema-2020-12'],
            '2026-07-28': ['json-schema-2020-12', 'http-header-validation', 'http-custom-header-server-validation']}
SCORED = {'2025-11-25': BOTH + LEGACY, '2026-07-28': BOTH + MODERN}
SUCCESSES = {'2025-11-25': 69, '2026-07-28': 120}   # the number of successful checks in scored scenarios


def run_suite(node, scripts, output, *arguments):
    """Runs the suite. Returns the result of its process, and the checks of each scenario by its name."""
    script = scripts / 'node_modules/@modelcontextprotocol/conformance/dist/index.js'
    result = subprocess.run([node, script, 'server', '-o', output, *arguments], capture_output=True, text=True,
                            timeout=300,
                            check=False)
    checks = {}
    for path in output.glob('server-*/checks.json'):
        name = re.fullmatch(r'server-(.*)-\d{4}-\d\d-\d\dT[\d-]+Z', path.parent.name)[1]
        checks[name] = json.loads(path.read_text())
    return result, checks


def failures(checks):
    return [check for check in checks if check['status'] not in ('SUCCESS', 'INFO')]


@pytest.fixture(scope='session')
def fixture_server(build):
    """The URL of a running fixture.c."""
    process = subprocess.Popen([build / 'tests/mcp/mcp_fixture', '0'], stdout=subprocess.PIPE, text=True)
    yield process.stdout.readline().strip()
    assert process.poll() is None   # it has survived all tests
    process.kill()
    process.wait()
    process.stdout.close()


@pytest.fixture(scope='session')
def runs(node, scripts, fixture_server, tmp_path_factory):
    """Runs the suite for a revision, which takes a few seconds, only once: runs(revision) -> as run_suite()."""
    results = {}

    def run(revision):
        if revision not in results:
            results[revision] = run_suite(node, scripts, tmp_path_factory.mktemp('conformance'), '--url',
                                          fixture_server, '--requirements', revision)
        return results[revision]
    return run


@pytest.mark.parametrize('revision', SCORED)
def test_suite_passes_and_has_run_every_scenario(runs, revision):
    result, checks = runs(revision)
    assert result.returncode == 0, result.stdout + result.stderr
    assert {name for name in checks if not name.startswith('tasks-')} == {*SCORED[revision], *UNSCORED[revision]}
    assert len(SCORED[revision]) == {'2025-11-25': 30, '2026-07-28': 37}[revision]
    assert sum(check['status'] == 'SUCCESS' for name in SCORED[revision]
               for check in checks[name]) == SUCCESSES[revision]


@pytest.mark.parametrize('revision, scenario', [(revision, name) for revision, names in SCORED.items()
                                                for name in names + UNSCORED[revision]])
def test_scenario_passes(runs, revision, scenario):
    checks = runs(revision)[1][scenario]
    assert not failures(checks)
    assert any(check['status'] == 'SUCCESS' for check in checks)


# `ringwall mcp` itself. The suite cannot send a token, so a forwarder adds it to each request.

def forward(client, port, token):
    """Forwards one request to the server on this port, with the token added. Host and Origin stay unchanged."""
    request = b''
    while b'\r\n\r\n' not in request and (piece := client.recv(65536)):
        request += piece
    request_line, _, rest = request.partition(b'\r\n')
    with client, socket.create_connection(('127.0.0.1', port)) as server:
        server.sendall(request_line + f'\r\nAuthorization: Bearer {token}\r\nConnection: close\r\n'.encode() + rest)

        def pass_on(source, sink):
            with contextlib.suppress(OSError):
                while piece := source.recv(65536):
                    sink.sendall(piece)
        threading.Thread(target=lambda: pass_on(client, server), daemon=True).start()
        pass_on(server, client)
        with contextlib.suppress(OSError):
            client.shutdown(socket.SHUT_RDWR)


@pytest.fixture
def forwarder(serve, token):
    """The URL of a forwarder that adds the token to requests for a `ringwall mcp`."""
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
def test_scenario_passes_against_ringwall_itself(node, scripts, forwarder, tmp_path, revision, scenario):
    result, checks = run_suite(node, scripts, tmp_path / 'out', '--url', forwarder, '--scenario', scenario,
                               '--spec-version', revision)
    assert result.returncode == 0 and set(checks) == {scenario}, result.stdout + result.stderr
    assert not failures(checks[scenario])
