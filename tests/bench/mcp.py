#!/usr/bin/python3
"""Times a Read over MCP, by the SDK's client, against the common filesystem server and against a stub.

    mcp.py RINGWALL STUB [--rounds N] [--write FOLDER]

Needs Node and npm; the packages are pinned in tests/mcp/package-lock.json.
"""
import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.realpath(__file__))
TARGETS = {'call': 0.35, 'start': 0.05, 'megabytes': 0.15}
STUB_TARGET = 2.5


def measure(arguments):
    with tempfile.TemporaryDirectory() as folder:
        for name in ('package.json', 'package-lock.json', '.npmrc', 'bench.mjs'):
            shutil.copy(f'{HERE}/../mcp/{name}', folder)
        subprocess.run(['npm', 'ci', '--no-progress'], cwd=folder, check=True, stdout=subprocess.DEVNULL)
        result = subprocess.run(['node', f'{folder}/bench.mjs', arguments.ringwall, arguments.stub,
                                 str(arguments.rounds)],
                                stdout=subprocess.PIPE, check=True, env={**os.environ, 'HOME': folder})
    return json.loads(result.stdout)


def report(found):
    base, stub = found['server-filesystem'], found['a stub']
    lines = ['| a Read of a small file, by the SDK over stdio | ms per call | × server-filesystem | × stub '
             '| ms to start | × | MB | × |',
             '|---|---|---|---|---|---|---|---|']
    for name, result in found.items():
        lines.append(f'| {name} | {result["call"]:.3f} | {result["call"] / base["call"]:.2f} | '
                     f'{result["call"] / stub["call"]:.2f} | '
                     f'{result["start"]:.1f} | {result["start"] / base["start"]:.3f} | {result["megabytes"]:.1f} | '
                     f'{result["megabytes"] / base["megabytes"]:.3f} |')
    ours = found['ringwall mcp']
    lines.append('')
    for what, target in TARGETS.items():
        ratio = ours[what] / base[what]
        lines.append(f'- {what}: {ratio:.3f} × server-filesystem '
                     f'(≤ {target}: {"met" if ratio <= target else "MISSED"})')
    ratio = ours['call'] / stub['call']
    lines.append(f'- call: {ratio:.2f} × a stub (≤ {STUB_TARGET:g}: {"met" if ratio <= STUB_TARGET else "MISSED"})')
    return '\n'.join(lines) + '\n'


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('ringwall', type=os.path.abspath)
    parser.add_argument('stub', type=os.path.abspath)
    parser.add_argument('--rounds', type=int, default=3000)
    parser.add_argument('--write')
    arguments = parser.parse_args()
    if not shutil.which('npm'):
        sys.exit('Node and npm are needed')
    text = report(measure(arguments))
    print(text)
    if arguments.write:
        with open(f'{arguments.write}/mcp.md', 'w', encoding='utf-8') as file:
            file.write(f'# Tools over MCP\n\nMeasured by `tests/bench/mcp.py` on two cores, taking turns in one '
                       f'run.\n\n{text}')


main()
