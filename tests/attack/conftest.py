"""Fixtures: those of the integration tests, and stages to attack."""
import collections
import importlib.util
import os
import pathlib

import pytest

from attack_host import Stage

HERE = pathlib.Path(__file__).resolve().parent
_spec = importlib.util.spec_from_file_location('integration_conftest', HERE.parent / 'integration' / 'conftest.py')
integration = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(integration)

pytest_configure = integration.pytest_configure
time_limit = integration.time_limit
level_can_be_held = integration.level_can_be_held
build = integration.build
is_root = integration.is_root


# There are very many tests of rules by name. Except in `./test all`, only every Nth case of a test runs. N depends on
# level and user: the results hardly depend on the user, and maximum differs from strict only in the network.
ONE_OF = {('strict', 'user'): 1, ('strict', 'root'): 3, ('standard', 'user'): 2, ('standard', 'root'): 2,
          ('maximum', 'user'): 8, ('maximum', 'root'): 8}
# The same for the files in SLOW, whose cases take a second each.
ONE_OF_THE_SLOW = {('strict', 'user'): 2, ('strict', 'root'): 2, ('standard', 'user'): 4, ('standard', 'root'): 4,
                   ('maximum', 'user'): 16, ('maximum', 'root'): 16}
SLOW = ('test_git.py', 'test_git_named.py', 'test_names_replaced.py')
# The same for all other tests in a VM, which is slow, by kernel and level. 6.1 has no level standard, so 6.12 runs all
# cases of that level.
ONE_OF_IN_VM = {('6.1', 'maximum'): 4, ('6.12', 'strict'): 4, ('6.12', 'maximum'): 8}


def is_for_long_run(item, cases):
    """Whether this case runs only in `./test all`. `cases` are those of the same test at the same level; one of them
    always runs. root and user run different cases, so that at standard each case runs as one of them."""
    level = integration.level_of(item)
    by_name = item.path.name.startswith(('test_names', 'test_git'))
    in_vm = ONE_OF_IN_VM.get((os.environ.get('RINGWALL_VM'), level), 1) if item.path.name != 'test_network.py' else 1
    rows = ONE_OF_THE_SLOW if item.path.name in SLOW else ONE_OF
    one_of = rows.get((level, integration.USER), 1) if by_name else in_vm
    first = 1 if integration.USER == 'root' else 0
    return not integration.LONG and cases.index(item) % one_of != first % min(one_of, len(cases))


def pytest_collection_modifyitems(config, items):
    integration.pytest_collection_modifyitems(config, items)
    cases = collections.defaultdict(list)
    for item in items:
        cases[item.path, item.originalname, integration.level_of(item)].append(item)
    left_out = {item for group in cases.values() for item in group if is_for_long_run(item, group)}
    config.hook.pytest_deselected(items=list(left_out))
    items[:] = [item for item in items if item not in left_out]
    for item in items:
        item.add_marker('attack')


@pytest.fixture
def stages(tmp_path, build):
    """Makes a stage: stages('out') -> Stage. The processes that it starts are killed after the test."""
    all_stages = []

    def make(name):
        stage = Stage(tmp_path / name, build)
        all_stages.append(stage)
        return stage
    yield make
    for stage in all_stages:
        stage.close()
