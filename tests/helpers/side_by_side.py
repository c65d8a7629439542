"""A plugin for pytest: several processes share one list of cases; a process that is free takes the next ones.

    python3 -m pytest -p side_by_side --queue=FILE --from=front|back --results=FILE [--only=FILE] …

--queue: a file that all processes share, empty in the beginning. It contains the number of cases, a hash of their names
(all processes must have collected the same), and how many pieces were taken from either end. --results: one line of JSON
for each case, written when it has ended, so a crash loses one case. --only: a JSON list of the cases to run.

The list is cut into pieces. At its front are the cases with the mark `heavy`, one in each piece. After them come the
others, several cases of one function in a piece, because they often share what the first one has proven. Cases with the
mark `together` and the same word in it are one piece. Heavy cases compute, the others mostly wait. A few processes take
pieces from the front, the rest from the back: so the heavy cases begin early, but do not all run at the same time.

Not pytest-xdist: an egress test enters a user namespace, which a process with threads cannot.
"""
import fcntl
import hashlib
import itertools
import json

import pytest

from inconclusive import Inconclusive

PIECE = 6       # the most cases of one function in a piece


def pytest_addoption(parser):
    parser.addoption('--queue', help='the file that counts the pieces that are taken')
    parser.addoption('--from', dest='end', choices=['front', 'back'], default='front',
                     help='the end from which to take')
    parser.addoption('--results', help='the file for results')
    parser.addoption('--only', help='the file that lists the cases to run')


def pytest_configure(config):
    if config.getoption('results'):
        config.pluginmanager.register(Results(config.getoption('results')))


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config, items):
    if config.getoption('only'):
        with open(config.getoption('only'), encoding='utf-8') as file:
            names = set(json.load(file))
        items[:] = [item for item in items if item.nodeid in names]


def pieces(items):
    """The list cut into pieces, those of heavy cases first."""
    def group_of(item):
        mark = item.get_closest_marker('together')
        return (item.module, *mark.args) if mark else (item.module, None, item.originalname)
    cut = []
    for (_, word, *_), group in itertools.groupby(items, group_of):
        group = list(group)
        size = len(group) if word else 1 if group[0].get_closest_marker('heavy') else PIECE
        cut += [group[start:start + size] for start in range(0, len(group), size)]
    return sorted(cut, key=lambda piece: not piece[0].get_closest_marker('heavy'))


def take(path, names, count, end):
    """The number of the next piece, from this end; None when all are taken."""
    with open(path, 'r+', encoding='ascii') as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        known, *taken = file.read().split() or [names, '0', '0']
        if known != names:
            pytest.exit('another pytest collected other cases', 3)
        front, back = map(int, taken)
        if front + back == count:
            return None
        file.seek(0)
        file.write(f'{names} {front + (end == "front")} {back + (end == "back")}\n')
        return front if end == 'front' else count - 1 - back


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session):
    path = session.config.getoption('queue')
    if not path or session.config.option.collectonly or session.testsfailed:
        return None
    cut = pieces(session.items)
    names = hashlib.sha256('\n'.join(item.nodeid for item in session.items).encode()).hexdigest()[:16]
    names = f'{len(session.items)}:{names}'

    def taken():
        while (number := take(path, names, len(cut), session.config.getoption('end'))) is not None:
            yield from cut[number]
    stream = taken()
    item = next(stream, None)
    while item:
        following = next(stream, None)     # without it pytest would tear down the session's fixtures after each case
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        if session.shouldstop or session.shouldfail:
            raise session.Interrupted(session.shouldstop or session.shouldfail)
        item = following
    return True


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    """Marks a failure as final if it means that an attack succeeded: the runner does not run such a case again."""
    outcome = yield
    report = outcome.get_result()
    report.is_final = (report.failed and report.when == 'call' and item.get_closest_marker('attack') is not None
                       and not (call.excinfo and call.excinfo.errisinstance(Inconclusive)))


class Results:
    """Writes the result of each case."""

    def __init__(self, path):
        self.file = open(path, 'w', encoding='utf-8', buffering=1)     # open for the whole session
        self.results = {}

    def pytest_runtest_logreport(self, report):
        case = self.results.setdefault(report.nodeid, {'case': report.nodeid, 'result': 'passed', 'text': '',
                                                       'seconds': 0, 'final': False})
        case['seconds'] += report.duration
        if report.failed:
            case.update(result='failed', final=case['final'] or report.is_final)
            case['text'] += f'{report.longreprtext}\n' + ''.join(f'{name}:\n{text}\n' for name, text in report.sections)
        elif report.skipped and case['result'] == 'passed':
            case.update(result='skipped', text=skip_reason(report))

    def pytest_runtest_logfinish(self, nodeid):
        self.file.write(json.dumps(self.results.pop(nodeid)) + '\n')

    def pytest_collectreport(self, report):
        """A file that cannot be read is a failed case; its own cases are never collected."""
        if report.failed:
            self.file.write(json.dumps({'case': report.nodeid, 'result': 'failed', 'text': report.longreprtext,
                                        'seconds': 0, 'final': True}) + '\n')


def skip_reason(report):
    if hasattr(report, 'wasxfail'):
        return f'expected to fail: {report.wasxfail}'
    reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
    reason = reason.removeprefix('Skipped: ')
    return '' if reason in ('unconditional skip', 'Skipped') else reason
