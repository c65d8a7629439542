#!/usr/bin/python3
"""How fast secrets are scrubbed from source text, and how many are found in text that should have none.

    scrub.py SCRUB_BENCH [--write FOLDER] [--rounds N] [FOLDER...]

The corpus is the source text that is installed here (Python's library, C headers, node modules, Perl), or the given
folders. Each line with a hit is printed with the name of the pattern, so that a person can tell false hits from true
ones: keys in the tests and examples of libraries look like real keys and should be found. All hits are counted.
"""
import argparse
import glob
import os
import subprocess
import sys

SOURCES = ('/usr/lib/python3*', '/usr/include', '/usr/lib/node_modules', '/usr/share/nodejs', '/usr/share/perl*',
           '/usr/lib/gcc/*/*/include')
SUFFIXES = ('.py', '.pyi', '.c', '.h', '.hpp', '.js', '.mjs', '.cjs', '.ts', '.json', '.md', '.html', '.txt', '.pl',
            '.pm', '.pod', '.sh', '.yml', '.yaml', '.toml', '.cfg')
CORPUS_MEGABYTES_MIN = 100
SPEED_TARGET, HITS_TARGET = 1, 1     # GB/s; hits per 10 MB


def files(folders):
    for folder in folders:
        for parent, _, names in os.walk(folder):
            headers = '/include' in parent      # headers of C++ have no suffix
            for name in names:
                path = f'{parent}/{name}'
                if (headers or name.endswith(SUFFIXES)) and '\n' not in path and not os.path.islink(path):
                    yield path


def measure(program, rounds, folders):
    text = subprocess.run([program, str(rounds)], input='\n'.join(files(folders)), stdout=subprocess.PIPE, check=True,
                          text=True, errors='replace').stdout
    lines = text.splitlines()
    start = max(number for number, line in enumerate(lines) if line.startswith('files '))
    figures, hits = {}, {}
    for line in lines[start:]:
        name, *values = line.split()
        if name == 'hits':
            hits[values[0]] = int(values[1])
        else:
            figures[name] = float(values[0])
    return lines[:start], figures, hits


def verdict(is_met):
    return 'met' if is_met else 'MISSED'


def report(found, figures, hits):
    megabytes, count = figures['bytes'] / 1e6, sum(hits.values())
    lines = ['| ordinary source text, one core | |', '|---|---|',
             f'| corpus | {megabytes:.0f} MB in {figures["files"]:.0f} files |',
             f'| as one text | {figures["whole"] / 1e9:.2f} GB/s |',
             f'| in chunks of 64 KiB | {figures["chunks"] / 1e9:.2f} GB/s |',
             f'| loading the patterns | {figures["load"] * 1000:.2f} ms |',
             f'| hits | {count}: {", ".join(f"{number} {name}" for name, number in hits.items()) or "nothing"} |', '']
    slower = min(figures['whole'], figures['chunks']) / 1e9
    lines.append(f'- speed: {slower:.2f} GB/s (≥ {SPEED_TARGET}: {verdict(slower >= SPEED_TARGET)})')
    rate = 10 * count / megabytes
    lines.append(f'- hits per 10 MB, true or false: {rate:.2f} (≤ {HITS_TARGET}: {verdict(rate <= HITS_TARGET)})')
    if found:
        lines += ['', 'What was found:', '', '```text', *found, '```']
    return '\n'.join(lines) + '\n'


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('program', type=os.path.abspath)
    parser.add_argument('folders', nargs='*')
    parser.add_argument('--rounds', type=int, default=5)
    parser.add_argument('--write')
    arguments = parser.parse_intermixed_args()
    folders = arguments.folders or [folder for pattern in SOURCES for folder in sorted(glob.glob(pattern))]
    found, figures, hits = measure(arguments.program, arguments.rounds, folders)
    if not figures['bytes']:
        sys.exit(f'no source text in {", ".join(folders) or "the usual places"}')
    text = report(found, figures, hits)
    print(text)
    if figures['bytes'] < CORPUS_MEGABYTES_MIN * 1e6 and not arguments.folders:
        print(f'the corpus is smaller than {CORPUS_MEGABYTES_MIN} MB: give folders with more text')
    if arguments.write:
        with open(f'{arguments.write}/scrub.md', 'w', encoding='utf-8') as file:
            file.write('# Scrubbing secrets\n\nMeasured by `tests/bench/scrub.py`, in CPU time; the '
                       f'best of {arguments.rounds} rounds.\n\n{text}')


main()
