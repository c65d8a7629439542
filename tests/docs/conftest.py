"""What the tests of the pages share: the fixtures of the egress tests, which have those of the integration tests."""
import importlib.util
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / 'egress'))
_spec = importlib.util.spec_from_file_location('egress_conftest', HERE.parent / 'egress' / 'conftest.py')
egress = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(egress)

pytest_configure = egress.pytest_configure
pytest_collection_modifyitems = egress.pytest_collection_modifyitems
time_limit = egress.time_limit
build = egress.build
is_root = egress.is_root
repo = egress.integration.repo
home = egress.home
workspace = egress.workspace
doctor_before = egress.doctor_before
everywhere = egress.everywhere
internet = egress.internet
