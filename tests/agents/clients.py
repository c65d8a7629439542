"""What each agent shows its model of the result of tools/call, as functions.

Found on 2026-11-19 with the versions in package.json, by answering each agent with results of every kind and reading
its next request to the model. test_clients.py does that again and compares, so these functions cannot become wrong
unseen.

shown_to_model(client, result, tool, arguments) -> parts: ('text', TEXT) or ('image', TYPE, BASE64), in the order in
which the model gets them. normal(parts) replaces what differs from run to run: times and names of files.
"""
import json
import re


def compact(value):
    """The JSON of JavaScript and Rust: no spaces, and no escapes but the necessary ones."""
    return json.dumps(value, ensure_ascii=False, separators=(',', ':'))


def texts(result):
    return [block['text'] for block in result['content'] if block['type'] == 'text']


def images(result):
    return [('image', block['mimeType'], block['data']) for block in result['content'] if block['type'] == 'image']


def claude(result, tool, _):
    """Claude Code 2.1.327, in both eras. structuredContent replaces the texts, and follows the images. Of an error only
    the texts are shown, trimmed. _meta is never shown. Its model must look for the tools first, unless a tool has
    "anthropic/alwaysLoad": true in its _meta."""
    if result.get('isError'):
        return [('text', '\n'.join(texts(result)).strip())]
    parts = []
    for block in result['content']:
        if block['type'] == 'image':
            parts += [('image', block['mimeType'], block['data']), ('text', '[Image: source: FILE]')]
        elif 'structuredContent' not in result and block['text']:
            parts.append(('text', block['text']))
    if 'structuredContent' in result:
        parts.append(('text', compact(result['structuredContent'])))
    return parts or [('text', f'(mcp__ringwall__{tool} completed with no output)')]


def codex(result, *_):
    """Codex 0.169.0, with a model that calls tools directly: gpt-5.5, and those that it does not know.
    structuredContent replaces everything, the images and an error's text too. That it is an error is not shown. _meta
    is never shown."""
    if 'structuredContent' in result:
        return [('text', f'Wall time: 0 seconds\nOutput:\n{compact(result["structuredContent"])}')]
    parts = [('text', 'Wall time: 0 seconds\nOutput:')]
    for block in result['content']:
        if block['type'] == 'image':
            parts.append(('image', block['mimeType'], block['data']))
        elif block['text']:
            parts.append(('text', block['text']))
    return parts


def codex_code(result, *_):
    """Codex 0.169.0, with a model that writes programs, as its newest do: a program gets the whole result but _meta,
    and the model sees what the program prints. This is a program that prints the whole."""
    names = 'content', 'structuredContent', 'isError'
    return [('text', 'Script completed\nWall time 0 seconds\nOutput:\n'),
            ('text', compact({name: result[name] for name in names if name in result}))]


def gemini(result, tool, arguments):
    """Gemini CLI 0.61.0. Each text is marked as untrusted, the images follow. structuredContent is not shown. An error
    is shown whole, as JSON: with structuredContent and _meta."""
    if result.get('isError'):
        call = compact({'name': tool, 'args': arguments})
        response = compact([{'functionResponse': {'name': tool, 'response': ordered(result)}}])
        return [('text', f"MCP tool '{tool}' reported tool error for function call: {call} with response: {response}")]
    lines = [f'<untrusted_context>\n{block["text"]}\n</untrusted_context>' if block['type'] == 'text' else
             f"[Tool '{tool}' provided the following image data with mime-type: {block['mimeType']}]"
             for block in result['content']]
    return ([('text', '\n'.join(lines))] if lines else []) + images(result)


def ordered(result):
    """The fields that the SDK knows come first."""
    names = '_meta', 'content', 'structuredContent', 'isError'
    return {name: result[name] for name in names if name in result}


def opencode(result, *_):
    """opencode 1.18.18. The texts, then the images in a message of the user. structuredContent and _meta are not shown,
    and not that it is an error."""
    parts = [('text', '\n\n'.join(texts(result)))]
    return parts + ([('text', 'Attached media from tool result:')] + images(result) if images(result) else [])


def qwen(result, tool, arguments):
    """Qwen Code 0.24.4. structuredContent, then the texts, then the images in a message of the user. An error is shown
    whole, as JSON: with _meta, and its texts twice."""
    if result.get('isError'):
        call = compact({'name': tool, 'args': arguments})
        response = compact([{'functionResponse': {'name': tool, 'response': {
            'error': ordered(result), 'content': result['content']}}}])
        return [('text', f"MCP tool '{tool}' reported tool error for function call: {call} with response: {response}")]
    lines = [compact(result['structuredContent'])] if 'structuredContent' in result else []
    lines += [block['text'] if block['type'] == 'text' else
              f"[Tool '{tool}' provided the following image data with mime-type: {block['mimeType']}]"
              for block in result['content']]
    text = '\n'.join(lines) or f'(mcp__ringwall__{tool} completed with no output)'
    media = [('text', '(attached media from previous tool call)'), *images(result)] if images(result) else []
    return [('text', text), *media]


CLIENTS = {'claude': claude, 'codex': codex, 'codex-code': codex_code, 'gemini': gemini, 'opencode': opencode,
           'qwen': qwen}


# How many characters of text arrive whole. Of a longer text the model is shown a part: Claude Code and Qwen Code write
# it to a file outside the box and show 2,000 characters; Codex and Gemini CLI show the head and the tail, opencode the
# head. Codex has larger limits for the models that it knows (48,000 for gpt-5.5), Claude Code for a tool with
# "anthropic/maxResultSizeChars" in its _meta. opencode also shows no more than 2,000 lines.
WHOLE = {'claude': 50_000, 'codex': 11_900, 'codex-code': 38_000, 'gemini': 39_900, 'opencode': 51_200, 'qwen': 28_000}


def shown_to_model(client, result, tool='', arguments=None):
    return CLIENTS[client](result, tool, arguments or {})


VARYING = ((re.compile(r'^(Wall time:?|Script completed\nWall time) [\d.]+ seconds'), r'\1 0 seconds'),
           (re.compile(r'^\[Image: source: [^\]]*\]$'), '[Image: source: FILE]'))


def normal(parts):
    result = []
    for part in parts:
        text = part[1]
        for pattern, replacement in VARYING if part[0] == 'text' else ():
            text = pattern.sub(replacement, text)
        result.append((part[0], text, *part[2:]))
    return result
