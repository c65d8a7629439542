#!/usr/bin/python3
"""An MCP server with tools and without defences: attacks on the tools have to succeed against it.

    naive_server.py ROOT HABIT... [--state FOLDER]

It implements a part of MCP over standard input and output, and has no box. One of the HABITS is its way to resolve
paths; each is a mistake of some public server. The other habits are about messages. All of its faults are intended.
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


class OutsideRoot(Exception):
    pass


# Ways to resolve the path of a call to the path that is opened.

def joined(root, path):
    """Joins the path to the root and checks nothing."""
    return os.path.join(root, path)


def prefix(root, path):
    """Checks that the path, as it was written, has the root as a string prefix."""
    full = os.path.join(root, path)
    if not full.startswith(root):
        raise OutsideRoot(path)
    return full


def normalized(root, path):
    """Resolves "..", but no links, and checks for the string prefix."""
    return prefix(root, os.path.normpath(os.path.join(root, path)))


def compared(root, path):
    """Compares the components of the path with those of the root, but does not resolve links."""
    full = os.path.normpath(os.path.join(root, path))
    if os.path.commonpath([root, full]) != root:
        raise OutsideRoot(path)
    return full


def real(root, path):
    """Checks the resolved path, or that of the parent of a missing file, and then opens the unresolved one."""
    full = os.path.join(root, path)
    found = os.path.realpath(full if os.path.exists(full) else os.path.dirname(full))
    if os.path.commonpath([root, found]) != root:
        raise OutsideRoot(path)
    return full


def stripped(root, path):
    """Removes "../", once."""
    return os.path.join(root, path.replace('../', ''))


def decoded(root, path):
    """Decodes %XX after the check."""
    compared(root, path)
    return os.path.join(root, urllib.parse.unquote(path).replace('\\', '/'))


def expanded(root, path):
    """Expands ~ and $VARIABLE after the check."""
    compared(root, path)
    return os.path.join(root, os.path.expandvars(os.path.expanduser(path)))


def composed(root, path):
    """Normalizes Unicode after the check."""
    compared(root, path)
    return os.path.join(root, unicodedata.normalize('NFKC', path))


def folded(root, path):
    """Compares paths without regard to case."""
    full = os.path.normpath(os.path.join(root, path))
    if not f'{full}/'.casefold().startswith(f'{root}/'.casefold()):
        raise OutsideRoot(path)
    return full


def suffixed(root, path):
    """Checks the suffix, and then calls open() of C, where a zero byte ends the path earlier."""
    if not path.endswith('.txt'):
        raise OutsideRoot(path)
    fd = LIBC.open(os.path.join(root, path).encode(), os.O_RDONLY)
    return f'/dev/fd/{fd}'


HABITS = {habit.__name__: habit for habit in (joined, prefix, normalized, compared, real, stripped, decoded, expanded,
                                              composed, folded, suffixed)}
# Other habits: "logs_to_stdout", "concatenates_json" builds JSON without escaping, "reads_gitignore",
# "needs_initialize" before a call, "truncates_names" at a number of bytes.


class Server:
    def __init__(self, root, habits, state):
        self.root, self.habits, self.state = root, habits, state
        self.find = lambda path: next(HABITS[name] for name in habits if name in HABITS)(root, path)
        self.running, self.background = {}, []
        self.ready = False

    # Tools.

    def Read(self, file_path, offset=1, limit=2000):
        if 'logs_to_stdout' in self.habits:
            print(f'reading {file_path}', flush=True)
        file = open(self.find(file_path), encoding='utf-8')     # never closed explicitly
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
        if 'reads_gitignore' in self.habits:
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
            self.background.append(subprocess.Popen(['bash', '-c', command], cwd=self.root, stdout=subprocess.PIPE))
            number = len(os.listdir(self.state)) + 1
            with open(f'{self.state}/{number}', 'wb') as file:
                file.write(os.read(self.background[-1].stdout.fileno(), 1000))
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

    # Methods of the protocol. A client can call any method of this class by its name.

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
        assert self.ready or 'needs_initialize' not in self.habits
        if 'truncates_names' in self.habits:
            assert name.encode()[:60].decode()
        try:
            return {'content': [{'type': 'text', 'text': getattr(self, name)(**arguments)}], 'isError': False}
        except Exception:
            return {'content': [{'type': 'text', 'text': traceback.format_exc()}], 'isError': True}

    # Messages.

    def reply(self, number, result):
        if 'concatenates_json' in self.habits and 'content' in result:
            content = '[{"type": "text", "text": "%s"}]' % result['content'][0]['text']
            print('{"jsonrpc": "2.0", "id": %s, "result": {"content": %s}}' % (number, content), flush=True)
        else:
            print(json.dumps({'jsonrpc': '2.0', 'id': number, 'result': result}, ensure_ascii=False), flush=True)

    def handle(self, message):
        if 'result' in message:     # a forged reply: an attack that only crashes this server would prove nothing
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
        server.handle(json.loads(line))


main()
