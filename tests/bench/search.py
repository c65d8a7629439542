#!/usr/bin/python3
"""Times Grep and Glob over MCP against ripgrep on the same tree, and Bash against bash, from request to result.

    search.py RINGWALL [--rounds N] [--write FOLDER]

The tree is a copy of files of this machine: headers, documentation, Python. If the two sides do not find the same
number of results, the benchmark fails.
"""
import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

FILES_MIN = 50000
SOURCES = ('/usr/include', '/usr/lib/python3', '/usr/lib/node_modules', '/usr/share')
FILE_BYTES_MAX = 1 << 20    # larger files are rare in a source tree, and are skipped
IGNORED = '*.pyc\n*.gz\n/share-icons/\n'
RIPGREP = ('rg', '--hidden', '--no-require-git', '--no-messages', '--no-config')
NO_LIMIT = {'head_limit': 100000}

# title, arguments of the tool, arguments of rg
SEARCHES = (
    ('a rare literal', {'pattern': 'memfd_secret'}, ('-l',)),
    ('a common literal, files', {'pattern': 'return'}, ('-l',)),
    ('a common literal, counts', {'pattern': 'return', 'output_mode': 'count'}, ('-c',)),
    ('lines with a literal', {'pattern': 'deprecated', 'output_mode': 'content'}, ('-n',)),
    ('a regex with a literal', {'pattern': r'\w+_init\s*\(', 'output_mode': 'content'}, ('-n',)),
    ('a word in any case', {'pattern': r'\bkernel\b', 'case_insensitive': True, 'output_mode': 'count'}, ('-c', '-i')),
    ('a regex without a literal', {'pattern': r'\b[a-z]+_[0-9]{3}\b', 'output_mode': 'count'}, ('-c',)),
    ('alternatives', {'pattern': 'TODO|FIXME|XXX', 'output_mode': 'count'}, ('-c',)),
    ('in some files only', {'pattern': 'import', 'glob': '*.py'}, ('-l', '-g', '*.py')),
)
GLOBS = (
    ('*.h, newest first', {'pattern': '*.h', 'limit': 10000}, ('--files', '-g', '*.h', '--sortr', 'modified')),
    ('*.h', {'pattern': '*.h', 'limit': 10000}, ('--files', '-g', '*.h')),
    ('all files', {'pattern': '*', 'limit': 10000}, ('--files',)),
)
TARGETS = {'Grep': 1.0, 'Glob': 1.0, 'Bash': 2.5}


def make_tree(folder):
    """Copies the small files of SOURCES and adds .gitignore files. Returns the number of files."""
    count = 0
    for source in SOURCES:
        for directory, _, names in os.walk(source):
            target = f'{folder}/{source[1:].replace("/", "-")}{directory[len(source):]}'
            os.makedirs(target, exist_ok=True)
            for name in names:
                path = f'{directory}/{name}'
                if os.path.isfile(path) and not os.path.islink(path) and os.path.getsize(path) < FILE_BYTES_MAX:
                    shutil.copyfile(path, f'{target}/{name}')
                    count += 1
    for directory in ('', '/usr-include', '/usr-lib-python3'):
        if os.path.isdir(folder + directory):
            with open(f'{folder}{directory}/.gitignore', 'w', encoding='utf-8') as file:
                file.write(IGNORED)
    if count < FILES_MIN:
        print(f'only {count} files: the tree should have at least {FILES_MIN}', file=sys.stderr)
    return count


class Server:
    """A running `ringwall mcp` with the tree as its workspace."""

    def __init__(self, ringwall, folder, home):
        self.process = subprocess.Popen([ringwall, 'mcp'], cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        env={'HOME': home, 'PATH': os.environ['PATH']})
        self.last = 0

    def call(self, tool, **arguments):
        self.last += 1
        self.process.stdin.write(json.dumps({'jsonrpc': '2.0', 'id': self.last, 'method': 'tools/call', 'params': {
            'name': tool, 'arguments': arguments}}).encode() + b'\n')
        self.process.stdin.flush()
        return self.process.stdout.readline()

    def result(self, line):
        result = json.loads(line)['result']
        if result['isError']:
            sys.exit(result['content'][0]['text'])
        return result

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def run(command, folder):
    """Runs a command and returns its standard output."""
    reading, writing = os.pipe()
    actions = [(os.POSIX_SPAWN_OPEN, 0, '/dev/null', os.O_RDONLY, 0), (os.POSIX_SPAWN_DUP2, writing, 1),
               (os.POSIX_SPAWN_CLOSE, reading)]
    pid = os.posix_spawnp(command[0], list(command) + ([folder] if command[0] == 'rg' else []), os.environ,
                          file_actions=actions)
    os.close(writing)
    chunks = []
    while chunk := os.read(reading, 1 << 20):
        chunks.append(chunk)
    os.close(reading)
    os.waitpid(pid, 0)
    return b''.join(chunks)


def time_in_turns(rounds, ours, theirs):
    """Returns both medians in milliseconds, and both last results."""
    times, results = ([], []), [None, None]
    for _ in range(rounds):
        for i, action in enumerate((ours, theirs)):
            start = time.perf_counter()
            results[i] = action()
            times[i].append((time.perf_counter() - start) * 1000)
    return statistics.median(times[0]), statistics.median(times[1]), *results


def measure_search(server, folder, rounds, tool, arguments, flags):
    """Returns the milliseconds of both, and the number of results, which must be the same for both."""
    extra = NO_LIMIT if tool == 'Grep' else {}
    pattern = () if '--files' in flags else ('-e', arguments['pattern'])
    ours, theirs, line, output = time_in_turns(rounds, lambda: server.call(tool, **arguments, **extra),
                                               lambda: run((*RIPGREP, *flags, *pattern), folder))
    result = server.result(line)['_meta']['ringwall/details']
    lines = output.count(b'\n')
    if tool == 'Glob':
        same = result['matched'] == lines
    elif arguments.get('output_mode') == 'content':
        same = result['matches'] == lines
    else:
        same = result['files'] == lines
    if not same or result.get('more'):
        sys.exit(f'{tool} {arguments}: {result} against {lines} lines of rg')
    return ours, theirs, lines


def measure(ringwall, rounds):
    rows = []
    with tempfile.TemporaryDirectory() as home:
        folder = f'{home}/tree'
        os.mkdir(folder)
        count = make_tree(folder)
        server = Server(ringwall, folder, home)
        for tool, searches in (('Grep', SEARCHES), ('Glob', GLOBS)):
            for what, arguments, flags in searches:
                ours, theirs, found = measure_search(server, folder, rounds, tool, arguments, flags)
                rows.append((tool, what, ours, theirs, found))
        first = time_in_turns(rounds, lambda: server.call('Grep', pattern='return'),
                              lambda: run((*RIPGREP, '-l', 'return'), folder))
        rows.append(('Grep', 'the first 250 files with a common literal', first[0], first[1], 250))
        ours, theirs, line, _ = time_in_turns(rounds * 20, lambda: server.call('Bash', command='true'),
                                              lambda: run(('bash', '-c', 'true'), folder))
        assert server.result(line)['_meta']['ringwall/details']['exit_code'] == 0
        rows.append(('Bash', '`true`, against `bash -c true`', ours, theirs, ''))
        server.close()
    return count, rows


def report(count, rows):
    lines = [f'A tree of {count} files in the page cache. The other side is `rg` with all of its '
             f'threads, and for Bash a bash that is spawned '
             'directly. The times are medians: ours from the line that the client writes to the line that it '
             'reads, '
             'theirs from the start of the process to its end.', '',
             '| tool | what | found | ms | theirs, ms | × |', '|---|---|---|---|---|---|']
    for tool, what, ours, theirs, found in rows:
        lines.append(f'| {tool} | {what} | {found} | {ours:.2f} | {theirs:.2f} | {ours / theirs:.2f} |')
    lines.append('')
    for tool, target in TARGETS.items():
        worst = max(ours / theirs for name, _, ours, theirs, _ in rows if name == tool)
        lines.append(f'- {tool}: {worst:.2f} × at worst (≤ {target}: {"met" if worst <= target else "MISSED"})')
    return '\n'.join(lines) + '\n'


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('ringwall', type=os.path.abspath)
    parser.add_argument('--rounds', type=int, default=9)
    parser.add_argument('--write')
    arguments = parser.parse_args()
    if not shutil.which('rg'):
        sys.exit('ripgrep is needed for the comparison; install the package ripgrep')
    text = report(*measure(arguments.ringwall, arguments.rounds))
    print(text)
    if arguments.write:
        with open(f'{arguments.write}/search.md', 'w', encoding='utf-8') as file:
            file.write(f'# Searching\n\nMeasured by `tests/bench/search.py` on two cores, taking turns in one '
                       f'run.\n\n{text}')


main()
