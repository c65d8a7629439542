"""The documentation agrees with the source: keys and bounds in the manual, folders, lists, links and file names."""
import json
import re

import pytest

pytestmark = pytest.mark.source


def schema_keys(schema, path=''):
    """The dotted paths of all leaves and described maps of a JSON Schema; "*" stands for a name that users choose."""
    if 'anyOf' in schema or 'items' in schema or ('properties' not in schema and path):
        return {path}
    keys = set()
    for name, below in schema.get('properties', {}).items():
        keys |= schema_keys(below, f'{path}.{name}'.lstrip('.'))
    if isinstance(schema.get('additionalProperties'), dict):
        keys |= schema_keys(schema['additionalProperties'], f'{path}.*')
    if 'description' in schema and path:
        keys.add(path)
    return keys


@pytest.fixture
def schema(ringwall):
    return json.loads(ringwall('policy', 'schema').stdout)


@pytest.fixture
def manual(build):
    return (build / 'man/ringwall-policy.5.scd').read_text()


def test_manual_has_every_key_of_the_schema_and_no_other(schema, manual):
    section = manual.split('\n# KEYS\n')[1].split('\n# ')[0]
    written = {re.sub(r'\\(.)', r'\1', line[1:-1]) for line in section.splitlines() if re.fullmatch(r'\*.*\*', line)}
    assert written == schema_keys(schema)


def test_manual_states_the_bounds_of_the_source(repo, manual):
    caps = dict(re.findall(r'(\w+_MAX) = ([^,]+),', (repo / 'src/policy/input_limits.h').read_text()))
    limits = ' '.join(manual.split('\n# LIMITS\n')[1].split('\n# ')[0].split())
    assert eval(caps['POLICY_FILE_BYTES_MAX']) == 1 << 20 and '1 MiB' in limits
    for name in ('NODES', 'DEPTH', 'KEYS', 'ANCHORS', 'TEXT', 'WRITABLE', 'SERVERS', 'GRANTS', 'PATTERNS', 'HOSTS'):
        assert re.search(rf'\b{int(caps[f"POLICY_{name}_MAX"])}\b', limits), f'POLICY_{name}_MAX is not in LIMITS'


def test_every_folder_of_src_is_in_the_architecture_page(repo):
    text = (repo / 'docs/architecture.md').read_text()
    folders = {path.name for path in (repo / 'src').iterdir() if path.is_dir()}
    assert {name for name in folders if f'`src/{name}/`' not in text} == set()


def test_every_decision_page_is_listed(repo):
    folder = repo / 'docs/decisions'
    listed = set(re.findall(r'\]\((.*?\.md)\)', (folder / 'README.md').read_text()))
    assert listed == {path.name for path in folder.glob('*.md')} - {'README.md'}


@pytest.mark.parametrize('page', ['README.md', 'CONTRIBUTING.md', 'SECURITY.md', 'docs/architecture.md', 'docs/mcp.md'])
def test_links_and_file_names_in_a_page_exist(repo, page):
    text = (repo / page).read_text()
    base = (repo / page).parent
    missing = [link for link in re.findall(r'\]\(([^)#:]+)\)', text) if not (base / link).exists()]
    missing += [name for name in re.findall(r'`((?:src|tests|tools|docs)/[\w./-]+)`', text)
                if not (repo / name).exists()]
    assert missing == []
