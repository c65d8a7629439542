#!/usr/bin/python3
"""A server of tools such as people write in an afternoon, for the attacks to succeed against.

    naive_server.py ROOT HABIT... [--state FOLDER]

It speaks enough MCP over its standard streams and has no box. How it finds paths is one of the HABITS, each of which
some public server has; a few more are about what it writes. Nothing of it is meant to be good.
"""
import argparse
import contextlib
import ctypes
import glob
import json
import os
import re
import subprocess
import sys
import threading
import traceback
import unicodedata
import urllib.parse

LIBC = ctypes.CDLL(None, use_errno=True)


class Outside(Exception):
    pass


# From a path that somebody wrote to one that is opened.

def joined(root, path):
    """Believes that what is joined lies below."""
    return os.path.join(root, path)


def prefix(root, path):
    """Compares letters, of what was written."""
    full = os.path.join(root, path)
    if not full.startswith(root):
        raise Outside(path)
    return full


def normalized(root, path):
    """Compares letters, of what it means if there are no links."""
    return prefix(root, os.path.normpath(os.path.join(root, path)))


def compared(root, path):
    """Compares names and not letters; links it does not know."""
    full = os.path.normpath(os.path.join(root, path))
    if os.path.commonpath([root, full]) != root:
        raise Outside(path)
    return full


def real(root, path):
    """Asks for the real path, or for the parent's when nothing is there, and opens the other one later."""
    full = os.path.join(root, path)
    found = os.path.realpath(full if os.path.exists(full) else os.path.dirname(full))
    if os.path.commonpath([root, found]) != root:
        raise Outside(path)
    return full


def stripped(root, path):
    """Takes out what is bad, once."""
    return os.path.join(root, path.replace('../', ''))


def decoded(root, path):
    """Decodes after it has checked."""
    compared(root, path)
    return os.path.join(root, urllib.parse.unquote(path).replace('\\', '/'))


def expanded(root, path):
    """Is as friendly as a shell."""
    compared(root, path)
    return os.path.join(root, os.path.expandvars(os.path.expanduser(path)))


def composed(root, path):
    """Makes letters comparable after it has compared them."""
    compared(root, path)
    return os.path.join(root, unicodedata.normalize('NFKC', path))


def folded(root, path):
    """Knows that some filesystems do not care for capitals."""
    full = os.path.normpath(os.path.join(root, path))
    if not f'{full}/'.casefold().startswith(f'{root}/'.casefold()):
        raise Outside(path)
    return full


def suffixed(root, path):
    """Allows what ends well, and leaves the rest to C, where a string ends earlier."""
    if not path.endswith('.txt'):
        raise Outside(path)
    fd = LIBC.open(os.path.join(root, path).encode(), os.O_RDONLY)
    return f'/dev/fd/{fd}'


HABITS = {habit.__name__: habit for habit in (joined, prefix, normalized, compared, real, stripped, decoded, expanded,
                                              composed, folded, suffixed)}
# Others: "talkative" logs to standard output, "pasting" makes JSON of strings, "ignoring" reads .gitignore, "patient"
# insists on an initialize, "fragile" cuts names at a number of bytes.


class Server:
    def __init__(self, root, habits, state):
        self.root, self.habits, self.state = root, habits, state
        self.find = lambda path: next(HABITS[name] for name in habits if name in HABITS)(root, path)
        self.running, self.kept = {}, []
        self.ready = False

    # Tools.

    def Read(self, file_path, offset=1, limit=2000):
        if 'talkative' in self.habits:
            print(f'reading {file_path}', flush=True)
        file = open(self.find(file_path), encoding='utf-8')     # closed some day
        lines = list(enumerate(file.read().split('\n'), 1))
        return '\n'.join(f'{number}\t{line}' for number, line in lines if offset <= number < offset + limit)

    def Write(self, file_path, content):
        path = self.find(file_path)
        with open(path, 'w', encoding='utf-8') as file:
            file.write(content)
        return f'wrote {len(content)} bytes to {path}'

    def Edit(self, file_path, old_string, new_string):
        with open(self.find(file_path), encoding='utf-8') as file:
            text = file.read()
        return self.Write(file_path, text.replace(old_string, new_string))

    def Glob(self, pattern, path=''):
        if 'ignoring' in self.habits:
            with open(f'{self.root}/.gitignore', encoding='utf-8') as file:
                for rule in file:
                    assert rule.count('[') == rule.count(']'), f'.gitignore: bad rule {rule}'
        return '\n'.join(glob.glob(os.path.join(self.find(path), pattern), recursive=True))

    def Grep(self, pattern, path='', output_mode='content'):
        top, found = self.find(path), []
        files = (f'{folder}/{name}' for folder, _, names in os.walk(top, followlinks=True) for name in names)
        for path in files if os.path.isdir(top) else [top]:
            with contextlib.suppress(OSError), open(path, encoding='utf-8', errors='replace') as file:
                found += [f'{path}:{line}' for line in file if re.search(pattern, line)]
        return ''.join(found)

    def Bash(self, command, timeout=120, run_in_background=False):
        if run_in_background:
            self.kept.append(subprocess.Popen(['bash', '-c', command], cwd=self.root, stdout=subprocess.PIPE))
            number = len(os.listdir(self.state)) + 1
            with open(f'{self.state}/{number}', 'wb') as file:
                file.write(os.read(self.kept[-1].stdout.fileno(), 1000))
            return f'shell_id: {number}'
        process = subprocess.Popen(['bash', '-c', command], cwd=self.root, stdout=subprocess.PIPE,
                                   stderr=subprocess.STDOUT)
        self.running[threading.current_thread().name] = process
        try:
            output = process.communicate(timeout=timeout)[0].decode(errors='replace')
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            return 'timed out'
        return f'{output}exit: {process.returncode}'

    def BashOutput(self, shell_id):
        with open(f'{self.state}/{shell_id}', encoding='utf-8') as file:
            return file.read()

    # Methods. A client calls them by name.

    def initialize(self, **_):
        self.ready = True
        return {'protocolVersion': '2025-11-25', 'capabilities': {'tools': {}},
                'serverInfo': {'name': 'naive', 'version': '1'}}

    def ping(self):
        return {}

    def cancelled(self, requestId):
        self.running.pop(str(int(requestId))).kill()

    def stop(self):
        os._exit(0)

    def call(self, name, arguments):
        assert self.ready or 'patient' not in self.habits
        if 'fragile' in self.habits:
            assert name.encode()[:60].decode()
        try:
            return {'content': [{'type': 'text', 'text': getattr(self, name)(**arguments)}], 'isError': False}
        except Exception:
            return {'content': [{'type': 'text', 'text': traceback.format_exc()}], 'isError': True}

    # Messages.

    def reply(self, number, result):
        if 'pasting' in self.habits and 'content' in result:
            content = '[{"type": "text", "text": "%s"}]' % result['content'][0]['text']
            print('{"jsonrpc": "2.0", "id": %s, "result": {"content": %s}}' % (number, content), flush=True)
        else:
            print(json.dumps({'jsonrpc': '2.0', 'id': number, 'result': result}, ensure_ascii=False), flush=True)

    def take(self, message):
        if 'result' in message:     # an answer, to nothing that was asked; to end by it would be to withstand who forges
            return
        method, params = message['method'].split('/')[-1], message.get('params', {})
        if method == 'call' and params['name'] == 'Bash':
            threading.Thread(target=lambda: self.reply(message['id'], self.call(**params)), name=str(message['id']),
                             daemon=True).start()
            return
        result = getattr(self, method)(**params)
        if 'id' in message:
            self.reply(message['id'], result)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('root')
    parser.add_argument('habits', nargs='+')
    parser.add_argument('--state')
    arguments = parser.parse_args()
    server = Server(arguments.root, arguments.habits, arguments.state)
    for line in sys.stdin:
        server.take(json.loads(line))


main()
