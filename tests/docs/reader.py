"""A reader: follows a section of a page in a fresh home directory, with what the section expects to find there.

Everything is as on a person's machine, except for the names of hosts: they lead to the test internet (tests/egress). A
policy in the reader's home makes programs in a box trust its certificates.
"""
import contextlib
import functools
import json
import os
import pathlib
import shutil
import signal
import subprocess
import time

from site_content import npm_registry
from pages import matches

REPO = pathlib.Path(__file__).resolve().parents[2]
TIMEOUT = 60    # seconds for one command
PROVIDER = 'api.anthropic.com'
CA_VARIABLES = ('CURL_CA_BUNDLE', 'GIT_SSL_CAINFO', 'NODE_EXTRA_CA_CERTS', 'NPM_CONFIG_CAFILE', 'SSL_CERT_FILE')
GIT = ('git', '-c', 'user.name=Reader', '-c', 'user.email=reader@example.com')


def say_hello(request):
    """Answers as Anthropic's API does, in a stream if the client wants one."""
    if request.path != '/v1/messages':
        return 200, {'Content-Type': 'application/json'}, b'{}'
    text = {'type': 'text', 'text': 'Hello from the test internet'}
    message = {'id': 'msg_1', 'type': 'message', 'role': 'assistant', 'model': 'test', 'content': [text],
               'stop_reason': 'end_turn', 'stop_sequence': None, 'usage': {'input_tokens': 1, 'output_tokens': 1}}
    if not json.loads(request.body).get('stream'):
        return 200, {'Content-Type': 'application/json'}, json.dumps(message).encode()
    events = [
        {'type': 'message_start', 'message': {**message, 'content': [], 'stop_reason': None}},
        {'type': 'content_block_start', 'index': 0, 'content_block': {'type': 'text', 'text': ''}},
        {'type': 'content_block_delta', 'index': 0, 'delta': {'type': 'text_delta', 'text': text['text']}},
        {'type': 'content_block_stop', 'index': 0},
        {'type': 'message_delta', 'delta': {'stop_reason': 'end_turn', 'stop_sequence': None},
         'usage': {'output_tokens': 1}},
        {'type': 'message_stop'},
    ]
    stream = ''.join(f'event: {event["type"]}\ndata: {json.dumps(event)}\n\n' for event in events)
    return 200, {'Content-Type': 'text/event-stream'}, stream.encode()


class Reader:
    """A person with a home directory and a project in it, who types the commands of a page into bash."""

    def __init__(self, home, build, internet):
        self.home, self.build, self.internet = home, build, internet
        self.project = home / 'project'
        self.programs = build / 'docs-programs/node_modules'
        self.bin = home / 'bin'
        self.agent = None
        self._make_home()
        self._make_project()
        self._make_sites()

    # What the reader has.

    def _make_home(self):
        self.bin.mkdir()
        (self.bin / 'ringwall').symlink_to(self.build / 'ringwall')
        ca_file = self.internet.authority.ca_file
        variables = {**dict.fromkeys(CA_VARIABLES, ca_file), 'NPM_CONFIG_REGISTRY': f'https://{self.registry}/',
                     # ssh takes the home directory from /etc/passwd, which does not know this one
                     'GIT_SSH_COMMAND': f'ssh -o UserKnownHostsFile={self.home}/.ssh/known_hosts'}
        policy = {'runtime': {'env': [f'{name}={value}' for name, value in variables.items()]},
                  'security': {'sandbox': {'allow_paths': [str(ca_file)]}}}
        for name, text in {
                '.config/ringwall/policy.yaml': json.dumps(policy),
                '.config/ringwall/token': 'a' * 64 + '\n',
                '.ssh/id_ed25519': 'PRIVATE KEY\n',
                '.claude/settings.json': '{}\n',
                '.claude.json': '{}\n',
                'datasets/numbers': '1\n2\n3\n',
                'data/file': 'data\n',
                'lib/pkgconfig/ringwall.pc': 'Name: ringwall\nDescription: ringwall\nVersion: 0\n'
                                             f'Cflags: -I{REPO}/include\n'
                                             f'Libs: -L{self.build} -lringwall -Wl,-rpath,{self.build}\n'}.items():
            path = self.home / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
            path.chmod(0o600)

    def _make_project(self):
        self.project.mkdir()
        package = {'name': 'project', 'version': '1.0.0', 'private': True, 'scripts': {'test': 'echo tested'},
                   'dependencies': {'thing': '1.0.0'}}
        for name, text in {'Makefile': 'test:\n\t@echo tested\n', 'package.json': json.dumps(package),
                           'file': 'a typpo\n', 'index.html': '<!doctype html><title>The project</title>\n',
                           '.gitignore': 'node_modules\n'}.items():
            (self.project / name).write_text(text)
        for command in (['init', '-q', '-b', 'main'], ['add', '.'], ['commit', '-qm', 'Begin'],
                        ['remote', 'add', 'origin', 'https://example.com/project.git']):
            subprocess.run([*GIT, *command], cwd=self.project, env=self.environment(), check=True)
        (self.project / 'file').write_text('a typo\n')

    def _make_sites(self):
        self.internet.make_site('example.com')
        self.internet.make_site(PROVIDER).offers = {'/': say_hello}
        self.internet.make_site(self.registry).offers = {'/': npm_registry('/')}

    @functools.cached_property
    def registry(self):
        """The host of npm's registry, from the group +npm."""
        command = [self.build / 'ringwall', 'policy', 'show', '--json', '--allow-domain', '+npm']
        plan = json.loads(subprocess.run(command, cwd=self.home, capture_output=True, check=True).stdout)
        return 'registry' + plan['hosts'][0]['host'].removeprefix('*')

    def environment(self):
        claude = self.programs.glob('@anthropic-ai/claude-code-linux-*')
        path = [self.bin, *claude, '/usr/local/bin', '/usr/bin', '/bin']
        return {'HOME': str(self.home), 'PATH': ':'.join(map(str, path)), 'LANG': 'C.UTF-8', 'TERM': 'dumb',
                'XDG_RUNTIME_DIR': str(self.home), 'ANTHROPIC_API_KEY': 'sk-test', 'BASH_ENV': '/dev/null',
                'PKG_CONFIG_PATH': str(self.home / 'lib/pkgconfig'), 'PYTHONDONTWRITEBYTECODE': '1',
                'DISABLE_AUTOUPDATER': '1', 'DISABLE_TELEMETRY': '1',
                **{name: str(self.internet.authority.ca_file) for name in CA_VARIABLES},
                **({'SSH_AUTH_SOCK': str(self.agent)} if self.agent else {})}

    def has_claude(self):
        return any(self.programs.glob('@anthropic-ai/claude-code-linux-*'))

    def install_vite(self):
        """Installs vite in the project, as npm would."""
        if not (self.programs / 'vite').exists():
            return False
        shutil.copytree(self.programs, self.project / 'node_modules', symlinks=True,
                        ignore=shutil.ignore_patterns('@anthropic-ai'))
        return True

    @contextlib.contextmanager
    def ssh_agent(self):
        """Runs an ssh-agent with a key for git.example.com, which serves a repository that the project then has."""
        ssh = self.internet.ssh
        self.internet.make_server('git.example.com', (22, ssh.serve))
        ssh.write_known_hosts('git.example.com')
        shutil.copy(ssh.known_hosts, self.home / '.ssh/known_hosts')
        self.agent = self.home / 'agent.sock'
        with subprocess.Popen(['ssh-agent', '-D', '-a', self.agent], stdout=subprocess.DEVNULL) as agent:
            try:
                wait_until(self.agent.exists)
                subprocess.run(['ssh-add', '-q', ssh.client_key], env=self.environment(), check=True,
                               stderr=subprocess.DEVNULL)
                subprocess.run(['git', 'remote', 'set-url', 'origin', 'git@git.example.com:thing.git'],
                               cwd=self.project, env=self.environment(), check=True)
                yield
            finally:
                agent.kill()

    # What the reader does.

    def save(self, name, text):
        path = self.project / name
        path.write_text(text)
        return path

    def type(self, command):
        """Runs a command line to its end. Returns its exit status and its output."""
        result = subprocess.run(['bash', '-c', command], cwd=self.project, env=self.environment(), timeout=TIMEOUT,
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                errors='replace', check=False)
        return result.returncode, result.stdout

    @contextlib.contextmanager
    def serve(self, command, expected):
        """Runs a command line that serves until it is ended. Yields its output, once that is what the page shows."""
        log = self.home / 'log'
        with open(log, 'wb') as out, \
             subprocess.Popen(['bash', '-c', f'exec {command}'], cwd=self.project, env=self.environment(),
                              stdin=subprocess.DEVNULL, stdout=out, stderr=out, start_new_session=True) as process:
            def has_said_it():
                if process.poll() is not None:
                    raise AssertionError(f'{command} ended with status {process.returncode}:\n{log.read_text()}')
                text = log.read_text(errors='replace')
                return text if text and matches(expected.rstrip('\n') + '\n…', text) else None
            try:
                said = wait_until(has_said_it)
                assert said, f'{command} has not printed what the page shows:\n{log.read_text()}'
                yield said
            finally:
                process.send_signal(signal.SIGTERM)
                try:
                    process.wait(20)
                finally:
                    with contextlib.suppress(ProcessLookupError):
                        os.killpg(process.pid, signal.SIGKILL)


def wait_until(condition, seconds=TIMEOUT):
    """The condition's first true value; or its last value, when the time is up."""
    end = time.monotonic() + seconds
    while not (value := condition()) and time.monotonic() < end:
        time.sleep(0.05)
    return value
