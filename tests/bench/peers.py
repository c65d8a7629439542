#!/usr/bin/python3
"""What ringwall and its peers keep a hostile program from, tried, and what they take to start: the table of README.md.

    peers.py RINGWALL STATIC-TRUE [--write FOLDER] [--rounds N] [--docker IMAGE] [--user NAME]

Each row is one attempt of a program in the box. It is made without a box first, where it must succeed, and then with each
peer, called in the way that its documentation has for a program that may write in one directory and has no network. A peer
that is not installed is left out, and that is said. IMAGE must have sh, python3 and git at their usual places.

Runs as an ordinary user: started as root it becomes the one that --user names, or a bare number, for whom firejail does
not run. --write leaves a table there.
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


# The peers: words that go before the command. `place` has .home, .work, .ringwall.

def bubblewrap(place):
    return ['bwrap', '--unshare-all', '--die-with-parent', '--ro-bind', '/', '/', '--proc', '/proc', '--dev', '/dev',
            '--tmpfs', '/tmp', '--bind', str(place.work), str(place.work), '--chdir', str(place.work)]


def srt(place):
    settings = {'network': {'allowedDomains': [], 'deniedDomains': []},
                'filesystem': {'denyRead': ['~/.ssh', str(place.work / '.env')], 'allowWrite': ['.'], 'denyWrite': []}}
    (place.home / 'srt.json').write_text(json.dumps(settings))
    return ['srt', '--settings', str(place.home / 'srt.json')]


def codex(place):
    return ['codex', 'sandbox', '-c', 'sandbox_mode="workspace-write"', '--']


def firejail(place):
    return ['firejail', '--quiet', '--noprofile', '--net=none', f'--whitelist={place.work}',
            f'--blacklist={place.work}/.env']


def gvisor(place):
    return ['runsc', '--rootless', '--network=none', 'do', f'--cwd={place.work}']


def docker(place):
    return ['docker', 'run', '--rm', '-i', '--network=none', f'--user={os.getuid()}:{os.getgid()}', '-e',
            f'HOME={place.home}', '-v', f'{place.work}:{place.work}', '-w', str(place.work), place.image]


def ringwall(place):
    return [place.ringwall, 'run', '--deny-read', '.env', '--']


PEERS = {'ringwall': ringwall, 'bubblewrap': bubblewrap, 'srt': srt, 'codex': codex, 'firejail': firejail,
         'gVisor': gvisor, 'Docker': docker}
CAN_DENY = ('ringwall', 'srt', 'firejail')      # those whose call above names a file that must not be read


class Place:
    """A home with secrets and a project in it, made anew for each attempt."""

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

    def start(self, before, script, **options):
        return subprocess.Popen([*before, '/bin/sh', '-c', script], cwd=self.work, env=self.environment(),
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                                start_new_session=True, **options)

    def run(self, before, script, **options):
        process = self.start(before, script, **options)
        try:
            return process.communicate(timeout=60)[0]
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            return process.communicate()[0]

    def end(self):
        self.socket.close()
        self.folder.cleanup()


# The attempts: each takes a place and the words before a command, and says whether the program had its way.

def reads_a_key(place, before):
    return 'PRIVATE KEY' in place.run(before, f'cat {place.home}/.ssh/id_ed25519')


def writes_bashrc(place, before):
    place.run(before, f'echo evil >> {place.home}/.bashrc')
    return 'evil' in (place.home / '.bashrc').read_text()


def replaces_a_hook(place, before):
    place.run(before, 'printf "#!/bin/sh\\necho evil\\n" > .git/hooks/pre-commit; chmod +x .git/hooks/pre-commit')
    return 'evil' in (place.work / '.git/hooks/pre-commit').read_text()


def leaves_a_command_for_git(place, before):
    """In a repository of its own, at a path where there was none."""
    place.run(before, 'mkdir -p sub && cd sub && git init -q . && '
                      'printf "[core]\\n\\tfsmonitor = touch ../../ran; false\\n" >> .git/config; '
                      'printf "#!/bin/sh\\ntouch ../../ran\\n" > .git/hooks/post-checkout; '
                      'chmod +x .git/hooks/post-checkout')
    if (place.work / 'sub').is_dir():
        subprocess.run(['git', 'status'], cwd=place.work / 'sub', env=place.environment(), capture_output=True,
                       check=False)
    return (place.home / 'ran').exists()


def reads_a_replaced_secret(place, before):
    """The person's editor saves the denied file while the program runs."""
    process = place.start(before, 'touch ready; i=0; while [ $i -lt 60 ]; do cat .env; sleep 0.05; i=$((i+1)); done')
    end = time.monotonic() + 20
    while not (place.work / 'ready').exists() and time.monotonic() < end:
        time.sleep(0.02)
    time.sleep(0.2)
    (place.work / 'new').write_text('SECRET=2\n')
    os.rename(place.work / 'new', place.work / '.env')
    return 'SECRET=2' in process.communicate(timeout=60)[0]


def speaks_to_an_agent(place, before):
    return 'spoke' in place.run(before, f"""python3 -c 'import socket; s = socket.socket(socket.AF_UNIX); """
                                        f"""s.connect("{place.home}/agent.sock"); print("spoke")'""")


def signals_a_process(place, before):
    with subprocess.Popen(['sleep', '60']) as other:
        place.run(before, f'kill -9 {other.pid}')
        time.sleep(0.1)
        killed = other.poll() is not None
        other.kill()
    return killed


def has_a_descriptor(place, before):
    with open(place.home / '.ssh/id_ed25519', encoding='utf-8') as secret:
        os.dup2(secret.fileno(), 9)
        try:
            return 'PRIVATE KEY' in place.run(before, 'cat <&9', pass_fds=[9])
        finally:
            os.close(9)


def leaves_a_daemon(place, before):
    place.run(before, f'(setsid sh -c "exec -a {MARK} sleep 20" >/dev/null 2>&1 &) ; (setsid python3 -c "'
                      f'import time; time.sleep(20)" {MARK} >/dev/null 2>&1 &); sleep 0.3')
    time.sleep(1)
    found = subprocess.run(['pgrep', '-f', MARK], capture_output=True, text=True, check=False).stdout.split()
    for pid in found:
        try:
            os.kill(int(pid), signal.SIGKILL)
        except OSError:
            pass
    return bool(found)


def writes_a_queue_of_the_host(place, before):
    made = subprocess.run(['ipcmk', '-Q', '-p', '0666'], capture_output=True, text=True, check=True).stdout.split()[-1]
    said = place.run(before, f"""python3 -c 'import ctypes; c = ctypes.CDLL(None, use_errno=True)
print("sent" if c.msgsnd({made}, ctypes.create_string_buffer(b"\\1" + bytes(15)), 8, 0) == 0 else "no")'""")
    subprocess.run(['ipcrm', '-q', made], check=False)
    return 'sent' in said


def leaves_files_when_killed(place, before):
    """SIGKILL to the sandbox itself: what is in the work tree afterwards that the program did not make?"""
    process = place.start(before, 'touch ready; sleep 20')
    end = time.monotonic() + 20
    while not (place.work / 'ready').exists() and time.monotonic() < end:
        time.sleep(0.02)
    process.kill()
    process.wait()
    time.sleep(0.5)
    left = {path.name for path in place.work.iterdir()} - {'.git', '.env', 'file', 'ready'}
    return bool(left)


def commits(place, before):
    place.run(before, 'echo more >> file && git -c user.name=p -c user.email=p@example.com commit -qam second')
    return '1' == subprocess.run(['git', 'rev-list', '--count', 'HEAD~1'], cwd=place.work, env=place.environment(),
                                 capture_output=True, text=True, check=False).stdout.strip()


# What is tried, and whether it should succeed. `None` outside: there is nothing to compare with.
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
    program = shutil.which(PEERS[name](Words())[0])
    if name == 'Docker':
        return 'a daemon as root'
    return 'a set-user-ID program' if os.stat(program).st_mode & 0o4000 else 'nothing'


def version(name):
    command = [PEERS[name](Words())[0], '--version']
    found = re.search(r'\d+(\.\d+)+', subprocess.run(command, capture_output=True, text=True, check=False).stdout)
    return found[0] if found else ''


class Words:
    """Enough of a place to ask a peer for its words."""
    home = work = pathlib.Path(tempfile.gettempdir())
    image = 'image'
    ringwall = sys.argv[1] if len(sys.argv) > 1 else 'ringwall'


def installed(arguments):
    found = []
    for name, words in PEERS.items():
        place = Place(arguments)
        try:
            if not shutil.which(words(place)[0]) or (name == 'Docker' and not arguments.docker):
                print(f'{name} is left out: it is not installed', file=sys.stderr)
            elif 'works' not in place.run(words(place), 'echo works'):
                print(f'{name} is left out: it does not run here', file=sys.stderr)
            else:
                found.append(name)
        finally:
            place.end()
    return found


def attempt(arguments, what, words):
    place = Place(arguments)
    try:
        return what(place, words(place) if words else [])
    finally:
        place.end()


def measure(arguments):
    names = installed(arguments)
    rows = []
    for label, what, wanted in ATTEMPTS:
        outside = attempt(arguments, what, None)
        if not outside and what is not leaves_files_when_killed:
            sys.exit(f'{label}: not even without a box, so this says nothing')
        cells = {}
        for name in names:
            if what is reads_a_replaced_secret and name not in CAN_DENY:
                cells[name] = 'cannot be denied'
            else:
                cells[name] = 'yes' if attempt(arguments, what, PEERS[name]) else 'no'
        rows.append((label, wanted, cells))
        print(label, cells, file=sys.stderr)
    place = Place(arguments)
    os.chdir(place.work)
    os.environ['HOME'] = str(place.home)
    program = shutil.copy(arguments.true, place.work / 'true')
    commands = {name: [shutil.which(PEERS[name](place)[0]), *PEERS[name](place)[1:], str(program)] for name in names}
    times = {name: [] for name in names}
    for _ in range(arguments.rounds):
        for name, command in commands.items():
            times[name].append(milliseconds(command))
    os.chdir('/')
    place.end()
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


def as_user(arguments):
    """Runs this again as an ordinary user, in a home of its own, with copies of what it needs."""
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
    found = as_user(arguments) if os.geteuid() == 0 else measure(arguments)
    table = report(found)
    missing = ', '.join(name for name in PEERS if name not in found['times'])
    print(table)
    if arguments.write:
        today = datetime.date.today().isoformat()
        with open(f'{arguments.write}/peers.md', 'w', encoding='utf-8') as file:
            file.write(f'# Side by side with the peers\n\nTried by `tests/bench/peers.py` on {today}, Linux '
                       f'{os.uname().release}, as an ordinary user, each peer called as its documentation has it for a '
                       f'program that may write in one directory and has no network (the words are in the script). '
                       f'Bold: not as one would wish. Not tried: {missing or "none"}.\n\n{table}')


if __name__ == '__main__':
    main()
