#!/usr/bin/python3
"""Tries attacks in ringwall and in other sandboxes (peers), and times their starts: the table of the root README.

    peers.py RINGWALL STATIC-TRUE [--write FOLDER] [--rounds N] [--docker IMAGE] [--user NAME]

Each row is one attempt of a program in the box. It is made without a box first, where it must succeed, and then with
each peer, called as its documentation says for a program that may write in one directory and has no network. A peer
that is not installed is skipped with a message. IMAGE must have sh, python3 and git in the usual directories.

Runs as an ordinary user: started as root it becomes the user that --user names, or else a uid without an account, as
which firejail does not run. --write writes the table to FOLDER.
"""
import argparse
import datetime
import json
import os
import pathlib
import pwd
import re
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time

from timing import milliseconds

USER = 64123
HERE = os.path.dirname(os.path.realpath(__file__))
MARK = 'ringwall-peers-daemon'


# The peers: each returns the prefix of a command line that runs a command in it.

def bubblewrap(fixture):
    return ['bwrap', '--unshare-all', '--die-with-parent', '--ro-bind', '/', '/', '--proc', '/proc', '--dev', '/dev',
            '--tmpfs', '/tmp', '--bind', str(fixture.work), str(fixture.work), '--chdir', str(fixture.work)]


def srt(fixture):
    settings = {'network': {'allowedDomains': [], 'deniedDomains': []},
                'filesystem': {'denyRead': ['~/.ssh', str(fixture.work / '.env')], 'allowWrite': ['.'],
                               'denyWrite': []}}
    (fixture.home / 'srt.json').write_text(json.dumps(settings))
    return ['srt', '--settings', str(fixture.home / 'srt.json')]


def codex(fixture):
    return ['codex', 'sandbox', '-c', 'sandbox_mode="workspace-write"', '--']


def firejail(fixture):
    return ['firejail', '--quiet', '--noprofile', '--net=none', f'--whitelist={fixture.work}',
            f'--blacklist={fixture.work}/.env']


def gvisor(fixture):
    return ['runsc', '--rootless', '--network=none', 'do', f'--cwd={fixture.work}']


def docker(fixture):
    return ['docker', 'run', '--rm', '-i', '--network=none', f'--user={os.getuid()}:{os.getgid()}', '-e',
            f'HOME={fixture.home}', '-v', f'{fixture.work}:{fixture.work}', '-w', str(fixture.work), fixture.image]


def ringwall(fixture):
    return [fixture.ringwall, 'run', '--deny-read', '.env', '--']


PEERS = {'ringwall': ringwall, 'bubblewrap': bubblewrap, 'srt': srt, 'codex': codex, 'firejail': firejail,
         'gVisor': gvisor, 'Docker': docker}
CAN_DENY = ('ringwall', 'srt', 'firejail')      # those whose prefix above denies reading .env


class Fixture:
    """A home directory with secrets and a project, new for each attempt."""

    def __init__(self, arguments):
        self.ringwall, self.true, self.image = arguments.ringwall, arguments.true, arguments.docker
        self.folder = tempfile.TemporaryDirectory(dir=os.environ['HOME'], prefix='peers-', ignore_cleanup_errors=True)
        self.home = pathlib.Path(self.folder.name)
        self.work = self.home / 'project'
        (self.home / '.ssh').mkdir(mode=0o700)
        (self.home / '.ssh/id_ed25519').write_text('PRIVATE KEY\n')
        (self.home / '.bashrc').write_text('# rc\n')
        self.work.mkdir()
        (self.work / '.env').write_text('SECRET=1\n')
        (self.work / 'file').write_text('text\n')
        for command in (['git', 'init', '-q'], ['git', 'add', 'file'], ['git', 'commit', '-qm', 'first']):
            subprocess.run(command, cwd=self.work, check=True, env=self.environment())
        (self.work / '.git/hooks').mkdir(exist_ok=True)
        (self.work / '.git/hooks/pre-commit').write_text('#!/bin/sh\n')
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.bind(str(self.home / 'agent.sock'))
        self.socket.listen()

    def environment(self):
        return {'HOME': str(self.home), 'PATH': os.environ['PATH'], 'LANG': 'C.UTF-8',
                'GIT_AUTHOR_NAME': 'p', 'GIT_AUTHOR_EMAIL': 'p@example.com', 'GIT_COMMITTER_NAME': 'p',
                'GIT_COMMITTER_EMAIL': 'p@example.com', **({'DOCKER_HOST': os.environ['DOCKER_HOST']}
                                                            if 'DOCKER_HOST' in os.environ else {})}

    def start(self, prefix, script, **options):
        return subprocess.Popen([*prefix, '/bin/sh', '-c', script], cwd=self.work, env=self.environment(),
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                                start_new_session=True, **options)

    def run(self, prefix, script, **options):
        process = self.start(prefix, script, **options)
        try:
            return process.communicate(timeout=60)[0]
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            return process.communicate()[0]

    def remove(self):
        self.socket.close()
        self.folder.cleanup()


# The attempts: each gets the command prefix of a peer, [] for none, and returns whether the program succeeded.

def reads_a_key(fixture, prefix):
    return 'PRIVATE KEY' in fixture.run(prefix, f'cat {fixture.home}/.ssh/id_ed25519')


def writes_bashrc(fixture, prefix):
    fixture.run(prefix, f'echo evil >> {fixture.home}/.bashrc')
    return 'evil' in (fixture.home / '.bashrc').read_text()


def replaces_a_hook(fixture, prefix):
    fixture.run(prefix, 'printf "#!/bin/sh\\necho evil\\n" > .git/hooks/pre-commit; chmod +x .git/hooks/pre-commit')
    return 'evil' in (fixture.work / '.git/hooks/pre-commit').read_text()


def leaves_a_command_for_git(fixture, prefix):
    """The program makes a repository whose settings and hook run a command; then the user runs git in it."""
    fixture.run(prefix, 'mkdir -p sub && cd sub && git init -q . && '
                        'printf "[core]\\n\\tfsmonitor = touch ../../ran; false\\n" >> .git/config; '
                        'printf "#!/bin/sh\\ntouch ../../ran\\n" > .git/hooks/post-checkout; '
                        'chmod +x .git/hooks/post-checkout')
    if (fixture.work / 'sub').is_dir():
        subprocess.run(['git', 'status'], cwd=fixture.work / 'sub', env=fixture.environment(), capture_output=True,
                       check=False)
    return (fixture.home / 'ran').exists()


def reads_a_replaced_secret(fixture, prefix):
    """The user's editor saves the denied file while the program runs."""
    process = fixture.start(prefix, 'touch ready; i=0; while [ $i -lt 60 ]; do cat .env; sleep 0.05; i=$((i+1)); done')
    end = time.monotonic() + 20
    while not (fixture.work / 'ready').exists() and time.monotonic() < end:
        time.sleep(0.02)
    time.sleep(0.2)
    (fixture.work / 'new').write_text('SECRET=2\n')
    os.rename(fixture.work / 'new', fixture.work / '.env')
    return 'SECRET=2' in process.communicate(timeout=60)[0]


def speaks_to_an_agent(fixture, prefix):
    return 'spoke' in fixture.run(prefix, f"""python3 -c 'import socket; s = socket.socket(socket.AF_UNIX); """
                                          f"""s.connect("{fixture.home}/agent.sock"); print("spoke")'""")


def signals_a_process(fixture, prefix):
    with subprocess.Popen(['sleep', '60']) as other:
        fixture.run(prefix, f'kill -9 {other.pid}')
        time.sleep(0.1)
        killed = other.poll() is not None
        other.kill()
    return killed


def has_a_descriptor(fixture, prefix):
    with open(fixture.home / '.ssh/id_ed25519', encoding='utf-8') as secret:
        os.dup2(secret.fileno(), 9)
        try:
            return 'PRIVATE KEY' in fixture.run(prefix, 'cat <&9', pass_fds=[9])
        finally:
            os.close(9)


def leaves_a_daemon(fixture, prefix):
    fixture.run(prefix, f'(setsid sh -c "exec -a {MARK} sleep 20" >/dev/null 2>&1 &) ; (setsid python3 -c "'
                        f'import time; time.sleep(20)" {MARK} >/dev/null 2>&1 &); sleep 0.3')
    time.sleep(1)
    found = subprocess.run(['pgrep', '-f', MARK], capture_output=True, text=True, check=False).stdout.split()
    for pid in found:
        try:
            os.kill(int(pid), signal.SIGKILL)
        except OSError:
            pass
    return bool(found)


def writes_a_queue_of_the_host(fixture, prefix):
    made = subprocess.run(['ipcmk', '-Q', '-p', '0666'], capture_output=True, text=True, check=True).stdout.split()[-1]
    output = fixture.run(prefix, f"""python3 -c 'import ctypes; c = ctypes.CDLL(None, use_errno=True)
print("sent" if c.msgsnd({made}, ctypes.create_string_buffer(b"\\1" + bytes(15)), 8, 0) == 0 else "no")'""")
    subprocess.run(['ipcrm', '-q', made], check=False)
    return 'sent' in output


def leaves_files_when_killed(fixture, prefix):
    """Sends SIGKILL to the sandbox. Are there files in the work tree that the program did not make?"""
    process = fixture.start(prefix, 'touch ready; sleep 20')
    end = time.monotonic() + 20
    while not (fixture.work / 'ready').exists() and time.monotonic() < end:
        time.sleep(0.02)
    process.kill()
    process.wait()
    time.sleep(0.5)
    left = {path.name for path in fixture.work.iterdir()} - {'.git', '.env', 'file', 'ready'}
    return bool(left)


def commits(fixture, prefix):
    fixture.run(prefix, 'echo more >> file && git -c user.name=p -c user.email=p@example.com commit -qam second')
    return '1' == subprocess.run(['git', 'rev-list', '--count', 'HEAD~1'], cwd=fixture.work, env=fixture.environment(),
                                 capture_output=True, text=True, check=False).stdout.strip()


# The attempts of the table, and whether each should succeed in a box.
ATTEMPTS = [
    ('a key in `~/.ssh` is read', reads_a_key, False),
    ('`~/.bashrc` is written', writes_bashrc, False),
    ("the project's git hook is replaced", replaces_a_hook, False),
    ('a new repository runs a command in your `git status`', leaves_a_command_for_git, False),
    ('a denied file is read after your editor saved it', reads_a_replaced_secret, False),
    ('an agent\'s unix socket in your home answers', speaks_to_an_agent, False),
    ('a process of yours is killed', signals_a_process, False),
    ('an open descriptor of the caller is read', has_a_descriptor, False),
    ('a message queue of the host is written', writes_a_queue_of_the_host, False),
    ('a daemon is left behind', leaves_a_daemon, False),
    ('files are left in your tree after a `kill -9`', leaves_files_when_killed, False),
    ('`git commit` works', commits, True),
]


def privilege(name):
    program = shutil.which(PEERS[name](FixtureStub())[0])
    if name == 'Docker':
        return 'a daemon as root'
    return 'a set-user-ID program' if os.stat(program).st_mode & 0o4000 else 'nothing'


def version(name):
    command = [PEERS[name](FixtureStub())[0], '--version']
    found = re.search(r'\d+(\.\d+)+', subprocess.run(command, capture_output=True, text=True, check=False).stdout)
    return found[0] if found else ''


class FixtureStub:
    """What a peer needs to return its prefix, without files."""
    home = work = pathlib.Path(tempfile.gettempdir())
    image = 'image'
    ringwall = sys.argv[1] if len(sys.argv) > 1 else 'ringwall'


def installed(arguments):
    found = []
    for name, peer in PEERS.items():
        fixture = Fixture(arguments)
        try:
            if not shutil.which(peer(fixture)[0]) or (name == 'Docker' and not arguments.docker):
                print(f'{name} is skipped: it is not installed', file=sys.stderr)
            elif 'works' not in fixture.run(peer(fixture), 'echo works'):
                print(f'{name} is skipped: it does not run here', file=sys.stderr)
            else:
                found.append(name)
        finally:
            fixture.remove()
    return found


def succeeds(arguments, attempt, peer):
    fixture = Fixture(arguments)
    try:
        return attempt(fixture, peer(fixture) if peer else [])
    finally:
        fixture.remove()


def measure(arguments):
    names = installed(arguments)
    rows = []
    for label, attempt, wanted in ATTEMPTS:
        outside = succeeds(arguments, attempt, None)
        if not outside and attempt is not leaves_files_when_killed:     # files can only be left by a sandbox
            sys.exit(f'{label}: the attempt fails even without a box, so a failure in one would prove nothing')
        cells = {}
        for name in names:
            if attempt is reads_a_replaced_secret and name not in CAN_DENY:
                cells[name] = 'cannot be denied'
            else:
                cells[name] = 'yes' if succeeds(arguments, attempt, PEERS[name]) else 'no'
        rows.append((label, wanted, cells))
        print(label, cells, file=sys.stderr)
    fixture = Fixture(arguments)
    os.chdir(fixture.work)
    os.environ['HOME'] = str(fixture.home)
    program = shutil.copy(arguments.true, fixture.work / 'true')
    prefixes = {name: PEERS[name](fixture) for name in names}
    commands = {name: [shutil.which(prefix[0]), *prefix[1:], str(program)] for name, prefix in prefixes.items()}
    times = {name: [] for name in names}
    for _ in range(arguments.rounds):
        for name, command in commands.items():
            times[name].append(milliseconds(command))
    os.chdir('/')
    fixture.remove()
    return {'rows': rows, 'times': {name: statistics.median(values or [0]) for name, values in times.items()},
            'needs': {name: privilege(name) for name in names}, 'versions': {name: version(name) for name in names}}


def report(found):
    names = list(found['times'])
    lines = [f'| | {" | ".join(names)} |', f'|---|{"---|" * len(names)}']
    lines.append('| version | ' + ' | '.join(found['versions'][name] for name in names) + ' |')
    lines.append('| privilege it needs | ' + ' | '.join(found['needs'][name] for name in names) + ' |')
    if any(found['times'].values()):
        lines.append('| start of `true`, ms | ' + ' | '.join(f'{found["times"][name]:.1f}' for name in names) + ' |')
    for label, wanted, cells in found['rows']:
        marks = [cells[name] if cells[name] == ('yes' if wanted else 'no') else f'**{cells[name]}**' for name in names]
        lines.append(f'| {label} | {" | ".join(marks)} |')
    return '\n'.join(lines) + '\n'


def measure_as_user(arguments):
    """Runs this script again as an ordinary user, in a new home directory, with copies of the files that it needs."""
    user, group, where = USER, USER, '/home'
    if arguments.user:
        account = pwd.getpwnam(arguments.user)
        user, group, where = account.pw_uid, account.pw_gid, account.pw_dir
    with tempfile.TemporaryDirectory(dir=where, prefix='.ringwall-peers-', ignore_cleanup_errors=True) as home:
        for name in (f'{HERE}/peers.py', f'{HERE}/timing.py', arguments.true):
            shutil.copy(name, home)
        for name in os.listdir(os.path.dirname(arguments.ringwall)):
            if name.startswith('ringwall') and os.path.isfile(f'{os.path.dirname(arguments.ringwall)}/{name}'):
                shutil.copy(f'{os.path.dirname(arguments.ringwall)}/{name}', home)
        os.chmod(home, 0o755)
        os.mkdir(f'{home}/own')
        os.chown(f'{home}/own', user, group)
        command = [sys.executable, f'{home}/peers.py', f'{home}/{os.path.basename(arguments.ringwall)}',
                   f'{home}/{os.path.basename(arguments.true)}', '--measure', '--rounds', str(arguments.rounds),
                   *(['--docker', arguments.docker] if arguments.docker else [])]
        env = {'HOME': f'{home}/own', 'PATH': os.environ['PATH'], 'LANG': 'C.UTF-8',
               **({'DOCKER_HOST': os.environ['DOCKER_HOST']} if 'DOCKER_HOST' in os.environ else {})}
        result = subprocess.run(command, user=user, group=group, extra_groups=[], check=True, stdout=subprocess.PIPE,
                                cwd=f'{home}/own', env=env)
        return json.loads(result.stdout)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('ringwall')
    parser.add_argument('true')
    parser.add_argument('--write')
    parser.add_argument('--rounds', type=int, default=30, help='measurements of the start; 0: none')
    parser.add_argument('--docker', metavar='IMAGE')
    parser.add_argument('--user', metavar='NAME')
    parser.add_argument('--measure', action='store_true', help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    arguments.ringwall, arguments.true = map(os.path.abspath, (arguments.ringwall, arguments.true))
    if arguments.measure:
        json.dump(measure(arguments), sys.stdout)
        return
    found = measure_as_user(arguments) if os.geteuid() == 0 else measure(arguments)
    table = report(found)
    missing = ', '.join(name for name in PEERS if name not in found['times'])
    print(table)
    if arguments.write:
        today = datetime.date.today().isoformat()
        with open(f'{arguments.write}/peers.md', 'w', encoding='utf-8') as file:
            file.write(f'# Side by side with the peers\n\nTried by `tests/bench/peers.py` on {today}, Linux '
                       f'{os.uname().release}, as an ordinary user, each peer called as its documentation says for a '
                       f'program that may write in one directory and has no network (the command lines are in the '
                       f'script). Bold: the undesired result. Not tried: {missing or "none"}.\n\n{table}')


if __name__ == '__main__':
    main()
