"""Runs failed cases again, by themselves. What passes then is flaky: it counts as passed and is listed.

Not everything gets this chance. An attack that succeeded, a sanitizer's report and a program of ours that crashed are
failures at once (`Case.final`), and where many cases fail something is broken.
"""
from runner.cases import FLAKY_MAX, failed

RETRIES = 2
RETRIED_MAX = 20        # failed cases of a run; with more of them it is not chance


def retry_failed(cases, run_again, say):
    """run_again(suite, names) -> cases. Changes the cases that pass to flaky."""
    waiting = [case for case in cases if case.result == 'failed' and not case.final]
    if len(waiting) > RETRIED_MAX:
        say(f'{len(waiting)} cases failed, too many to run them again')
        return
    for attempt in range(RETRIES):
        suites = {}
        for case in waiting:
            suites.setdefault(case.suite, {})[case.name] = case
        for suite, mine in suites.items():
            say(f'{suite}: running {len(mine)} failed cases again, by themselves ({attempt + 1} of {RETRIES})')
            for again in run_again(suite, set(mine)):
                case = mine.get(again.name)
                if case and again.result == 'passed':
                    case.result = 'flaky'
                elif case and again.final:
                    case.final, case.text = True, again.text
                elif not case and again.final:
                    cases.append(again)
        waiting = [case for case in waiting if case.result == 'failed' and not case.final]


def check_flaky(cases):
    """More than a few are a fault themselves."""
    flaky = [case.name for case in cases if case.result == 'flaky']
    if len(flaky) > FLAKY_MAX:
        return [failed('checks', 'few cases are flaky', f'{len(flaky)} cases are; {FLAKY_MAX} may be')]
    return []
