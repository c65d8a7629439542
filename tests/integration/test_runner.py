"""tests/runner: what it counts, what it runs again, and that nothing is lost on the way."""
import datetime
import json
import os
import signal
import subprocess
import sys
import textwrap
import xml.etree.ElementTree as ET

import pytest

REPO = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
sys.path.insert(0, f'{REPO}/tests')

from runner import cases, cli, meson_suite, progress, pytest_suite, suites  # noqa: E402 - needs the path

pytestmark = pytest.mark.source

CMOCKA = '''<testsuites>
  <testsuite name="tests" time="0.000" tests="4" failures="1" errors="0" skipped="1" >
    <testcase name="a" time="0.000" >
      <failure><![CDATA["<x>]]>&\033[2J" != "y"
x.c:6: error: Failure!]]></failure>
    </testcase>
    <testcase name="b" time="0.000" >
      <skipped/>
    </testcase>
    <testcase name="c" time="0.000" >
    </testcase>
    <testcase name="d" time="0.000" >
    </testcase>
  </testsuite>
</testsuites>'''
CMOCKA_GOOD = '<testcase name="a" time="0" >\n</testcase>'


@pytest.mark.parametrize('result, output, status, reports, counts, final', [
    ('OK', '', 0, [CMOCKA_GOOD], (1, 0, 0), False),
    ('OK', '', 0, [], (1, 0, 0), False),                            # a program without cmocka is one case
    ('FAIL', 'skip: why\n', 1, [CMOCKA], (2, 1, 1), False),
    ('FAIL', 'no reason\n', 1, [CMOCKA], (2, 2, 0), True),          # a skip without a reason
    ('FAIL', 'leak', 1, [CMOCKA_GOOD], (1, 1, 0), False),           # every case passed and the program failed
    ('FAIL', 'ERROR: LeakSanitizer: x', 1, [CMOCKA_GOOD], (1, 1, 0), True),
    ('FAIL', '', -11, [CMOCKA_GOOD], (1, 1, 0), True),
    ('TIMEOUT', '', -15, [], (0, 1, 0), False),
    ('SKIP', 'skip: no user namespaces\n', 77, [], (0, 0, 1), False),
    ('SKIP', '', 77, [], (0, 1, 0), True),
])
def test_cases_of_a_test_program_are_counted(monkeypatch, result, output, status, reports, counts, final):
    monkeypatch.setenv('CI', 'true')
    test = {'name': 'x', 'result': result, 'stdout': output, 'returncode': status}
    found = meson_suite.read_program('unit', test, reports)
    count = cases.count(found)
    assert (count['passed'], count['failed'], count['skipped']) == counts
    assert any(case.final for case in found if case.result == 'failed') == final


# A run

def suite(name, *results, lane='first'):
    """A suite whose cases end so, each time that they are run: 'fail pass' fails once."""
    attempts = {}

    def start(_, selection, task):
        for number, result in enumerate(results):
            case = f'case{number}'
            if selection.only is None or case in selection.only:
                attempt = attempts[case] = attempts.get(case, -1) + 1
                word = result.split()[min(attempt, len(result.split()) - 1)]
                yield {'pass': cases.Case(name, case), 'skip': cases.skipped(name, case, 'why'),
                       'fail': cases.failed(name, case, f'attempt {attempt}', final=False),
                       'final': cases.failed(name, case, 'the attack succeeded')}[word]
    return suites.Suite(name, lane, suites.budgets(1, 1, 1), lambda *words: list(start(*words)))


@pytest.fixture
def run(monkeypatch, tmp_path, capsys):
    """Runs a table of suites: returns the exit status, the output and the results that were left."""
    def run(*table, unreliable=''):
        (tmp_path / 'unreliable.txt').write_text(unreliable)
        for module in cli, suites:
            monkeypatch.setattr(module, 'SUITES', table)
        monkeypatch.setattr(cli, 'UNRELIABLE', str(tmp_path / 'unreliable.txt'))
        monkeypatch.setattr(cli, 'RESULTS', str(tmp_path / 'results'))
        monkeypatch.setattr(cli, 'check_table', lambda: [])
        monkeypatch.setattr(cli, 'run', lambda command: (0, ''))
        monkeypatch.setattr(cli.MachineLock, 'share', lambda self: None)
        monkeypatch.setattr(cli.MachineLock, 'take', lambda self: None)
        selections = {row.name: suites.Selection('middle') for row in table}
        status = cli.run_session('middle', table, selections)
        return status, capsys.readouterr().out, json.loads((tmp_path / 'results/results.json').read_text())
    return run


@pytest.mark.parametrize('results, line, status', [
    (['pass', 'pass'], '3 passed, 0 failed, 0 skipped', 0),         # with the list of unreliable cases, which is one
    (['pass', 'skip'], '2 passed, 0 failed, 1 skipped', 0),
    (['pass', 'fail'], '2 passed, 1 failed, 0 skipped', 1),
    (['pass', 'final'], '2 passed, 1 failed, 0 skipped', 1),
    (['pass', 'fail pass'], '3 passed, 0 failed, 0 skipped', 0),
    (['pass', 'fail fail pass'], '3 passed, 0 failed, 0 skipped', 0),
    (['pass', 'fail fail fail pass'], '2 passed, 1 failed, 0 skipped', 1),
    (['pass', 'final pass'], '2 passed, 1 failed, 0 skipped', 1),
    (['pass', 'fail final pass'], '2 passed, 1 failed, 0 skipped', 1),
    (['pass', 'fail skip'], '2 passed, 1 failed, 0 skipped', 1),
    (['fail pass'] * 10, '11 passed, 0 failed, 0 skipped', 0),
    (['fail pass'] * 11, '12 passed, 1 failed, 0 skipped', 1),      # more than ten are flaky
    (['fail pass'] * 21, '1 passed, 21 failed, 0 skipped', 1),      # not run again
])
def test_run_ends_with_one_line_of_counts(run, results, line, status):
    got, said, _ = run(suite('a', *results))
    assert (got, said.splitlines()[-1]) == (status, line)


def test_flaky_case_is_listed_with_its_first_output(run, tmp_path):
    status, said, left = run(suite('a', 'fail pass', 'pass'), suite('b', 'pass', lane='waiting'))
    assert status == 0 and 'flaky a case0' in said and 'attempt 0' in said
    assert left['flaky'] == [{'suite': 'a', 'case': 'case0', 'text': 'attempt 0'}] and left['size'] == 'middle'
    assert ['b', 'case0', 'passed', 0] in left['cases'] and left['suites']['a']['flaky'] == 1
    report = ET.parse(tmp_path / 'results/junit.xml').getroot()
    assert [(element.get('name'), element.get('tests'), element.get('failures')) for element in report] == [
        ('checks', '1', '0'), ('a', '2', '0'), ('b', '1', '0')]


def test_unreliable_case_does_not_decide(run):
    row = f'case0 | {datetime.date.today()} | slow disk | a faster one\n'
    status, said, left = run(suite('a', 'fail', 'pass'), unreliable=row)
    assert status == 0 and 'unreliable a case0: slow disk' in said and left['counts']['unreliable'] == 1
    assert run(suite('a', 'final', 'pass'), unreliable=row)[0] == 1


def test_suite_that_raises_is_a_failure_and_the_others_run(run):
    def start(*_):
        raise ValueError('broken')
    broken = suites.Suite('broken', 'first', suites.budgets(1, 1, 1), start)
    status, said, left = run(broken, suite('b', 'pass'))
    assert status == 1 and 'ValueError: broken' in said and left['counts']['passed'] == 2


# The list of unreliable cases

@pytest.mark.parametrize('text, size, wrong', [
    ('# a comment\n\nx | 2026-01-31 | why | cure\n', 'middle', ''),
    ('x | 2026-01-31 | why\n', 'middle', 'expected CASE'),
    ('x | soon | why | cure\n', 'middle', 'expected a date'),
    ('tests/attack/test_x.py::y | 2026-01-31 | why | cure\n', 'middle', 'an attack decides'),
    ('tests/egress/test_attacks_dns.py::y | 2026-01-31 | why | cure\n', 'middle', 'an attack decides'),
    (''.join(f'x{number} | 2026-01-31 | why | cure\n' for number in range(21)), 'middle', '21 rows'),
    ('x | 2026-01-31 | why | cure\n', 'all', 'unreliable since 2026-01-31'),
    ('x | 2026-03-01 | why | cure\n', 'all', ''),
])
def test_list_of_unreliable_cases_is_checked(tmp_path, text, size, wrong):
    (tmp_path / 'unreliable.txt').write_text(text)
    rows, found = cases.read_unreliable(tmp_path / 'unreliable.txt')
    case = cases.check_unreliable(rows, found, size, datetime.date(2026, 3, 15))
    assert (case.result, wrong in case.text) == ('failed' if wrong else 'passed', True)


# Folders of pytest

@pytest.fixture
def run_pytest(tmp_path):
    """Runs files of pytest: run_pytest({'test_x.py': text}) -> cases."""
    folder = tmp_path / 'tree/tests'
    folder.mkdir(parents=True)
    (folder / 'helpers').symlink_to(f'{REPO}/tests/helpers')
    caller, callers = pytest_suite.Caller(), pytest_suite.Callers()
    caller.tree = caller.build = str(tmp_path / 'tree')

    def run_pytest(files, workers=2, selection=suites.Selection('middle')):
        for name, text in files.items():
            (folder / name).write_text(textwrap.dedent(text))
        run_pytest.task = task = progress.Task('x', None)
        found = pytest_suite.run_pytest('x', 'tests', caller, selection, task, callers, '', workers)
        for name in files:
            (folder / name).unlink()
        return found
    yield run_pytest
    assert callers.close() == []


def results(found):
    return {case.name.partition('::')[2] or case.name: (case.result, case.final) for case in found}


def test_results_of_pytest_are_told_apart(run_pytest):
    found = run_pytest({'test_a.py': '''
        import pytest
        from inconclusive import SetUpFailed

        @pytest.fixture
        def broken():
            raise ValueError
        @pytest.fixture
        def broken_end():
            yield
            raise ValueError
        def test_good(): pass
        def test_bad(): assert False
        def test_set_up(broken): pass
        def test_torn_down(broken_end): pass
        def test_skipped(): pytest.skip('no such thing')
        @pytest.mark.xfail(strict=True, reason='known')
        def test_known(): assert False
        @pytest.mark.attack
        def test_attack_succeeded(): assert False
        @pytest.mark.attack
        def test_attack_decided_nothing(): raise SetUpFailed('outside')
        @pytest.mark.attack
        def test_attack_without_stage(broken): pass
        def test_crash_of_ours(): assert 'returncode=-11' == ''
        @pytest.mark.parametrize('word', ['[x]', 'a/b::c', '\\x1b', 'é'])
        def test_odd_names(word): assert word == 'é'
    '''})
    told = results(found)
    names = {name: told[name] for name in told if 'odd' not in name}
    assert names == {
        'test_good': ('passed', False), 'test_bad': ('failed', False), 'test_set_up': ('failed', False),
        'test_torn_down': ('failed', False), 'test_skipped': ('skipped', False), 'test_known': ('skipped', False),
        'test_attack_succeeded': ('failed', True), 'test_attack_decided_nothing': ('failed', False),
        'test_attack_without_stage': ('failed', False), 'test_crash_of_ours': ('failed', True)}
    assert sorted(result for name, (result, _) in told.items() if name not in names) == ['failed'] * 3 + ['passed']


def test_only_the_named_cases_run_again(run_pytest):
    text = '''
        import pytest
        @pytest.mark.parametrize('word', ['[x]', 'a/b::c', '\\x1b', 'é'])
        def test_odd_names(word): pass
    '''
    names = [case.name for case in run_pytest({'test_a.py': text})]
    assert len(names) == 4
    for name in names:
        again = run_pytest({'test_a.py': text}, 1, suites.Selection('middle', only={name}))
        assert [case.name for case in again] == [name]


def test_what_is_done_is_counted(run_pytest):
    run_pytest({'test_a.py': '''
        import pytest
        @pytest.mark.parametrize('number', range(20))
        def test_fine(number): pass
    '''})
    assert (run_pytest.task.done, run_pytest.task.total) == (20, 20)


def test_crashed_pytest_is_a_failure(run_pytest):
    crash = 'import os\n\n\ndef test_crash():\n    os._exit(0)\n'
    fine = 'import time\n\n\ndef test_fine():\n    time.sleep(1)\n'
    assert results(run_pytest({'test_a.py': crash}, 1)) == {'no case is lost': ('failed', True)}
    found = results(run_pytest({'test_a.py': crash, 'test_b.py': fine}))
    assert found.pop('no case is lost') == ('failed', True) and all(result == 'passed' for result, _ in found.values())


def test_file_that_cannot_be_imported_is_a_failure(run_pytest):
    found = run_pytest({'test_a.py': 'import nothing_of_this_name\n', 'test_b.py': 'def test_fine(): pass\n'}, 1)
    assert any(case.result == 'failed' and 'nothing_of_this_name' in case.text for case in found)


# The command line

def call(repo, *arguments, **options):
    return subprocess.run([f'{repo}/tests/run-suites', *arguments], capture_output=True, text=True, timeout=120,
                          check=False, **options)


def test_table_of_suites_is_listed(repo):
    said = call(repo, '-l').stdout
    assert [line.split()[0] for line in said.splitlines()[1:]] == [row.name for row in suites.SUITES]


def test_unknown_suite_is_refused(repo):
    result = call(repo, 'units')
    assert result.returncode == 2 and 'no suite is called units; there are: checks unit' in result.stderr


@pytest.mark.parametrize('arguments, names', [
    (['assume'], ['assume']),
    (['integration-root'], ['integration-root', 'integration-root-alone']),
    (['quick'], [row.name for row in suites.SUITES if 'quick' in row.budgets]),
    ([], [row.name for row in suites.SUITES if 'middle' in row.budgets]),
    (['all'], [row.name for row in suites.SUITES if 'all' in row.budgets]),
    (['all', 'integration-user'], ['integration-user', 'integration-user-alone']),
    (['vm', 'lint'], ['lint', 'vm']),
])
def test_suites_are_chosen_by_size_and_by_name(arguments, names):
    parser, options = cli.parse(arguments)
    assert [row.name for row in cli.choose(parser, options)[1]] == names


@pytest.mark.parametrize('changed, names', [
    ('src/egress/dns.c', {'checks', 'egress-root', 'egress-user', 'fuzz', 'lint-changed', 'sanitizers', 'unit'}),
    ('tests/assume/x.c', {'checks', 'assume'}),
    ('README', {'checks'}),
])
def test_change_concerns_suites(monkeypatch, changed, names):
    monkeypatch.setattr(suites, 'git', lambda *arguments: changed if 'diff' in arguments else '')
    assert suites.concerned_suites('x') == names


def test_every_folder_of_the_source_concerns_a_suite(repo):
    for folder in (repo / 'src').iterdir():
        path = f'src/{folder.name}/x.c'
        assert next((names for prefix, names in suites.CONCERNED if path.startswith(prefix)), ()), path


def test_it_starts_the_same_however_it_is_started(repo):
    """Without standard streams or locale, with ignored and blocked signals and another umask."""
    script = textwrap.dedent(f'''
        import os, signal, subprocess, sys
        sys.path.insert(0, {str(repo / 'tests')!r})
        from runner import commands
        commands.start_cleanly()
        status, said = commands.run(['sh', '-c', 'umask; echo "$LANG"; grep -E "Sig(Blk|Ign)" /proc/self/status; ls -l /proc/self/fd/0'])
        open(sys.argv[1], 'w').write(said)
    ''')
    out = f'{os.environ.get("TMPDIR", "/tmp")}/started-{os.getpid()}'

    def spoil():
        os.umask(0o077)
        for number in signal.SIGHUP, signal.SIGINT, signal.SIGCHLD, signal.SIGUSR1:
            signal.signal(number, signal.SIG_IGN)
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
        for descriptor in 0, 1, 2:
            os.close(descriptor)
    try:
        subprocess.run([sys.executable, '-c', script, out], preexec_fn=spoil, timeout=60, check=False,
                       env={'PATH': os.environ['PATH']})
        with open(out, encoding='utf-8') as file:
            said = file.read().split('\n')
    finally:
        os.unlink(out)
    assert said[:2] == ['0022', 'C.UTF-8'] and said[4].endswith('/dev/null')
    blocked, ignored = (int(line.split()[1], 16) for line in said[2:4])
    assert (blocked, ignored) == (0, 0)


def test_when_it_is_told_to_end_nothing_goes_on(repo, tmp_path):
    mark = f'86391.{os.getpid()}'
    script = textwrap.dedent(f'''
        import sys
        sys.path.insert(0, {str(repo / 'tests')!r})
        from runner import commands
        commands.start_cleanly()
        print('ready', flush=True)
        try:
            commands.run(['sh', '-c', 'sleep {mark} & sleep {mark}'])
        except KeyboardInterrupt:
            sys.exit(130 if commands.run(['true'])[0] else 1)
    ''')
    process = subprocess.Popen([sys.executable, '-c', script], stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == 'ready\n'
    deadline = 100
    while deadline and not find(mark):
        deadline -= 1
    process.send_signal(signal.SIGTERM)
    assert process.wait(timeout=60) == 130
    assert not find(mark)


def find(word):
    return subprocess.run(['pgrep', '-f', f'sleep {word}'], stdout=subprocess.DEVNULL, check=False).returncode == 0
