"""The fixtures and hooks of the integration tests that the model test uses."""
import importlib.util
import pathlib

HERE = pathlib.Path(__file__).resolve().parent
_spec = importlib.util.spec_from_file_location('integration_conftest', HERE.parent / 'integration' / 'conftest.py')
integration = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(integration)

pytest_configure = integration.pytest_configure
pytest_collection_modifyitems = integration.pytest_collection_modifyitems
level_can_be_held = integration.level_can_be_held
build = integration.build
