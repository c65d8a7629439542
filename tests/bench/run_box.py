#!/usr/bin/python3
"""Times `ringwall run` and other sandboxes in one run. They take turns, so that noise affects all.

    run_box.py RINGWALL STATIC-TRUE [--write FOLDER] [--rounds N]

1. Starting a static program that does nothing, at each level, against bubblewrap and other sandboxes if installed.
2. A job with many files (unpack 20,000, `git status`, compile), and unpacking alone, inside a box against outside. In
   memory, because the time of a disk varies by a factor of three from round to round.
3. The peak memory of ringwall itself.

Runs as an ordinary user: started as root it becomes one. --write writes a table and a plot to FOLDER.
"""
import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tarfile
import tempfile
import time

from timing import milliseconds

USER = 64123
TARGETS = {'strict': 0.45, 'maximum': 0.7}
JOB_TARGET, MEMORY_TARGET = 1.4, 4.0
JOB_ROUNDS = 15
LEVELS = ('standard', 'strict', 'maximum')
HERE = os.path.dirname(os.path.realpath(__file__))


def make_bundle(program):
    """Makes a bundle for crun, with the program as its only file. None if crun is not installed."""
    bundle = f'{os.path.dirname(program)}/bundle'
    if not shutil.which('crun'):
        return None
    for name in ('proc', 'dev'):
        os.makedirs(f'{bundle}/rootfs/{name}')
    shutil.copy(program, f'{bundle}/rootfs/true')
    subprocess.run(['crun', 'spec', '--rootless'], cwd=bundle, check=True)
    with open(f'{bundle}/config.json', encoding='utf-8') as file:
        config = json.load(file)
    config['process'].update(terminal=False, args=['/true'], capabilities={})
    config['mounts'] = [mount for mount in config['mounts'] if mount['destination'] in ('/proc', '/dev', '/dev/pts')]
    config['linux'].pop('resources', None)
    with open(f'{bundle}/config.json', 'w', encoding='utf-8') as file:
        json.dump(config, file)
    return bundle


def can_run(name, command):
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    if result.returncode:
        print(f'{name} is skipped: {(result.stderr.strip() or "it failed").splitlines()[-1]}', file=sys.stderr)
    return result.returncode == 0


def start_commands(ringwall, program):
    """Returns the commands by name. The first is bubblewrap, which the others are compared with."""
    commands = {
        'bubblewrap': ['bwrap', '--unshare-all', '--ro-bind', '/', '/', '--proc', '/proc', '--dev', '/dev', '--tmpfs',
                       '/tmp', program],
        'no sandbox': [program],
        **{level: [ringwall, 'run', '--level', level, '--', program] for level in LEVELS},
        'firejail': ['firejail', '--quiet', '--noprofile', program],
        'crun': ['crun', '--cgroup-manager=disabled', f'--root={os.path.dirname(program)}/crun', 'run',
                 f'--bundle={make_bundle(program)}', 'bench'],
        'gVisor': ['runsc', '--rootless', '--network=none', 'do', program],
        'srt': ['srt', program],
    }
    found = {name: [shutil.which(words[0]), *words[1:]] for name, words in commands.items() if shutil.which(words[0])}
    if 'bubblewrap' not in found:
        sys.exit('bubblewrap is needed for the comparison; install the package bubblewrap')
    return {name: words for name, words in found.items() if can_run(name, words)}


def peak_megabytes(ringwall, level):
    """Returns the larger of the peaks of front and keeper. getrusage() would include the process before its exec."""
    with subprocess.Popen([ringwall, 'run', '--level', level, '--', 'sleep', '0.4']) as front:
        time.sleep(0.2)
        peak = 0
        with open(f'/proc/{front.pid}/task/{front.pid}/children', encoding='ascii') as file:
            pids = [str(front.pid), *file.read().split()]
        for pid in pids:
            with open(f'/proc/{pid}/status', encoding='ascii') as file:
                peak = max(peak, *(int(line.split()[1]) for line in file if line.startswith('VmHWM')))
    return peak / 1024


def time_in_turns(commands, rounds):
    times = {name: [] for name in commands}
    for _ in range(rounds):
        for name, command in commands.items():
            times[name].append(milliseconds(command))
    return {name: {'median': statistics.median(values), 'best': min(values)} for name, values in times.items()}


def make_tree(folder):
    """20,000 small files in an archive, and something to compile."""
    with tarfile.open(f'{folder}/many.tar', 'w') as archive:
        os.mkdir(f'{folder}/seed')
        with open(f'{folder}/seed/file', 'w', encoding='utf-8') as file:
            file.write('int f(void);\n' * 20)
        for number in range(20000):
            archive.add(f'{folder}/seed/file', f'many/{number // 200}/{number}.h')
    shutil.rmtree(f'{folder}/seed')
    shutil.copytree(next(path for path in (f'{HERE}/base', f'{HERE}/../../src/base') if os.path.exists(path)),
                    f'{folder}/src/base')
    subprocess.run(['git', 'init', '-q'], cwd=folder, check=True)


UNPACK = 'tar xf many.tar'
FLAGS = r'-O2 -Isrc -D_GNU_SOURCE -DRINGWALL_HELPERS=\"\" -DRINGWALL_HELPERS_NEAR=\"\"'
JOBS = {'unpack, `git status`, compile': f'{UNPACK} && git -c safe.directory=* status --porcelain -uall | wc -l && '
                                         f'for file in src/base/*.c; do gcc {FLAGS} -c $file || exit 1; done',
        'unpack only': UNPACK}


def measure_jobs(ringwall, folder):
    """Returns the best time of each job, outside and at each level."""
    commands = {}
    for job, script in JOBS.items():
        commands[job, 'outside'] = ['/bin/sh', '-c', script]
        for level in LEVELS:
            commands[job, level] = [ringwall, 'run', '-q', '--level', level, '--', '/bin/sh', '-c', script]
    times = {name: [] for name in commands}
    os.chdir(folder)
    for number in range(JOB_ROUNDS + 1):
        for name, command in commands.items():
            shutil.rmtree(f'{folder}/many', ignore_errors=True)
            elapsed = milliseconds(command)
            if number:      # the first round is a warm-up
                times[name].append(elapsed)
    return [(*name, min(values)) for name, values in times.items()]     # noise only adds time


def verdict(value, target):
    return 'met' if value <= target else 'MISSED'


def plot(results, path):
    """A bar chart as SVG, one bar per command, made with the standard library alone."""
    names = [name for name in results if name != 'no sandbox']
    longest = max(results[name]['median'] for name in names)
    rows = []
    for row, name in enumerate(sorted(names, key=lambda name: results[name]['median'])):
        median, y = results[name]['median'], 34 + row * 28
        colour = '#2b6cb0' if name in LEVELS else '#a0aec0'
        label = f'ringwall, {name}' if colour == '#2b6cb0' else name
        rows.append(f'<text x="150" y="{y + 14}" text-anchor="end">{label}</text>'
                    f'<rect x="160" y="{y}" width="{median / longest * 380:.0f}" height="20" fill="{colour}"/>'
                    f'<text x="{166 + median / longest * 380:.0f}" y="{y + 14}">{median:.2f} ms</text>')
    height = 44 + len(rows) * 28
    with open(path, 'w', encoding='utf-8') as file:
        file.write(f'<svg xmlns="http://www.w3.org/2000/svg" width="640" height="{height}" font-family="sans-serif" '
                   f'font-size="13"><rect width="640" height="{height}" fill="white"/><text x="12" y="20">Starting a '
                   f'program '
                   f'that does nothing: median, shorter is better</text>{"".join(rows)}</svg>\n')


def measure(arguments):
    with tempfile.TemporaryDirectory(dir=os.environ['HOME']) as folder:
        os.chdir(folder)
        program = shutil.copy(arguments.true, f'{folder}/true')
        commands = start_commands(arguments.ringwall, program)
        time_in_turns(commands, 5)
        results = time_in_turns(commands, arguments.rounds)
        memory = max(peak_megabytes(arguments.ringwall, level) for level in TARGETS)
        print(f'{len(commands)} commands, {arguments.rounds} rounds done; now the job', file=sys.stderr)
        os.chdir('/')
    with tempfile.TemporaryDirectory(dir='/dev/shm') as folder:
        make_tree(folder)
        jobs = measure_jobs(arguments.ringwall, folder)
        os.chdir('/')
    return {'starts': results, 'jobs': jobs, 'memory': memory}


def report(found):
    results, base = found['starts'], found['starts']['bubblewrap']
    lines = ['| start of a static `true` | median ms | best ms | × bubblewrap | target |', '|---|---|---|---|---|']
    for name, times in results.items():
        ratio = times['median'] / base['median']
        target = f'≤ {TARGETS[name]}: {verdict(ratio, TARGETS[name])}' if name in TARGETS else ''
        lines.append(f'| {name} | {times["median"]:.2f} | {times["best"]:.2f} | {ratio:.2f} | {target} |')
    lines += ['', '| a job with 20,000 files, in memory | where | best ms | × outside | target |',
              '|---|---|---|---|---|']
    outside = {job: best for job, where, best in found['jobs'] if where == 'outside'}
    for job, where, best in found['jobs']:
        ratio = best / outside[job]
        has_target = job != 'unpack only' and where != 'outside'
        target = f'≤ {JOB_TARGET}: {verdict(ratio, JOB_TARGET)}' if has_target else ''
        lines.append(f'| {job} | {where} | {best:.0f} | {ratio:.3f} | {target} |')
    lines += ['', f'Peak memory of ringwall itself: {found["memory"]:.1f} MB (≤ {MEMORY_TARGET:.0f}: '
                  f'{verdict(found["memory"], MEMORY_TARGET)}).']
    return '\n'.join(lines) + '\n'


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('ringwall')
    parser.add_argument('true')
    parser.add_argument('--write')
    parser.add_argument('--rounds', type=int, default=200)
    parser.add_argument('--measure', action='store_true', help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.measure or os.geteuid() != 0:
        found = measure(arguments)
        if arguments.measure:
            json.dump(found, sys.stdout)
            return
    else:
        with tempfile.TemporaryDirectory(dir='/home', prefix='.ringwall-bench-') as home:
            for name in (arguments.ringwall, arguments.true, f'{HERE}/run_box.py', f'{HERE}/timing.py'):
                shutil.copy(name, home)     # the clone may be in a directory that only root can enter
            shutil.copytree(f'{HERE}/../../src/base', f'{home}/base')
            os.chmod(home, 0o755)
            os.mkdir(f'{home}/own')
            os.chown(f'{home}/own', USER, USER)
            result = subprocess.run([sys.executable, f'{home}/run_box.py',
                                     f'{home}/{os.path.basename(arguments.ringwall)}',
                                     f'{home}/{os.path.basename(arguments.true)}', '--measure',
                                     '--rounds', str(arguments.rounds)], user=USER, group=USER, extra_groups=[],
                                    check=True,
                                    stdout=subprocess.PIPE, cwd=f'{home}/own',
                                    env={'HOME': f'{home}/own', 'PATH': '/usr/local/bin:/usr/bin:/bin',
                                         'LANG': 'C.UTF-8'})
            found = json.loads(result.stdout)
    text = report(found)
    print(text)
    if arguments.write:
        with open(f'{arguments.write}/run.md', 'w', encoding='utf-8') as file:
            file.write(f'# Starting a box\n\nMeasured by `tests/bench/run_box.py` on two cores, Linux '
                       f'{os.uname().release}, as an '
                       f'ordinary user, all taking turns in one run.\n\n![Time to start](run.svg)\n\n{text}')
        plot(found['starts'], f'{arguments.write}/run.svg')


if __name__ == '__main__':
    main()
