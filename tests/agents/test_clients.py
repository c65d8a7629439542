"""clients.py says what each agent shows its model. Real agents do so."""
import base64
import json
import pathlib
import sys

import pytest

from clients import CLIENTS, WHOLE, normal, shown_to_model
from picture import png

pytestmark = [pytest.mark.long, pytest.mark.heavy]
STUB = pathlib.Path(__file__).with_name('stub_server.py')
TEXT = {'type': 'text', 'text': ' one\t<two> & "three" \\ \N{SNOWMAN}\n\nfour \n'}
SECOND = {'type': 'text', 'text': 'five'}
IMAGE = {'type': 'image', 'data': base64.b64encode(png(8)).decode(), 'mimeType': 'image/png'}
META = {'_meta': {'ringwall/details': {'path': '/META'}}}
STRUCTURED = {'structuredContent': {'path': '/STRUCTURED', 'first_line': 1, 'lines': [{'b': None, 'a': True}]}}
RESULTS = {
    'text': {'content': [TEXT]},
    'two texts': {'content': [TEXT, SECOND]},
    'text and meta': {'content': [TEXT], **META},
    'text and structure': {'content': [TEXT], **STRUCTURED},
    'image and meta': {'content': [IMAGE], **META},
    'image and structure': {'content': [IMAGE], **STRUCTURED},
    'text, image and meta': {'content': [TEXT, IMAGE], **META},
    'nothing': {'content': []},
    'empty text': {'content': [{'type': 'text', 'text': ''}]},
    'error': {'content': [TEXT], 'isError': True},
    'error with meta': {'content': [TEXT], 'isError': True, **META},
    'error with structure': {'content': [TEXT], 'isError': True, **STRUCTURED},
}
RESULTS = {name: {'isError': False, **result} for name, result in RESULTS.items()}


@pytest.mark.parametrize('client, era', [('claude', 'modern'), *((client, 'legacy') for client in CLIENTS)])
def test_agent_shows_its_model_what_clients_py_says(start_agent, home, workspace, tmp_path, client, era):
    """The server speaks both eras, or only the legacy one. Only Claude Code asks for the modern one."""
    (tmp_path / 'results').write_text(json.dumps(RESULTS))
    server = [sys.executable, STUB, tmp_path / 'results', tmp_path / 'log', *(['--modern'] if era == 'modern' else [])]
    shown = start_agent(client, home, workspace, server, [('Call', {'which': name}) for name in RESULTS])
    assert {name: normal(parts) for name, parts in zip(RESULTS, shown)} == {
        name: shown_to_model(client, result, 'Call', {'which': name}) for name, result in RESULTS.items()}
    methods = {json.loads(line)['method'] for line in (tmp_path / 'log').read_text().splitlines()}
    assert ('initialize' in methods) == (era == 'legacy')


@pytest.mark.parametrize('client', CLIENTS)
def test_long_text_arrives_whole_up_to_the_limit_of_clients_py(start_agent, home, workspace, tmp_path, client):
    line, limit = 'word ' * 20 + '\n', WHOLE[client]
    results = {str(size): {'content': [{'type': 'text', 'text': (line * (size // len(line) + 1))[:size]}]}
               for size in (limit, limit * 6 // 5)}
    (tmp_path / 'results').write_text(json.dumps(results))
    server = [sys.executable, STUB, tmp_path / 'results', tmp_path / 'log']
    shown = start_agent(client, home, workspace, server, [('Call', {'which': size}) for size in results])
    lengths = [sum(part[1].count('word') for part in parts) for parts in shown]
    wanted = [result['content'][0]['text'].count('word') for result in results.values()]
    assert lengths[0] == wanted[0] and lengths[1] < wanted[1], (lengths, wanted)
