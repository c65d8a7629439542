"""Other kernels: tests/vm/run-vm boots machines, which leave reports of pytest, and one line for each machine."""
import contextlib
import json
import os
import xml.etree.ElementTree as ET

from runner.cases import Case, failed, skipped
from runner.commands import BUILD, TOP, run


def read_report(suite, machine, report):
    for case in ET.parse(report).iter('testcase'):
        name = f'{machine}: {case.get("classname")}: {case.get("name")}'
        bad = [child for child in case if child.tag in ('failure', 'error')]
        skip = case.find('skipped')
        if bad:
            yield failed(suite, name, '\n'.join(f'{child.get("message")}\n{child.text or ""}' for child in bad))
        elif skip is not None:
            reason = skip.get('message', '')
            yield skipped(suite, name, '' if reason == 'unconditional skip' else reason)
        else:
            yield Case(suite, name, seconds=float(case.get('time', 0)))


def run_vms(suite, selection, task):
    summary = f'{BUILD}/vm/reports/summary.json'
    with contextlib.suppress(FileNotFoundError):
        os.unlink(summary)
    status, output = run([f'{TOP}/tests/vm/run-vm'], env={**os.environ, **selection.env(), 'RINGWALL_BUILD': BUILD})
    if not os.path.exists(summary):
        return [failed(suite, 'tests/vm/run-vm', f'ended with status {status}\n{output}')]
    with open(summary, encoding='utf-8') as file:
        machines = json.load(file)
    cases = []
    for machine, told in machines.items():
        for report in told['reports']:
            cases += read_report(suite, machine, report)
        cases += [failed(suite, f'{machine}: {what}', text) for what, text in told['failures']]
        if told['unavailable']:
            cases.append(skipped(suite, f'{machine}: all of it', told['unavailable']))
        task.notes.append(f'{machine:12} {told["said"]}')
    return cases
