"""The table of suites, and which of them a changed folder concerns.

A run has a size: quick (after each change), middle (`./test`, what a change must pass) or all (before a release). Which
cases of a pytest suite a size takes is decided by their marks: `quick` ones in every size, `long` ones only in `all`
(tests/integration/conftest.py leaves them out).

The lanes: `first`, one after the other; then `waiting` (most cases wait; several pytest at once) and `computing` beside
each other; then `alone`, one after the other, when nothing else runs on the machine.
"""
import dataclasses
import os
import subprocess
from collections.abc import Callable

from runner.cases import Case, failed
from runner.commands import BUILD, TOP, run
from runner.meson_suite import run_meson, run_sanitized, run_stub
from runner.pytest_suite import WORKERS, Caller, OrdinaryUser, run_pytest
from runner.vm_suite import run_vms

SIZES = ('quick', 'middle', 'all')
LONG_LOOPS = {'RINGWALL_DECISIONS': '1000000', 'RINGWALL_ROUNDS': '100000'}    # of the model and of the races


@dataclasses.dataclass(frozen=True)
class Suite:
    """One row. `budgets` has the seconds that the suite may take, for each size that it belongs to. start(session,
    selection, task) returns its cases. `needs` is what the machine must have."""
    name: str
    lane: str
    budgets: dict
    start: Callable
    needs: str = ''


@dataclasses.dataclass
class Selection:
    """What of a suite to run: a size, or a word in the names, or only some cases by name."""
    size: str
    word: str = ''
    only: set | None = None

    def env(self):
        """Tells tests which of their cases to run, and those that loop how long."""
        if self.size != 'all':
            return {}
        return {'RINGWALL_LONG': '1', **{name: os.environ.get(name, number) for name, number in LONG_LOOPS.items()}}


def budgets(quick=None, middle=None, everything=None):
    """None: not in that size."""
    return {size: seconds for size, seconds in zip(SIZES, (quick, middle, everything)) if seconds is not None}


# Tools: each is one case

def tools(*commands):
    def start(session, selection, task):
        cases, task.total = [], len(commands)
        for command in commands:
            if selection.only is None or f'tools/{command}' in selection.only:
                status, output = run([f'{TOP}/tools/{command.split()[0]}', *command.split()[1:]],
                                     env={**os.environ, 'RINGWALL_BUILD': BUILD, 'RINGWALL_BASE': session.base or ''})
                name = f'tools/{command}'
                cases.append(failed(task.name, name, output) if status else Case(task.name, name))
            task.done += 1
        return cases
    return start


def meson(*names):
    return lambda session, selection, task: run_meson(task.name, BUILD, selection, task, names)


# Marks of pytest cases

def marks(size, which):
    """The expression for -m: the cases of a size, and those that bear company or do not."""
    company = {'together': 'not alone', 'alone': 'alone', 'any': ''}[which]
    return ' and '.join(filter(None, [company, 'quick' if size == 'quick' else '']))


def pytest(folder, user, which='together', workers=WORKERS):
    """As root, what takes long runs in `all` only, unless nobody else runs it: it says little of root."""
    def start(session, selection, task):
        kind = OrdinaryUser if user == 'user' and os.geteuid() == 0 else Caller
        expression = marks(selection.size, which)
        if user == 'root' and selection.size != 'all':
            expression += ' and (not heavy or source or only_root)'
        if kind is OrdinaryUser:
            expression += (' and ' if expression else '') + 'not source'
        return run_pytest(task.name, folder, session.callers.get(kind), selection, task, session.callers, expression,
                          1 if selection.only is not None else workers)
    return start


SUITES = (
    Suite('checks', 'first', budgets(10, 10, 10),
          tools('check-layers', 'check-style', 'check-headers', 'check-policy-pure', 'check-readmes', 'check-columns',
                'check-words')),
    Suite('unit', 'first', budgets(40, 40, 40), meson('unit')),
    Suite('assume', 'first', budgets(5, 5, 5), meson('assume')),
    Suite('fuzz', 'first', budgets(5, 5, 5), meson('fuzz')),
    Suite('integration-user', 'waiting', budgets(20, 120, 1800), pytest('tests/integration', 'user')),
    Suite('integration-root', 'waiting', budgets(None, 90, 1800), pytest('tests/integration', 'root'), 'root'),
    Suite('attack-user', 'waiting', budgets(20, 120, 600), pytest('tests/attack', 'user')),
    Suite('attack-root', 'waiting', budgets(None, 120, 600), pytest('tests/attack', 'root'), 'root'),
    Suite('model-user', 'waiting', budgets(None, 40, 3600), pytest('tests/model', 'user')),
    Suite('model-root', 'waiting', budgets(None, 40, 3600), pytest('tests/model', 'root'), 'root'),
    Suite('egress-user', 'waiting', budgets(20, 50, 300), pytest('tests/egress', 'user')),
    Suite('egress-root', 'waiting', budgets(None, 50, 300), pytest('tests/egress', 'root'), 'root'),
    Suite('docs-user', 'waiting', budgets(None, 90, 300), pytest('tests/docs', 'user')),
    Suite('docs-root', 'waiting', budgets(None, 90, 300), pytest('tests/docs', 'root'), 'root'),
    Suite('platform', 'computing', budgets(None, 40, 60),
          lambda session, selection, task: run_stub(task.name, selection, task)),
    Suite('sanitizers', 'computing', budgets(None, 240, 300),
          lambda session, selection, task: run_sanitized(task.name, selection, task)),
    Suite('lint-changed', 'computing', budgets(None, 30), tools('lint --changed')),
    Suite('mcp', 'computing', budgets(None, 90, 300), pytest('tests/mcp', 'caller', workers=2), 'npm'),
    Suite('agents', 'computing', budgets(None, 20, 600), pytest('tests/agents', 'caller', workers=2), 'npm'),
    Suite('integration-user-alone', 'alone', budgets(None, 30, 300),
          pytest('tests/integration', 'user', 'alone', 1)),
    Suite('integration-root-alone', 'alone', budgets(None, 30, 300),
          pytest('tests/integration', 'root', 'alone', 1), 'root'),
    Suite('lint', 'alone', budgets(None, None, 300), tools('lint')),
    Suite('vm', 'alone', budgets(None, None, 7200),
          lambda session, selection, task: run_vms(task.name, selection, task), 'qemu-system-x86'),
)

# A path that begins so concerns these suites, and their parts that run alone. The first match decides.
CONCERNED = (
    ('tests/unit/', ('unit', 'sanitizers')),
    ('tests/fuzz/', ('fuzz', 'sanitizers')),
    ('tests/golden/', ('unit',)),
    ('tests/assume/', ('assume',)),
    ('tests/integration/', ('integration-user', 'integration-root')),
    ('tests/attack/', ('attack-user', 'attack-root')),
    ('tests/egress/', ('egress-user', 'egress-root')),
    ('tests/mcp/', ('mcp',)),
    ('tests/agents/', ('agents',)),
    ('tests/model/', ('model-user', 'model-root')),
    ('tests/docs/', ('docs-user', 'docs-root')),
    ('tests/bench/', ()),
    ('tests/vm/', ()),
    ('tests/', tuple(suite.name for suite in SUITES if 'middle' in suite.budgets)),
    ('src/gate/', ('unit', 'fuzz', 'sanitizers', 'lint-changed', 'integration-user')),
    ('src/tools/', ('unit', 'fuzz', 'sanitizers', 'lint-changed', 'integration-user', 'attack-user', 'mcp', 'agents')),
    ('src/mcp/', ('unit', 'fuzz', 'sanitizers', 'lint-changed', 'integration-user', 'attack-user', 'mcp', 'agents')),
    ('src/egress/', ('unit', 'fuzz', 'sanitizers', 'lint-changed', 'egress-user', 'egress-root')),
    ('src/policy/', ('unit', 'fuzz', 'sanitizers', 'lint-changed', 'integration-user', 'attack-user')),
    ('src/cli/', ('unit', 'fuzz', 'sanitizers', 'lint-changed', 'integration-user', 'integration-root')),
    ('src/', tuple(suite.name for suite in SUITES if 'middle' in suite.budgets)),
    ('include/', tuple(suite.name for suite in SUITES if 'middle' in suite.budgets)),
    ('man/', ('integration-user', 'docs-user')),
    ('docs/', ('integration-user', 'docs-user')),
    ('README.md', ('integration-user', 'docs-user')),
)


def named(names):
    """The suites of these names, each with the part of it that runs alone."""
    return [suite for suite in SUITES if suite.name in names or suite.name.removesuffix('-alone') in names]


def git(*arguments):
    result = subprocess.run(['git', '-C', TOP, *arguments], capture_output=True, text=True, check=False)
    return result.stdout.strip() if result.returncode == 0 else None


def find_base():
    """Where this branch left $RINGWALL_BASE or origin/main; on that commit itself, its parent."""
    head = git('rev-parse', 'HEAD')
    wanted = os.environ.get('RINGWALL_BASE') or 'origin/main'
    base = git('merge-base', 'HEAD', wanted) or git('merge-base', 'HEAD', 'main')
    return base if base and base != head else git('rev-parse', '-q', '--verify', 'HEAD~1') or head


def concerned_suites(base):
    """The names of the suites that a change since this commit concerns: checks always."""
    changed = (git('diff', '--name-only', base) or '').split('\n') + \
        (git('ls-files', '--others', '--exclude-standard') or '').split('\n')
    names = {'checks'}
    for path in filter(None, changed):
        names.update(next((suites for prefix, suites in CONCERNED if path.startswith(prefix)), ()))
    return names
