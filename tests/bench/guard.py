#!/usr/bin/python3
"""What the guard costs: jobs in a box against the same jobs outside. They take turns, so that noise affects both.

    guard.py RINGWALL STATIC-TRUE GUARD-BENCH [--write FOLDER] [--rounds N]

Runs as an ordinary user. Started as root, it first mounts a tmpfs for the jobs in memory, and then becomes an ordinary
user; without root, the jobs in memory are skipped. --write writes a table and a plot to FOLDER.
"""
import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import traceback

from run_box import FLAGS, JOBS, make_tree, verdict
from timing import milliseconds

USER = 64123
FILES = 20000
COMPILE = f'for file in src/base/*.c; do gcc {FLAGS} -c $file || exit 1; done'
CHECKED_READS = ('--deny-read', 'secret.env')   # a name inside the workspace, so that the guard checks reads
WITHOUT_GUARD = ('-p', '../read-only.yaml')     # nothing is writable, so the box has no guard


class Row:
    """A job, its target and its times: a command, a script to run before it each time, the flags of its box, and the
    flags of the box that it is compared with (None: no box)."""

    bench = ''      # the program guard_bench, which every box may read

    def __init__(self, title, target, command, before='', flags=(), baseline_flags=None):
        self.title, self.target, self.command, self.before, self.flags = title, target, command, before, flags
        self.baseline_flags, self.baseline_times, self.box_times = baseline_flags, [], []

    def box(self, ringwall, flags):
        return [ringwall, 'run', '-q', '--ro', self.bench, *flags, '--']

    def run(self, ringwall):
        baseline = [] if self.baseline_flags is None else self.box(ringwall, self.baseline_flags)
        for times, prefix in ((self.baseline_times, baseline), (self.box_times, self.box(ringwall, self.flags))):
            if self.before:
                subprocess.run(['/bin/sh', '-c', self.before], check=True)
            times.append(milliseconds([*prefix, *self.command]))

    def ratio(self):
        return min(self.box_times) / min(self.baseline_times)     # noise only adds time


def make_rows(bench, medium, on_disk):
    count = str(FILES)
    shell = ['/bin/sh', '-c']
    # ext4 is slow to allocate an inode when many were freed in the last seconds, so files on disk are moved aside.
    clean_up = 'rm -rf made many copy'
    if on_disk:
        clean_up = ('aside=$(mktemp -d ../aside-XXXXXX); '
                    'for name in made many copy; do test ! -e $name || mv $name $aside/; done')
    jobs = [
        Row(f'create {FILES} files, {medium}', 2 if on_disk else 4,
            [*shell, f'mkdir made && cd made && {bench} create {count}'],
            clean_up),
        Row(f'unpack, `git status`, compile, {medium}', 1.4, [*shell, JOBS['unpack, `git status`, compile']], clean_up),
        Row(f'git clone of 10,000 files, {medium}', 1.3, [*shell, 'git -c safe.directory=* clone -q packed copy'],
            clean_up),
        Row(f'git clone of 10,000 files, each object a file, {medium}', 1.3,
            [*shell, 'git -c safe.directory=* clone -q origin copy'],
            clean_up),
    ]
    if on_disk:
        return jobs
    make_files = f'test -e f0 || {bench} create {count}'
    return [
        *jobs,
        *(Row(f'{job} {FILES} files, against a box without a guard', 1.03, [bench, job, count], make_files,
              baseline_flags=WITHOUT_GUARD)
          for job in ('open', 'stat')),
        *(Row(f'{job} {FILES} files', None, [bench, job, count], make_files) for job in ('open', 'stat')),
        Row(f'open {FILES} files, reads checked', None, [bench, 'open', count], make_files, CHECKED_READS),
        Row('compile', 1.3, [*shell, COMPILE]),
        Row('compile, reads checked', 1.3, [*shell, COMPILE], '', CHECKED_READS),
    ]


def make_origin():
    script = ('mkdir origin && cd origin && git init -q && for d in $(seq 100); do mkdir d$d && '
              'for f in $(seq 100); do echo "$d $f" > d$d/f$f; done; done && git add . && '
              'git config gc.auto 0 && git -c user.name=n -c user.email=e commit -qm all && cp -r . ../packed && '
              'git -C ../packed gc -q')
    subprocess.run(['/bin/sh', '-c', script], check=True, capture_output=True)


def measure(ringwall, bench, folder, on_disk, rounds):
    os.chdir(folder)
    Row.bench = bench
    make_tree(folder)
    make_origin()
    with open('../read-only.yaml', 'w', encoding='utf-8') as file:
        file.write('filesystem: {workspace: ro}\n')
    table = make_rows(bench, 'on disk' if on_disk else 'in memory', on_disk)
    for number in range(rounds + 1):
        for row in table:
            row.run(ringwall)
            if number == 0:     # a warm-up
                row.baseline_times, row.box_times = [], []
    return table


def measure_start(ringwall, program, folder, rounds):
    """Returns the best start times of a box with a guard, and of one that needs none: nothing in it is writable."""
    os.chdir(folder)
    commands = {'guarded': [ringwall, 'run', '-q', '--ro', program, '--', program],
                'unguarded': [ringwall, 'run', '-q', '--ro', program, *WITHOUT_GUARD, '--', program]}
    times = {name: [] for name in commands}
    for _ in range(rounds * 20):
        for name, command in commands.items():
            times[name].append(milliseconds(command))
    return min(times['guarded']), min(times['unguarded'])


def table_text(table):
    lines = ['| job | outside ms | in a box ms | ratio | target |', '|---|---|---|---|---|']
    for row in table:
        target = f'{row.target} {verdict(row.ratio(), row.target)}' if row.target else ''
        lines.append(f'| {row.title} | {min(row.baseline_times):.1f} | {min(row.box_times):.1f} | '
                     f'{row.ratio():.2f} | {target} |')
    return '\n'.join(lines)


def plot(table, path):
    """Draws one bar per job, as long as its ratio, with a mark at its target."""
    width, height, left = 860, 24, 380
    largest = max([row.ratio() for row in table] + [row.target or 0 for row in table])
    scale = (width - left - 60) / largest
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height * (len(table) + 1)}" '
             'font-family="sans-serif" font-size="12">']
    for number, row in enumerate(table):
        y = number * height + 4
        parts.append(f'<text x="{left - 8}" y="{y + 13}" text-anchor="end">{row.title}</text>'
                     f'<rect x="{left}" y="{y}" width="{row.ratio() * scale:.0f}" height="16" fill="#4878a8"/>'
                     f'<text x="{left + row.ratio() * scale + 4:.0f}" y="{y + 13}">{row.ratio():.2f}</text>')
        if row.target:
            x = left + row.target * scale
            parts.append(f'<line x1="{x:.0f}" x2="{x:.0f}" y1="{y - 2}" y2="{y + 18}" stroke="#c03030"/>')
    parts.append('</svg>')
    with open(path, 'w', encoding='utf-8') as file:
        file.write('\n'.join(parts))


def run_as_user(options, memory, disk):
    if os.geteuid() == 0:
        os.setgroups([])
        os.setgid(USER)
        os.setuid(USER)
        os.environ['HOME'] = disk
    table = measure(options.ringwall, options.bench, memory, False, options.rounds) if memory else []
    table += measure(options.ringwall, options.bench, f'{disk}/work', True, options.rounds)
    guarded, unguarded = measure_start(options.ringwall, options.program, f'{disk}/work', options.rounds)
    text = table_text(table) + f'\n\nStart of a box: {guarded:.2f} ms, ' \
           f'{guarded - unguarded:+.2f} ms against one that ' \
                               f'needs no guard (target 0.15: {verdict(guarded - unguarded, 0.15)}).\n'
    print(text)
    with open(f'{disk}/guard.md', 'w', encoding='utf-8') as file:
        file.write(f'# What the guard costs\n\nBest of {options.rounds} rounds, taking turns, as an ordinary user, on '
                   f'Linux '
                   f'{os.uname().release} with {os.cpu_count()} processors: `tests/bench/guard.py`. Where the time '
                   f'goes is in '
                   f'[guard.md](../decisions/guard.md).\n\n![ratios](guard.svg)\n\n{text}')
    plot(table, f'{disk}/guard.svg')


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('ringwall', type=os.path.realpath)
    parser.add_argument('program', type=os.path.realpath)
    parser.add_argument('bench', type=os.path.realpath)
    parser.add_argument('--write', type=os.path.realpath)
    parser.add_argument('--rounds', type=int, default=7)
    options = parser.parse_args()
    root = os.geteuid() == 0
    parent = '/home' if os.access('/home', os.W_OK) else os.path.expanduser('~')
    with tempfile.TemporaryDirectory(prefix='.ringwall-bench-', dir=parent, ignore_cleanup_errors=True) as disk:
        os.chmod(disk, 0o755)
        for name in ('ringwall', 'program', 'bench'):
            copy = f'{disk}/{os.path.basename(getattr(options, name))}'
            shutil.copy(getattr(options, name), copy)
            setattr(options, name, copy)
        os.mkdir(f'{disk}/work')
        memory = f'{disk}/memory' if root else ''
        if root:
            os.mkdir(memory)
            subprocess.run(['mount', '-t', 'tmpfs', '-o', 'mode=777', 'tmpfs', memory], check=True)
            subprocess.run(['chown', '-R', f'{USER}:{USER}', disk], check=True)
        try:
            child = os.fork()
            if child == 0:
                failed = True
                try:
                    run_as_user(options, memory, disk)
                    failed = False
                except BaseException:   # pylint: disable=broad-except
                    traceback.print_exc()
                sys.stdout.flush()
                os._exit(failed)
            status = os.waitpid(child, 0)[1]
            for name in ('guard.md', 'guard.svg') if options.write and status == 0 else ():
                shutil.copy(f'{disk}/{name}', options.write)
        finally:
            if root:
                subprocess.run(['umount', '-l', memory], check=True)
    sys.exit(status != 0)


if __name__ == '__main__':
    main()
