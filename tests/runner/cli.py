"""./test [quick | all] [SUITE...]: the options, the order of a run, and what it says."""
import argparse
import collections
import concurrent.futures
import contextlib
import os
import re
import sys
import time

from runner.cases import (check_unreliable, count, excuse_unreliable, failed, read_results, read_unreliable, skipped,
                          write_results)
from runner.commands import BUILD, TOP, MachineLock, run, start_cleanly
from runner.meson_suite import meson_suites
from runner.progress import Progress
from runner.pytest_suite import Callers
from runner.retry import check_flaky, retry_failed
from runner.suites import SIZES, SUITES, Selection, concerned_suites, find_base, git, named

OVER_BUDGET = 1.5       # a suite that takes so many times its budget is named
SLOWEST_SHOWN = 20
UNRELIABLE = f'{TOP}/tests/unreliable.txt'
RESULTS = f'{BUILD}/test-results'


class Session:
    """One run: what its suites share, and what came out."""

    def __init__(self, suites, selections, progress):
        self.suites, self.selections, self.progress = suites, selections, progress
        self.callers, self.lock, self.base = Callers(), MachineLock(), find_base()
        self.cases, self.times = [], {}

    def start(self, suite, selection):
        """Runs one suite and returns its cases. A fault of the runner itself is a failure of the suite."""
        if suite.needs == 'root' and os.geteuid() != 0:
            return [skipped(suite.name, 'all of it', 'needs root: sudo ./test runs it')], []
        task = self.progress.begin(suite.name, self.budget(suite))
        task.notes = []
        try:
            return suite.start(self, selection, task), task.notes
        except Exception as error:     # noqa: BLE001 - whatever it is, the other suites still run
            return [failed(suite.name, 'the suite runs', f'{type(error).__name__}: {error}')], []
        finally:
            self.progress.end(task)

    def budget(self, suite):
        selection = self.selections[suite.name]
        return None if selection.word or selection.only is not None else suite.budgets.get(selection.size)

    def run_suite(self, suite):
        begin = time.monotonic()
        cases, notes = self.start(suite, self.selections[suite.name])
        seconds = time.monotonic() - begin
        if self.selections[suite.name].word:
            cases = [case for case in cases if not case.name.startswith('pytest ')]    # no case has the word
        self.cases += cases
        self.times[suite.name] = (seconds, self.budget(suite))
        self.progress.say(suite_line(suite.name, cases, seconds, self.budget(suite), notes))

    def run_lanes(self):
        def lane(name):
            for suite in [suite for suite in self.suites if suite.lane == name]:
                self.run_suite(suite)
        self.lock.share()
        lane('first')
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            for future in [pool.submit(lane, name) for name in ('waiting', 'computing')]:
                future.result()
        self.lock.take()
        lane('alone')

    def run_again(self, name, names):
        suite = next(suite for suite in SUITES if suite.name == name)
        cases, _ = self.start(suite, Selection(self.selections[name].size, only=names))
        return cases


def suite_line(name, cases, seconds, budget, notes):
    counts = count(cases)
    line = (f'{name:24}{counts["passed"]:5} passed {counts["failed"]:4} failed {counts["skipped"]:4} skipped '
            f'{seconds:7.1f} s')
    if budget and seconds > OVER_BUDGET * budget:
        line += f', over its budget of {budget} s'
    skips = collections.Counter((re.split('::|: ', case.name)[0], case.text)
                                for case in cases if case.result == 'skipped')
    return '\n'.join([line, *(f'    {note}' for note in notes),
                      *(f'    skipped {number:3} {where}: {reason}' for (where, reason), number in skips.items())])


def indent(text):
    return '\n'.join(f'        {line}'.rstrip() for line in text.strip().splitlines())


def show(cases, unreliable):
    """What did not simply pass, with its output. Failures come last, where a reader of a long log looks first."""
    for case in cases:
        if case.result == 'flaky':
            print(f'    flaky {case.suite} {case.name}: it failed, and then passed\n{indent(case.text)}')
    for case in cases:
        if case.result == 'unreliable':
            print(f'    unreliable {case.suite} {case.name}: {unreliable[case.name][1]}\n{indent(case.text)}')
    for case in cases:
        if case.result == 'failed':
            print(f'    FAILED {case.suite} {case.name}\n{indent(case.text)}')


def show_slowest():
    last = read_results(RESULTS)
    if not last:
        sys.exit(f'run-suites: no run has left results in {RESULTS}')
    slowest = sorted(last['cases'], key=lambda case: -case[3])[:SLOWEST_SHOWN]
    for suite, name, _, seconds in slowest:
        print(f'{seconds:7.1f} s  {suite:18} {name}')


def parse(arguments):
    parser = argparse.ArgumentParser(
        prog='./test', description='Runs the test suites. Without arguments: what a change must pass, in ten minutes.',
        epilog='The results are left in test-results/ of the build directory.')
    parser.add_argument('what', nargs='*', metavar='quick|all|SUITE', help='a size of run, or suites')
    parser.add_argument('-l', '--list', action='store_true', help='list the suites, with their budgets')
    parser.add_argument('-k', dest='word', default='', help='only cases with this word in their name')
    parser.add_argument('--changed', nargs='?', const='', metavar='REV',
                        help='only the suites that the change since REV concerns (default: since origin/main)')
    parser.add_argument('--failed', action='store_true', help='only the cases that failed or were flaky last time')
    parser.add_argument('--times', action='store_true', help='list the slowest cases of the last run, and run nothing')
    return parser, parser.parse_args(arguments)


def choose(parser, options):
    """Returns the suites to run, and {name: Selection}."""
    size = next((what for what in options.what if what in SIZES), 'middle')
    names = [what for what in options.what if what not in SIZES]
    known = {suite.name for suite in SUITES}
    if unknown := [name for name in names if name not in known and not any(named([name]))]:
        parser.error(f'no suite is called {unknown[0]}; there are: {" ".join(suite.name for suite in SUITES)}')
    suites = named(names) if names else [suite for suite in SUITES if size in suite.budgets]
    if names and size == 'middle':      # a suite that is named runs, also one of `all`
        suites = [suite for suite in suites if size in suite.budgets or suite.name in names]
    if options.changed is not None:
        base = options.changed or find_base()
        if git('rev-parse', '-q', '--verify', f'{base}^{{commit}}') is None:
            parser.error(f'{base} is no commit')
        concerned = concerned_suites(base)
        suites = [suite for suite in suites if suite in named(concerned)]
    only = {}
    if options.failed:
        last = read_results(RESULTS)
        if not last:
            parser.error(f'no run has left results in {RESULTS}')
        for case in last['failed'] + last['flaky'] + last['unreliable']:
            only.setdefault(case['suite'], set()).add(case['case'])
        suites = [suite for suite in suites if suite.name in only]
    return size, suites, {suite.name: Selection(size, options.word, only.get(suite.name)) for suite in suites}


def list_suites():
    print(f'{"suite":24}' + ''.join(f'{size:>8}' for size in SIZES) + '  needs   (budgets in seconds)')
    for suite in SUITES:
        print(f'{suite.name:24}' + ''.join(f'{suite.budgets.get(size, "-"):>8}' for size in SIZES) + f'  {suite.needs}')


def check_table():
    """A suite in a meson.build that is in no row would never run."""
    missing = set(meson_suites()) - {suite.name for suite in SUITES}
    return [failed('checks', 'every meson suite is in the table', ' '.join(sorted(missing)))] if missing else []


def run_session(size, suites, selections):
    begin, started = time.monotonic(), time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime())
    unreliable, wrong = read_unreliable(UNRELIABLE)
    progress = Progress()
    session = Session(suites, selections, progress)
    try:
        session.run_lanes()
        cases = session.cases
        retry_failed(cases, session.run_again, progress.say)
        excuse_unreliable(cases, unreliable)
        cases += [check_unreliable(unreliable, wrong, size), *check_table(), *check_flaky(cases)]
    finally:
        left = session.callers.close()
        session.lock.release()
        progress.close()
    cases += [failed('checks', 'no files are left behind', f'{folder} cannot be removed: is something mounted there?')
              for folder in left]
    seconds = time.monotonic() - begin
    about = {'commit': git('rev-parse', 'HEAD'), 'changed': bool(git('status', '--porcelain')), 'size': size,
             'started': started, 'seconds': round(seconds, 1)}
    write_results(RESULTS, about, {'checks': (0, None), **session.times}, cases)
    if os.geteuid() == 0:   # after `sudo ./test` the clone's owner can still build
        run(['chown', '-R', f'--reference={TOP}', *filter(os.path.exists, [BUILD, f'{BUILD}-san', f'{BUILD}-stub'])])
    show(cases, unreliable)
    counts = count(cases)
    print(f'{size}: {seconds:.0f} seconds, {counts["flaky"]} flaky, {counts["unreliable"]} unreliable')
    print(f'{counts["passed"]} passed, {counts["failed"]} failed, {counts["skipped"]} skipped')
    return 0 if counts['passed'] and not counts['failed'] else 1


def main(arguments=None):
    start_cleanly()
    parser, options = parse(arguments)
    if options.list:
        list_suites()
        return 0
    if options.times:
        show_slowest()
        return 0
    size, suites, selections = choose(parser, options)
    if not suites:
        print('no suite has anything to run')
        return 0
    with contextlib.suppress(KeyboardInterrupt):
        return run_session(size, suites, selections)
    return 130
