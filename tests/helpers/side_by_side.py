"""A plugin for pytest: several processes share one list of cases, and whichever is free takes the next.

    python3 -m pytest -p side_by_side --queue=FILE --from=front|back --results=FILE [--only=FILE] …

--queue: the same file for all of them, empty in the beginning. It says how many cases there are and what they are called
(all must have collected the same), and how many pieces were taken from either end. --results: one line of JSON for each
case, written when it has ended, so a crash loses one case. --only: a JSON list of the cases to run.

At the front of the list are the slow cases (the mark `heavy`), one by one; after them the others, several of one function
at a time, because they often share what was proven by the first. Cases with the mark `together` and the same word in it
stay together. Who takes from the front gets what computes, who takes from the back what mostly waits: so the heavy ones
begin early, and yet do not all run at once.

Not pytest-xdist: an egress test enters a user namespace, which a process with threads cannot.
"""
import fcntl
import hashlib
import itertools
import json

import pytest

from inconclusive import Inconclusive

PIECE = 6       # cases of one function


def pytest_addoption(parser):
    parser.addoption('--queue', help='the file that says what is taken')
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
    """The list, cut: heavy ones first."""
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
        following = next(stream, None)     # or the session's fixtures would be torn down after each piece
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        if session.shouldstop or session.shouldfail:
            raise session.Interrupted(session.shouldstop or session.shouldfail)
        item = following
    return True


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    """Notes on a failure whether it is final: an attack that succeeded gets no second chance."""
    outcome = yield
    report = outcome.get_result()
    report.is_final = (report.failed and report.when == 'call' and item.get_closest_marker('attack') is not None
                       and not (call.excinfo and call.excinfo.errisinstance(Inconclusive)))


class Results:
    """Writes the result of each case."""

    def __init__(self, path):
        self.file = open(path, 'w', encoding='utf-8', buffering=1)     # open for the whole session
        self.told = {}

    def pytest_runtest_logreport(self, report):
        told = self.told.setdefault(report.nodeid, {'case': report.nodeid, 'result': 'passed', 'text': '', 'seconds': 0,
                                                    'final': False})
        told['seconds'] += report.duration
        if report.failed:
            told.update(result='failed', final=told['final'] or report.is_final)
            told['text'] += f'{report.longreprtext}\n' + ''.join(f'{name}:\n{text}\n' for name, text in report.sections)
        elif report.skipped and told['result'] == 'passed':
            told.update(result='skipped', text=skip_reason(report))

    def pytest_runtest_logfinish(self, nodeid):
        self.file.write(json.dumps(self.told.pop(nodeid)) + '\n')

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
