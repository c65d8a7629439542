#!/usr/bin/python3
"""Times `ringwall policy check` on a policy of 1,000 lines against /bin/true.

    policy_check.py RINGWALL [ROUNDS]

The policy has typical content: paths to read and to write, patterns to deny, hosts, limits. The commands take turns, so
that noise affects all. Prints the median and the best of each and the ratio of the medians; the target is at most 4.
"""
import statistics
import sys
import tempfile

from timing import milliseconds

TARGET = 4.0


def policy():
    lines = ['runtime:', '  workdir: .', 'security:', '  sandbox:', '    level: strict', '    allow_paths:']
    lines += [f'      - /data/models/m{i}{":rw" if i % 10 == 0 else ":ro"}' for i in range(400)]
    lines += ['    resources:', '      memory: 512MB', '      cpu: 2', '      processes: 20']
    lines += ['filesystem:', '  deny_read:'] + [f'    - ~/secrets/s{i}/*.pem' for i in range(250)]
    lines += ['network:', '  allowed_domains:']
    lines += [f'    - h{i}.example.com' for i in range(1000 - len(lines))]
    return '\n'.join(lines) + '\n'


def main():
    ringwall, rounds = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 400
    with tempfile.TemporaryDirectory() as folder:
        path = f'{folder}/policy.yaml'
        with open(path, 'w', encoding='utf-8') as file:
            file.write(policy())
        commands = {'/bin/true': ['/bin/true'], 'ringwall version': [ringwall, 'version'],
                    'ringwall policy check': [ringwall, 'policy', 'check', path]}
        times = {name: [] for name in commands}
        for _ in range(rounds):
            for name, command in commands.items():
                times[name].append(milliseconds(command))
    base = statistics.median(times['/bin/true'])
    for name, values in times.items():
        median = statistics.median(values)
        print(f'{name:24} median {median:6.3f} ms   best {min(values):6.3f} ms   {median / base:5.2f} x /bin/true')
    ratio = statistics.median(times['ringwall policy check']) / base
    print(f'1,000 lines checked in {ratio:.2f} times /bin/true; the target is {TARGET:.0f}: '
          f'{"met" if ratio <= TARGET else "MISSED"}')


main()
