"""Programs that meson knows: unit tests, replayed fuzz corpora, proofs of what is assumed of the kernel."""
import contextlib
import json
import os
import re
import shlex
import sys
import tempfile

from runner.cases import CRASH, Case, failed, skipped
from runner.commands import BUILD, TOP, run

PROGRESS = re.compile(r'^\s*(\d+)/(\d+) ')
CMOCKA_CASE = re.compile(r'<testcase name="([^"]*)" time="([\d.]*)"[^>]*>(.*?)</testcase>', re.S)


def meson_suites(build=BUILD):
    """The suites' names, in the order of the build files."""
    with open(f'{build}/meson-info/intro-tests.json', encoding='utf-8') as file:
        tests = json.load(file)
    for test in tests:
        if not all(':' in suite for suite in test['suite']):
            sys.exit(f'run-suites: the test {test["name"]} is in no suite; name one in its meson.build')
    return list(dict.fromkeys(suite.split(':')[1] for test in tests for suite in test['suite']))


def skip_reason(test):
    """A test says why it skips in a line of its own: "skip: REASON"."""
    found = re.search(r'^skip: (.+)$', test.get('stdout', '') + '\n' + test.get('stderr', ''), re.M | re.I)
    return found[1] if found else ''


def read_report(suite, test, report):
    """The cases of one cmocka report. It may contain control characters, which an XML parser would refuse."""
    for name, seconds, body in CMOCKA_CASE.findall(report):
        name = f'{test["name"]}: {name}'
        failure = re.search(r'<failure><!\[CDATA\[(.*)\]\]></failure>', body, re.S)
        if failure:
            yield failed(suite, name, failure[1], final=False)
        elif '<skipped' in body:
            yield skipped(suite, name, skip_reason(test))
        else:
            yield Case(suite, name, seconds=float(seconds or 0))


def read_program(suite, test, reports):
    """One test program of meson's log: its cmocka cases if it reported any, otherwise itself as one case."""
    cases = [case for report in reports for case in read_report(suite, test, report)]
    output = f'{test.get("stdout", "")}{test.get("stderr", "")}'
    status = test.get('returncode', 0)
    crashed = bool(CRASH.search(output)) or status < 0 and test['result'] != 'TIMEOUT'
    for case in cases:
        case.final = case.final or crashed
    if test['result'] == 'SKIP' and not reports:
        cases.append(skipped(suite, test['name'], skip_reason(test)))
    elif test['result'] not in ('OK', 'SKIP', 'EXPECTEDFAIL') and all(case.result != 'failed' for case in cases):
        cases.append(failed(suite, test['name'], f'{test["result"]}, status {status}\n{output}', crashed))
    elif not reports and test['result'] != 'SKIP':
        cases.append(Case(suite, test['name'], seconds=test.get('duration', 0)))
    return cases


def run_meson(suite, build, selection, task, meson_suites_of, env=None):
    """Runs the programs of these meson suites, or those of them that the selection names."""
    cases = []
    with tempfile.TemporaryDirectory(prefix='reports-', dir=build) as reports:
        wrapper = ['sh', '-c', 'CMOCKA_XML_FILE="$REPORTS/${0##*/}.%g.xml" exec "$0" "$@"']
        log = f'{build}/meson-logs/testlog-sh.json'   # meson names it after the wrapper
        with contextlib.suppress(FileNotFoundError):
            os.unlink(log)
        command = ['meson', 'test', '-C', build, '--wrapper', shlex.join(wrapper)]
        for name in meson_suites_of:
            command += ['--suite', name]
        programs = programs_to_run(build, meson_suites_of, selection)
        if programs == []:
            return []

        def watch(line):
            if found := PROGRESS.match(line):
                task.done, task.total = int(found[1]), int(found[2])
        status, output = run([*command, *(programs or [])], watch,
                             env={**os.environ, **(env or {}), **selection.env(), 'REPORTS': reports,
                                  'CMOCKA_MESSAGE_OUTPUT': 'xml'})
        if not os.path.exists(log):
            return [failed(suite, 'meson test', output)]
        with open(log, encoding='utf-8', errors='replace') as file:
            tests = [json.loads(line) for line in file]
        for test in tests:
            program = os.path.basename(test['command'][len(wrapper)])
            texts = []
            for name in sorted(os.listdir(reports)):
                if name.startswith(f'{program}.'):
                    with open(f'{reports}/{name}', encoding='utf-8', errors='replace') as file:
                        texts.append(file.read())
            cases += read_program(suite, test, texts)
    if status != 0 and all(case.result != 'failed' for case in cases):
        cases.append(failed(suite, 'meson test', output))
    return cases


def programs_to_run(build, suites, selection):
    """None for all of them."""
    if selection.only is not None:
        return sorted({name.split(': ')[0] for name in selection.only})
    if not selection.word:
        return None
    with open(f'{build}/meson-info/intro-tests.json', encoding='utf-8') as file:
        return sorted({test['name'] for test in json.load(file) if selection.word in test['name']
                       and {suite.split(':')[1] for suite in test['suite']} & set(suites)})


def run_other_build(suite, name, meson_options, selection, task, wanted, env=None):
    """The same programs in a build of their own."""
    build = f'{BUILD}-{name}'
    status, output = run([f'{TOP}/tools/prepare'], env={
        **os.environ, 'RINGWALL_BUILD': build,
        'RINGWALL_MESON': f'{os.environ.get("RINGWALL_MESON", "")} {meson_options}'})
    if status != 0:
        return [failed(suite, 'tools/prepare', output)]
    return run_meson(suite, build, selection, task, [name for name in meson_suites(build) if name in wanted], env)


def run_sanitized(suite, selection, task):
    """With address, undefined behaviour and leak sanitizers."""
    return run_other_build(suite, 'san', '-Db_sanitize=address,undefined -Doptimization=1', selection, task,
                           ('unit', 'fuzz'), {'ASAN_OPTIONS': 'detect_leaks=1:strict_string_checks=1',
                                              'UBSAN_OPTIONS': 'halt_on_error=1:print_stacktrace=1'})


def run_stub(suite, selection, task):
    """On the stub platform: upper layers use a platform only by its interface."""
    return run_other_build(suite, 'stub', '-Dplatform=stub -Doptimization=0 -Ddebug=false -Dstatic=disabled', selection,
                           task, ('unit',))
