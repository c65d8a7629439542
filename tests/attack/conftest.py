"""What the attacks share: the fixtures of the integration tests, and a host with something worth attacking."""
import importlib.util
import pathlib

import pytest

from stage import Stage

HERE = pathlib.Path(__file__).resolve().parent
_spec = importlib.util.spec_from_file_location('integration_conftest', HERE.parent / 'integration' / 'conftest.py')
integration = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(integration)

pytest_configure = integration.pytest_configure
time_limit = integration.time_limit
level_can_be_held = integration.level_can_be_held
build = integration.build
is_root = integration.is_root


def pytest_collection_modifyitems(config, items):
    integration.pytest_collection_modifyitems(config, items)
    for item in items:
        item.add_marker('attack')


@pytest.fixture
def stages(tmp_path, build):
    """Makes a host to attack: stages('out') -> Stage. Everything it started ends with the test."""
    made = []

    def make(name):
        stage = Stage(tmp_path / name, build)
        made.append(stage)
        return stage
    yield make
    for stage in made:
        stage.close()
