"""An MCP server with one tool, Call(which): its results come from a JSON file.

    python3 stub_server.py RESULTS LOG [--modern]

LOG gets every message of the client, a line each. --modern: it speaks the modern protocol too, if the client asks.
"""
import json
import sys

SCHEMA = {'type': 'object', 'properties': {'which': {'type': 'string'}}, 'required': ['which']}
TOOL = {'name': 'Call', 'description': 'Gives one of the results.', 'inputSchema': SCHEMA}
SERVER = {'name': 'stub', 'version': '1'}


def answer(method, params, results, modern):
    """The result for a request, or None."""
    if method == 'initialize':
        return {'protocolVersion': params['protocolVersion'], 'capabilities': {'tools': {}}, 'serverInfo': SERVER}
    if method == 'server/discover' and modern:
        return {'supportedVersions': ['2026-07-28', '2025-11-25'], 'capabilities': {'tools': {}}, 'ttlMs': 60000,
                'cacheScope': 'private'}
    if method == 'tools/list':
        return {'tools': [TOOL]}
    if method == 'tools/call':
        return results[params['arguments']['which']]
    return {} if method == 'ping' else None


def is_modern(params):
    return 'io.modelcontextprotocol/protocolVersion' in params.get('_meta', {})


def main():
    with open(sys.argv[1], encoding='utf-8') as file:
        results = json.load(file)
    with open(sys.argv[2], 'a', encoding='utf-8') as log:
        for line in sys.stdin:
            log.write(line)
            log.flush()
            message = json.loads(line)
            params = message.get('params', {})
            if 'id' not in message:
                continue
            reply = {'jsonrpc': '2.0', 'id': message['id']}
            result = answer(message.get('method'), params, results, '--modern' in sys.argv)
            if result is None:
                reply['error'] = {'code': -32601, 'message': 'no such method'}
            elif is_modern(params):
                meta = {**result.get('_meta', {}), 'io.modelcontextprotocol/serverInfo': SERVER}
                reply['result'] = {**result, 'resultType': 'complete', '_meta': meta}
            else:
                reply['result'] = result
            print(json.dumps(reply), flush=True)


main()
