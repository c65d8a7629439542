"""Folders of pytest: the real programs on the real kernel, as whoever started the run and as an ordinary user."""
import concurrent.futures
import contextlib
import json
import os
import re
import shutil
import signal
import sys
import tempfile
import threading
import time

from runner.cases import CRASH, Case, failed, skipped
from runner.commands import BUILD, TOP, reserve_user, run

# pytest processes for one suite. Most cases wait, so there are more than processors.
WORKERS = int(os.environ.get('RINGWALL_WORKERS') or 2 + 2 * (os.cpu_count() or 1))
ENDING_SECONDS = 20             # for the processes that a suite has already told to end
CASE_LINE = re.compile(r'::.*\[ *\d+%\]$')    # of `pytest -v`


def scratch_folder():
    """A new directory, if possible outside /tmp and /var/tmp: other rules apply there, because a box has its own."""
    parent = next((path for path in ('/home', os.path.expanduser('~')) if os.access(path, os.W_OK)), '/var/tmp')
    return tempfile.mkdtemp(prefix='.ringwall-test-', dir=parent)


class Caller:
    """Who runs the programs: where the tree and the build are, and with which rights and environment."""

    def __init__(self):
        self.tree, self.build, self.env, self.identity = TOP, BUILD, dict(os.environ), {}

    def own(self, *paths):
        """Gives these files to the caller."""

    def left_running(self):
        """The processes that this caller should not have any more."""
        return []


class OrdinaryUser(Caller):
    """A number without an account, with a home directory of its own, so that the machine's accounts stay as they are. It
    gets a copy of the tree, because the clone may be in a directory that only root can enter."""

    def __init__(self):
        super().__init__()
        self.number, self.reservation = reserve_user()
        self.identity = {'user': self.number, 'group': self.number, 'extra_groups': []}
        self.folder = scratch_folder()
        self.tree, home = f'{self.folder}/tree', f'{self.folder}/home'
        self.build = f'{self.tree}/build'
        shutil.copytree(TOP, self.tree, symlinks=True, ignore=lambda parent, names: [
            name for name in names if name in ('.git', '__pycache__') or parent == TOP and name.startswith('build')])
        shutil.copytree(BUILD, self.build, symlinks=True,
                        ignore=shutil.ignore_patterns('*.o', '*.a', 'vm', 'mcp-clients',
                                                      'agent-programs'))
        os.mkdir(home, 0o700)
        os.chmod(self.folder, 0o755)
        run(['chown', '-R', f'{self.number}:{self.number}', self.tree, home])
        self.env = {name: os.environ[name] for name in ('PATH', 'TERM', 'CI') if name in os.environ}
        self.env.update(HOME=home, USER='ringwall-test', LOGNAME='ringwall-test', LANG='C.UTF-8')

    def own(self, *paths):
        for path in paths:
            os.chown(path, self.number, self.number)

    def left_running(self):
        end = time.monotonic() + ENDING_SECONDS
        while (left := list(processes_of(self.number))) and time.monotonic() < end:
            time.sleep(0.1)
        for pid, _ in left:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        return left


def processes_of(user):
    """The pid and command line of each process of a user. Zombies are not listed."""
    for pid in filter(str.isdigit, os.listdir('/proc')):
        with contextlib.suppress(OSError):
            if os.stat(f'/proc/{pid}').st_uid == user:
                with open(f'/proc/{pid}/cmdline', 'rb') as file:
                    command = file.read().replace(b'\0', b' ').decode(errors='replace')
                with open(f'/proc/{pid}/stat', 'rb') as file:
                    state = file.read().rpartition(b')')[2].split()[0]
                if state != b'Z':
                    yield int(pid), command


class Callers:
    """Makes each caller when a suite first needs it, and removes in the end what was made for them."""

    def __init__(self):
        self.made, self.lock, self.removals = {}, threading.Lock(), []

    def get(self, kind):
        with self.lock:
            if kind not in self.made:
                self.made[kind] = kind()
            return self.made[kind]

    def remove_later(self, folder):
        """Removing what a suite wrote takes a minute on a busy machine, so the next suite does not wait for it."""
        thread = threading.Thread(target=shutil.rmtree, args=(folder,), kwargs={'ignore_errors': True})
        thread.start()
        self.removals.append((folder, thread))

    def close(self):
        """Returns the folders that could not be removed."""
        for caller in self.made.values():
            if isinstance(caller, OrdinaryUser):
                self.remove_later(caller.folder)
                caller.reservation.close()
        for _, thread in self.removals:
            thread.join()
        return [folder for folder, _ in self.removals if os.path.exists(folder)]


def run_pytest(suite, folder, caller, selection, task, callers, marks='', workers=1):
    """One folder: the cases with these marks. Several workers share the list (tests/helpers/side_by_side.py)."""
    scratch = scratch_folder()
    try:
        queue, only = f'{scratch}/queue', f'{scratch}/only'
        with open(queue, 'w', encoding='ascii'):
            pass
        with open(only, 'w', encoding='utf-8') as file:
            json.dump(sorted(selection.only or ()), file)
        caller.own(scratch, queue, only)
        env = {**caller.env, **selection.env(), 'RINGWALL_BUILD': caller.build, 'PYTHONDONTWRITEBYTECODE': '1',
               'PYTEST_DISABLE_PLUGIN_AUTOLOAD': '1', 'PYTHONPATH': f'{caller.tree}/tests/helpers'}
        options = [f'--queue={queue}']
        options += [f'--only={only}'] if selection.only is not None else []
        options += ['-m', marks] if marks and selection.only is None else []
        options += ['-k', selection.word] if selection.word else []

        def watch(line):
            if CASE_LINE.search(line.rstrip()):
                task.total = task.total or collected(queue)
                task.done = min(task.done + 1, task.total)      # one that fails at its end has two lines

        def work(number):
            end = 'front' if number < max(1, workers // 3) else 'back'
            return run([sys.executable, '-m', 'pytest', '-v', '--color=no', '-p', 'no:cacheprovider',
                        '-p', 'side_by_side', f'--from={end}', f'--results={scratch}/{number}.results',
                        f'--basetemp={scratch}/{number}',
                        *options, folder], watch, cwd=caller.tree, env=env, **caller.identity)
        with concurrent.futures.ThreadPoolExecutor(workers) as pool:
            ended = list(pool.map(work, range(workers)))
        cases = []
        for number, (status, output) in enumerate(ended):
            cases += read_results(suite, f'{scratch}/{number}.results')
            if status not in (0, 1, 5):
                cases.append(failed(suite, f'pytest {number}', f'ended with status {status}\n{output}'))
        if len(cases) < collected(queue):
            cases.append(failed(suite, 'no case is lost', f'of {collected(queue)} cases {len(cases)} were reported'))
        for pid, command in caller.left_running():
            cases.append(failed(suite, 'nothing is left running', f'process {pid}: {command}'))
        return cases
    finally:
        callers.remove_later(scratch)


def collected(queue):
    """How many cases the workers found."""
    with open(queue, encoding='ascii') as file:
        return int(file.read().partition(':')[0] or 0)


def read_results(suite, path):
    """What the plugin wrote: a line for each case."""
    if not os.path.exists(path):
        return
    with open(path, encoding='utf-8') as file:
        for line in file:
            told = json.loads(line)
            if told['result'] == 'skipped':
                yield skipped(suite, told['case'], told['text'])
            else:
                final = told['final'] or told['result'] == 'failed' and bool(CRASH.search(told['text']))
                yield Case(suite, told['case'], told['result'], told['text'], told['seconds'], final)
