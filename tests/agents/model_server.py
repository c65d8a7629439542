"""A model server on loopback that follows a script instead of thinking, and a proxy that refuses.

An agent sends the whole conversation with each request, so the server keeps no state: it counts the tool results in the
request, and answers with the call of the script that has that number, or with a final text after the last one. Requests
that do not offer the script's tools are not part of the conversation (titles, summaries): they get a short text.

There is a class for each API. It reads a request: offered(body) -> names of the tools; results(body) -> what the model
is shown for each call, as a list of parts, which are ('text', TEXT) or ('image', TYPE, BASE64). It writes a reply:
reply(body, call, number) -> a type and bytes.
"""
import http.server
import json
import re
import threading

FINAL_TEXT = 'The script is done.'
SIDE_TEXT = 'A title'
JSON, SSE = 'application/json', 'text/event-stream'


def events(items, named=False, last=''):
    """Server-sent events, one for each item."""
    lines = ((f'event: {item["type"]}\n' if named else '') + f'data: {json.dumps(item)}\n\n' for item in items)
    return SSE, (''.join(lines) + last).encode()


def data_url(url):
    """The part of an image in a data: URL."""
    return ('image', *re.fullmatch(r'data:([^;]*);base64,(.*)', url, re.DOTALL).groups())


class Anthropic:
    """The Messages API of Anthropic."""
    path = re.compile(r'/v1/messages(\?.*)?')

    @staticmethod
    def offered(body):
        return {tool['name'] for tool in body.get('tools', ())}

    @classmethod
    def results(cls, body):
        blocks = [block for message in body['messages'] if isinstance(message['content'], list)
                  for block in message['content']]
        return [cls.parts(block['content']) for block in blocks if block['type'] == 'tool_result']

    @staticmethod
    def parts(content):
        if isinstance(content, str):
            return [('text', content)]
        return [('text', block['text']) if block['type'] == 'text' else
                ('image', block['source']['media_type'], block['source']['data']) for block in content]

    @staticmethod
    def reply(body, call, number):
        usage = {'input_tokens': 1, 'output_tokens': 1}
        if isinstance(call, str):
            block, reason = {'type': 'text', 'text': call}, 'end_turn'
            empty, delta = {'type': 'text', 'text': ''}, {'type': 'text_delta', 'text': call}
        else:
            block, reason = {'type': 'tool_use', 'id': f'toolu_{number}', 'name': call[0], 'input': call[1]}, 'tool_use'
            empty, delta = {**block, 'input': {}}, {'type': 'input_json_delta', 'partial_json': json.dumps(call[1])}
        message = {'id': f'msg_{number}', 'type': 'message', 'role': 'assistant', 'model': body['model'],
                   'content': [block], 'stop_reason': reason, 'stop_sequence': None, 'usage': usage}
        if not body.get('stream'):
            return JSON, json.dumps(message).encode()
        return events([
            {'type': 'message_start', 'message': {**message, 'content': [], 'stop_reason': None}},
            {'type': 'content_block_start', 'index': 0, 'content_block': empty},
            {'type': 'content_block_delta', 'index': 0, 'delta': delta},
            {'type': 'content_block_stop', 'index': 0},
            {'type': 'message_delta', 'delta': {'stop_reason': reason, 'stop_sequence': None}, 'usage': usage},
            {'type': 'message_stop'}], named=True)


class Responses:
    """The Responses API of OpenAI."""
    path = re.compile(r'/v1/responses')

    @staticmethod
    def offered(body):
        names, tools = set(), list(body.get('tools', ()))
        for item in body['input']:
            tools += item.get('tools', ()) if item.get('type') == 'additional_tools' else ()
        for tool in tools:
            if tool['type'] == 'namespace':
                names.update(f'{tool["name"]}.{member["name"]}' for member in tool['tools'])
            else:
                names.add(tool.get('name'))
        return names

    @classmethod
    def results(cls, body):
        return [cls.parts(item['output']) for item in body['input']
                if item.get('type') in ('function_call_output', 'custom_tool_call_output')]

    @staticmethod
    def parts(output):
        if isinstance(output, str):
            return [('text', output)]
        return [('text', block['text']) if block['type'] == 'input_text' else data_url(block['image_url'])
                for block in output]

    @staticmethod
    def reply(body, call, number):
        if isinstance(call, str):
            item = {'type': 'message', 'id': f'msg_{number}', 'role': 'assistant', 'status': 'completed',
                    'content': [{'type': 'output_text', 'text': call, 'annotations': []}]}
        else:
            namespace, _, name = call[0].rpartition('.')
            item = {'type': 'function_call', 'id': f'fc_{number}', 'call_id': f'call_{number}', 'name': name,
                    **({'namespace': namespace} if namespace else {})}
            if isinstance(call[1], str):
                item.update(type='custom_tool_call', id=f'ctc_{number}', input=call[1])
            else:
                item['arguments'] = json.dumps(call[1])
        response = {'id': f'resp_{number}', 'object': 'response', 'model': body['model'], 'output': [item],
                    'status': 'completed', 'usage': {'input_tokens': 1, 'output_tokens': 1, 'total_tokens': 2,
                                                     'input_tokens_details': None, 'output_tokens_details': None}}
        return events([
            {'type': 'response.created', 'response': {**response, 'status': 'in_progress', 'output': []}},
            {'type': 'response.output_item.added', 'output_index': 0, 'item': item},
            {'type': 'response.output_item.done', 'output_index': 0, 'item': item},
            {'type': 'response.completed', 'response': response}], named=True)


class Chat:
    """The chat completions of OpenAI. A tool message has no images: agents send them in a user message after it."""
    path = re.compile(r'/v1/chat/completions')

    @staticmethod
    def offered(body):
        return {tool['function']['name'] for tool in body.get('tools') or ()}

    @classmethod
    def results(cls, body):
        results = []
        for message in body['messages']:
            if message['role'] == 'tool':
                results.append(cls.parts(message['content']))
            elif message['role'] == 'user' and results:
                results[-1] += cls.parts(message['content'])
        return results

    @staticmethod
    def parts(content):
        if isinstance(content, str):
            return [('text', content)]
        return [('text', block['text']) if block['type'] == 'text' else data_url(block['image_url']['url'])
                for block in content]

    @staticmethod
    def reply(body, call, number):
        head = {'id': f'chatcmpl-{number}', 'created': 1, 'model': body['model']}
        usage = {'prompt_tokens': 1, 'completion_tokens': 1, 'total_tokens': 2}
        if isinstance(call, str):
            message, reason = {'role': 'assistant', 'content': call}, 'stop'
        else:
            function = {'name': call[0], 'arguments': json.dumps(call[1])}
            message, reason = {'role': 'assistant', 'content': None, 'tool_calls': [
                {'index': 0, 'id': f'call_{number}', 'type': 'function', 'function': function}]}, 'tool_calls'
        if not body.get('stream'):
            choice = {'index': 0, 'message': message, 'finish_reason': reason}
            return JSON, json.dumps({**head, 'object': 'chat.completion', 'choices': [choice],
                                     'usage': usage}).encode()
        head['object'] = 'chat.completion.chunk'
        return events([
            {**head, 'choices': [{'index': 0, 'delta': message, 'finish_reason': None}]},
            {**head, 'choices': [{'index': 0, 'delta': {}, 'finish_reason': reason}]},
            {**head, 'choices': [], 'usage': usage}], last='data: [DONE]\n\n')


class Gemini:
    """generateContent and streamGenerateContent of Gemini."""
    path = re.compile(r'/v1(beta)?/models/[^:]*:(streamG|g)enerateContent(\?.*)?')

    @staticmethod
    def offered(body):
        return {function['name'] for tool in body.get('tools') or ()
                for function in tool.get('functionDeclarations', ())}

    @classmethod
    def results(cls, body):
        results = []
        for message in body['contents']:
            for part in message['parts']:
                if 'functionResponse' in part:
                    results.append(cls.parts(part['functionResponse']))
                elif results and message['role'] == 'user':
                    results[-1].append(cls.part(part))
        return results

    @classmethod
    def parts(cls, response):
        parts = [cls.part(part) for part in response.get('parts', ())]
        return [('text', text) for text in response['response'].values()] + parts

    @staticmethod
    def part(part):
        if 'inlineData' in part:
            return 'image', part['inlineData']['mimeType'], part['inlineData']['data']
        return 'text', part['text']

    @staticmethod
    def reply(body, call, number):
        part = {'text': call} if isinstance(call, str) else {
            'functionCall': {'name': call[0], 'args': call[1], 'id': f'call_{number}'}}
        answer = {'candidates': [{'index': 0, 'content': {'role': 'model', 'parts': [part]}, 'finishReason': 'STOP'}],
                  'usageMetadata': {'promptTokenCount': 1, 'candidatesTokenCount': 1, 'totalTokenCount': 2},
                  'modelVersion': 'scripted', 'responseId': str(number)}
        return events([answer]) if body['stream'] else (JSON, json.dumps(answer).encode())


APIS = Anthropic, Responses, Chat, Gemini


class ModelServer(http.server.ThreadingHTTPServer):
    """Serves all the APIs. `script` is a list of (NAME, ARGUMENTS): a tool in the agent's spelling. `requests` has
    (METHOD, PATH, BODY) of each request so far, `shown` what the model was shown for each call, by its number."""
    daemon_threads = True

    def __init__(self, script):
        super().__init__(('127.0.0.1', 0), Handler)
        self.script, self.requests, self.shown = script, [], {}
        self.thread = threading.Thread(target=self.serve_forever, kwargs={'poll_interval': 0.1})
        self.thread.start()

    def __exit__(self, *exception):
        self.shutdown()
        self.thread.join()
        super().__exit__(*exception)

    @property
    def address(self):
        return f'http://127.0.0.1:{self.server_port}'

    def answer(self, path, body):
        """The type and the bytes of the answer to a POST, or None."""
        api = next((api for api in APIS if api.path.fullmatch(path)), None)
        if not api:
            return None
        body['stream'] = body.get('stream') or 'streamGenerateContent' in path
        if not self.script or self.script[0][0] not in api.offered(body):
            return api.reply(body, SIDE_TEXT, 0)
        shown = api.results(body)
        self.shown.update(enumerate(shown))
        call = self.script[len(shown)] if len(shown) < len(self.script) else FINAL_TEXT
        return api.reply(body, call, len(shown) + 1)


class Handler(http.server.BaseHTTPRequestHandler):
    """One connection of an agent. What is not a request to a model gets an empty answer."""
    protocol_version = 'HTTP/1.1'

    def do_POST(self):
        data = self.rfile.read(int(self.headers.get('Content-Length') or 0))
        try:
            body = json.loads(data)
        except ValueError:
            body = None
        self.server.requests.append((self.command, self.path, body))
        kind, answer = (isinstance(body, dict) and self.server.answer(self.path, body)) or (JSON, b'{}')
        self.send_response(200)
        self.send_header('Content-Type', kind)
        self.send_header('Content-Length', str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    do_GET = do_PUT = do_POST

    def do_CONNECT(self):
        self.server.requests.append((self.command, self.path, None))
        self.send_error(403, 'no way out')

    def log_message(self, *_):
        pass
