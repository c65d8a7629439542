"""The result of each case of a run, what decides it, and the files that keep it."""
import dataclasses
import datetime
import json
import os
import re
import xml.etree.ElementTree as ET

UNRELIABLE_MAX = 20             # rows of the list
UNRELIABLE_DAYS = 31            # after which a row is a failure of `./test all`
FLAKY_MAX = 10                  # flaky cases in a run that still passes

# A program of ours that crashed, or that a sanitizer found out: never a matter of load.
CRASH = re.compile(r'(Address|Leak|Memory|Thread|UndefinedBehavior)Sanitizer|: runtime error: |Assertion [`\'].*failed'
                   r'|Segmentation fault|returncode=-(4|6|7|8|11)\b|dumped core|stack smashing detected')


@dataclasses.dataclass
class Case:
    """One case. `result` is passed, failed, skipped, flaky (it failed and then passed) or unreliable (it failed, is on
    the list of such cases, and does not decide). `text` is the first failure's output, or why it was skipped."""
    suite: str
    name: str
    result: str = 'passed'
    text: str = ''
    seconds: float = 0
    final: bool = False         # a failure that running it again would not excuse


def failed(suite, name, text, final=True):
    return Case(suite, name, 'failed', text, final=final)


def skipped(suite, name, reason):
    """In CI a skip needs a reason."""
    if reason or not os.environ.get('CI'):
        return Case(suite, name, 'skipped', reason or 'no reason given')
    return failed(suite, name, 'skipped without a reason')


def count(cases):
    """{result: number}; what is flaky has passed."""
    counts = {result: sum(case.result == result for case in cases)
              for result in ('passed', 'failed', 'skipped', 'flaky', 'unreliable')}
    counts['passed'] += counts['flaky']
    return counts


# The list of unreliable cases

def read_unreliable(path):
    """Returns {case: (since, why, cure)} and what is wrong with the list."""
    rows, wrong = {}, []
    with open(path, encoding='utf-8') as file:
        for number, line in enumerate(file, 1):
            if not line.strip() or line.startswith('#'):
                continue
            fields = [field.strip() for field in line.split('|')]
            place = f'{os.path.basename(path)}:{number}'
            if len(fields) != 4 or not all(fields):
                wrong.append(f'{place}: expected CASE | SINCE | WHY | WHAT WOULD MEND IT')
                continue
            try:
                fields[1] = datetime.date.fromisoformat(fields[1])
            except ValueError:
                wrong.append(f'{place}: expected a date as 2026-01-31, not {fields[1]}')
                continue
            if re.search(r'(^|/)attack/|/test_attacks', fields[0]):
                wrong.append(f'{place}: an attack decides, always')
            rows[fields[0]] = tuple(fields[1:])
    if len(rows) > UNRELIABLE_MAX:
        wrong.append(f'{os.path.basename(path)}: {len(rows)} rows; {UNRELIABLE_MAX} are the most')
    return rows, wrong


def check_unreliable(rows, wrong, size, today=None):
    """The list itself, as a case."""
    wrong = list(wrong)
    if size == 'all':
        oldest = (today or datetime.date.today()) - datetime.timedelta(days=UNRELIABLE_DAYS)
        wrong += [f'{name}: unreliable since {since}, more than {UNRELIABLE_DAYS} days'
                  for name, (since, _, _) in rows.items() if since < oldest]
    name = 'tests/unreliable.txt'
    return failed('checks', name, '\n'.join(wrong)) if wrong else Case('checks', name)


def excuse_unreliable(cases, rows):
    for case in cases:
        if case.result == 'failed' and case.name in rows and not case.final:
            case.result = 'unreliable'


# The files

def write_results(folder, about, suites, cases):
    """results.json and junit.xml. `about` has commit, size and time; `suites` is {name: (seconds, budget)}."""
    os.makedirs(folder, exist_ok=True)
    result = {**about, 'counts': count(cases),
              'suites': {name: {'seconds': round(seconds, 1), 'budget': budget,
                                **count([case for case in cases if case.suite == name])}
                         for name, (seconds, budget) in suites.items()},
              **{kind: [{'suite': case.suite, 'case': case.name, 'text': case.text}
                        for case in cases if case.result == kind]
                 for kind in ('failed', 'flaky', 'unreliable', 'skipped')},
              'cases': [[case.suite, case.name, case.result, round(case.seconds, 3)] for case in cases]}
    with open(f'{folder}/results.json', 'w', encoding='utf-8') as file:
        json.dump(result, file, indent=1)
    write_junit(f'{folder}/junit.xml', suites, cases)


JUNIT_TAGS = {'failed': 'failure', 'skipped': 'skipped', 'unreliable': 'skipped', 'flaky': 'system-out'}


def write_junit(path, suites, cases):
    root = ET.Element('testsuites')
    for name, (seconds, _) in suites.items():
        mine = [case for case in cases if case.suite == name]
        counts = count(mine)
        element = ET.SubElement(root, 'testsuite', name=name, time=f'{seconds:.1f}', tests=str(len(mine)),
                                failures=str(counts['failed']), skipped=str(counts['skipped'] + counts['unreliable']))
        for case in mine:
            node = ET.SubElement(element, 'testcase', classname=name, name=printable(case.name),
                                 time=f'{case.seconds:.3f}')
            if tag := JUNIT_TAGS.get(case.result):
                ET.SubElement(node, tag).text = printable(case.text if tag != 'system-out' else f'flaky: {case.text}')
    ET.ElementTree(root).write(path, encoding='utf-8', xml_declaration=True)


def printable(text):
    """Without what XML cannot carry."""
    return re.sub(r'[^\t\n\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]', '\ufffd', text)


def read_results(folder):
    """The results of the last run, or None."""
    try:
        with open(f'{folder}/results.json', encoding='utf-8') as file:
            return json.load(file)
    except FileNotFoundError:
        return None
