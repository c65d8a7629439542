"""`ringwall doctor` on the real kernel. Its answers are compared with those of other programs and of system calls, on
the machine as it is and with system calls disabled (tests/helpers/deny_syscalls.c)."""
import ctypes
import errno
import json
import os
import pathlib
import pty
import re
import secrets
import shutil
import signal
import subprocess
import tempfile
import time

import pytest

from procfs import files_of_all

LEVELS = ('standard', 'strict', 'maximum')
STATES = {'yes', 'partly', 'no', 'unasked'}
VERDICTS = {'works', 'shortfalls', 'refused'}
FEATURES = """
host.container host.apparmor_userns host.userns_sysctl host.filtered
calls.openat2 calls.pidfd calls.clone3 calls.close_range
landlock.enforced landlock.files landlock.refer landlock.truncate landlock.tcp landlock.ioctl_dev landlock.scope
landlock.audit landlock.tsync landlock.unix landlock.udp
seccomp.filter seccomp.actions
harden.no_new_privs harden.capabilities harden.mdwe
namespaces.user namespaces.pid namespaces.mount namespaces.ipc namespaces.uts namespaces.cgroup namespaces.together namespaces.root namespaces.proc
namespaces.overlay
limits.cgroup2 limits.delegation limits.into_cgroup limits.manager limits.nproc
guard.notify guard.addfd guard.wait_killable guard.read_memory
net.namespace net.loopback net.nftables net.redirect
""".split()


def find(build, name):
    """A program of the build, wherever meson put it."""
    found = [path for path in [build / name, *build.rglob(name)] if path.is_file() and os.access(path, os.X_OK)]
    assert found, f'{name} is not in {build}: build first'
    return found[0]


@pytest.fixture(scope='session')
def programs(build):
    """The doctor, and the program that runs a command with system calls disabled."""
    return find(build, 'ringwall-doctor'), find(build, 'deny_syscalls')


def run(*command, **options):
    options.setdefault('stdin', subprocess.DEVNULL)
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False, **options)


@pytest.fixture(scope='session')
def ask(programs):
    """Runs the doctor with system calls disabled: ask('openat2=ENOSYS', …) -> (exit status, JSON)."""
    doctor, deny_syscalls = programs

    def start(*withheld, env=None):
        command = [deny_syscalls, *withheld, '--', doctor, '--json'] if withheld else [doctor, '--json']
        result = run(*command, env=env)
        assert result.stderr == ''
        return result.returncode, json.loads(result.stdout)
    return start


@pytest.fixture(scope='session')
def report_here(ask):
    """The report on this machine, with no system call disabled."""
    return ask()[1]


def verdicts(report):
    return [report['levels'][level]['verdict'] for level in LEVELS]


# The format of the report

def test_json_has_the_documented_format(report_here):
    assert list(report_here) == ['kernel', 'uid', 'features', 'levels']
    assert report_here['kernel'] == {'release': os.uname().release, 'arch': os.uname().machine}
    assert report_here['uid'] == os.geteuid()
    assert list(report_here['features']) == FEATURES
    for name, feature in report_here['features'].items():
        assert list(feature) == ['state', 'detail', 'error', 'help'], name
        assert feature['state'] in STATES, name
        assert feature['error'] is None or feature['error'] in errno.errorcode.values(), name
        assert feature['state'] != 'no' or feature['detail'], f'{name} gives no reason'
    assert list(report_here['levels']) == list(LEVELS)
    has_ports = (report_here['features']['landlock.tcp']['state'] == 'yes' and
                 report_here['levels']['standard']['verdict'] != 'refused')
    assert ('by the proxy of http_proxy' in (report_here['levels']['standard']['remark'] or '')) == has_ports
    for level in report_here['levels'].values():
        assert list(level) == ['verdict', 'shortfalls', 'missing', 'remark', 'try']
        assert level['verdict'] in VERDICTS
        assert bool(level['missing']) == (level['verdict'] == 'refused')
        for lacking in level['shortfalls'] + level['missing']:
            assert lacking['feature'] in FEATURES and lacking['lost']


def test_two_runs_give_the_same_report(ask, report_here):
    assert ask()[1] == report_here


def test_every_feature_is_probed(report_here):
    not_probed = [name for name, feature in report_here['features'].items() if feature['state'] == 'unasked']
    assert not not_probed


def test_exit_status_says_whether_any_level_works(ask):
    for withheld in ((), ('landlock_create_ruleset=ENOSYS',), ('unshare=EPERM', 'clone=EPERM', 'clone3=EPERM')):
        status, report = ask(*withheld)
        assert status == all(level['verdict'] == 'refused' for level in report['levels'].values())


def test_ringwall_doctor_runs_the_helper(ringwall):
    result = ringwall('doctor', '--json')
    assert list(json.loads(result.stdout)['features']) == FEATURES


# The text for people

def test_text_is_plain_and_fits_80_columns(programs):
    result = run(programs[0])
    assert '\033' not in result.stdout
    for line in result.stdout.splitlines():
        assert len(line) <= 80 or 'try: ' in line, line   # a command stays on one line, so that it can be copied


def test_text_has_one_verdict_per_level(programs, report_here):
    words = {'works': 'works', 'shortfalls': 'works, with shortfalls:', 'refused': 'does not work here:'}
    lines = run(programs[0]).stdout.splitlines()
    for level in LEVELS:
        assert f'  {level:10}{words[report_here["levels"][level]["verdict"]]}' in lines


def read_terminal(command, env):
    """Runs a command on a terminal of 80 columns."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.execve(command, [command], env)
    output = b''
    try:
        while chunk := os.read(terminal, 65536):
            output += chunk
    except OSError:   # every process has closed the other end of the terminal
        pass
    os.close(terminal)
    os.waitpid(pid, 0)
    return output.decode()


def test_colour_is_used_on_terminals_unless_no_color_is_set(programs):
    assert '\033[32myes\033[0m' in read_terminal(str(programs[0]), {'TERM': 'xterm'})
    assert '\033' not in read_terminal(str(programs[0]), {'TERM': 'xterm', 'NO_COLOR': '1'})


def test_help_exits_with_0_and_mistakes_with_125(programs):
    doctor = programs[0]
    assert run(doctor, '--help').returncode == run(doctor, '-h').returncode == 0
    assert '--json' in run(doctor, '--help').stdout
    for mistake in (['--jso'], ['--json=1'], ['word'], ['-x']):
        result = run(doctor, *mistake)
        assert result.returncode == 125 and result.stderr and not result.stdout, mistake


def test_output_that_cannot_be_written_is_a_failure(programs):
    with open('/dev/full', 'w') as full:
        result = subprocess.run([programs[0]], stdout=full, stderr=subprocess.PIPE, check=False, timeout=60)
    assert result.returncode == 125 and result.stderr


# Comparison with other programs and system calls

def works(*command):
    return run(*command).returncode == 0


@pytest.mark.parametrize('feature, options', [
    ('namespaces.user', ['-Ur']),
    ('namespaces.pid', ['-Urp', '--fork']),
    ('namespaces.mount', ['-Urm']),
    ('namespaces.ipc', ['-Uri']),
    ('namespaces.uts', ['-Uru']),
    ('namespaces.cgroup', ['-UrC']),
    ('net.namespace', ['-Urn']),
    ('namespaces.together', ['-UrpmiunC', '--fork']),
    ('namespaces.proc', ['-Urpm', '--fork', '--mount-proc']),
])
def test_doctor_and_unshare_agree_on_namespaces(report_here, feature, options):
    assert (report_here['features'][feature]['state'] == 'yes') == works('unshare', *options, 'true')


def test_doctor_and_mount_agree_on_overlays(report_here):
    script = ('mount -t tmpfs none /mnt && cd /mnt && mkdir l u w m && '
              'mount -t overlay none -o lowerdir=l,upperdir=u,workdir=w,userxattr m && touch m/x')
    overlay = report_here['features']['namespaces.overlay']
    assert (overlay['state'] == 'yes') == works('unshare', '-Urm', 'sh', '-c', script)


def test_doctor_and_nft_agree_on_nftables(report_here):
    if not shutil.which('nft'):
        pytest.skip('nft is not installed')
    script = 'add table ip t; add chain ip t c { type nat hook output priority -100; }; add rule ip t c redirect'
    assert (report_here['features']['net.nftables']['state'] == 'yes') == works('unshare', '-Urn', 'nft', script)


libc = ctypes.CDLL(None, use_errno=True)
CREATE_RULESET, OPENAT2 = 444, 437   # the same numbers on every architecture


def test_doctor_and_the_system_call_agree_on_landlock(report_here):
    abi = libc.syscall(CREATE_RULESET, None, 0, 1)
    feature = report_here['features']['landlock.enforced']
    assert (feature['state'] == 'yes') == (abi > 0)
    if abi > 0:
        assert re.match(rf'ABI {abi}\b', feature['detail'])
    groups = 'files refer truncate tcp ioctl_dev scope audit tsync unix udp'.split()
    for number, group in enumerate(groups, 1):
        assert (report_here['features'][f'landlock.{group}']['state'] == 'yes') == (abi >= number), group


def test_doctor_and_the_system_call_agree_on_openat2(report_here):
    how = (ctypes.c_uint64 * 3)(os.O_PATH, 0, 8)   # RESOLVE_BENEATH
    fd = libc.syscall(OPENAT2, -100, b'.', how, 24)
    assert (report_here['features']['calls.openat2']['state'] == 'yes') == (fd >= 0)
    if fd >= 0:
        os.close(fd)


def test_doctor_lists_only_seccomp_actions_that_proc_lists(report_here):
    known = pathlib.Path('/proc/sys/kernel/seccomp/actions_avail').read_text().split()
    listed = report_here['features']['seccomp.actions']['detail'].split()
    assert report_here['features']['seccomp.actions']['state'] == 'yes' and set(listed) <= set(known)


def test_process_limit_works_for_users_and_not_for_root(report_here, is_root):
    own = pathlib.Path('/proc/self/uid_map').read_text().split()
    if own != ['0', '0', '4294967295']:
        pytest.skip('root here may not be the root of the host')
    if report_here['features']['namespaces.user']['state'] == 'yes':
        assert report_here['features']['limits.nproc']['state'] == ('no' if is_root else 'yes')


# Kernels that lack a feature

ALL_REFUSED = ['refused'] * 3
ONLY_STANDARD = ['runs', 'refused', 'refused']
DEGRADED = {
    'no Landlock in the kernel': (
        ['landlock_create_ruleset=ENOSYS'], {'landlock.enforced': 'ENOSYS'}, ALL_REFUSED),
    'Landlock not switched on': (
        ['landlock_create_ruleset=EOPNOTSUPP'], {'landlock.enforced': 'EOPNOTSUPP'}, ALL_REFUSED),
    'Landlock that cannot be applied': (
        ['landlock_restrict_self=EPERM'], {'landlock.enforced': 'EPERM'}, ALL_REFUSED),
    'no openat2': (['openat2=ENOSYS'], {'calls.openat2': 'ENOSYS'}, ALL_REFUSED),
    'no seccomp': (['seccomp=EPERM', 'prctl:22=EPERM'], {'seccomp.filter': None}, ALL_REFUSED),
    'no no_new_privs': (['prctl:38=EINVAL'], {'harden.no_new_privs': 'EINVAL'}, ALL_REFUSED),
    'no namespaces': (
        ['unshare=EPERM', 'clone3=ENOSYS'],
        {'namespaces.user': 'EPERM', 'namespaces.pid': 'EPERM', 'namespaces.mount': 'EPERM',
         'namespaces.together': 'ENOSYS', 'namespaces.overlay': 'EPERM',
         'net.namespace': 'EPERM', 'net.redirect': 'EPERM'}, ONLY_STANDARD),
    'no user namespace': (['unshare:0x10000000=ENOSPC'], {'namespaces.user': 'ENOSPC'}, ONLY_STANDARD),
    'no network namespace': (['unshare:0x40000000=EPERM'], {'net.namespace': 'EPERM'}, ONLY_STANDARD),
    'no clone3': (
        ['clone3=ENOSYS'], {'calls.clone3': 'ENOSYS', 'namespaces.together': 'ENOSYS', 'limits.into_cgroup': 'ENOSYS'},
        ONLY_STANDARD),
    'no mount_setattr': (['mount_setattr=ENOSYS'], {'namespaces.root': 'ENOSYS'}, ONLY_STANDARD),
    'no mounts': (
        ['mount=EPERM'], {'namespaces.mount': 'EPERM', 'namespaces.proc': 'EPERM', 'namespaces.overlay': 'EPERM'},
        ONLY_STANDARD),
    'no MDWE': (['prctl:65=EINVAL'], {'harden.mdwe': 'EINVAL'}, ['shortfalls'] * 3),
    'no netlink': (['socket:16=EAFNOSUPPORT'], {'net.nftables': 'EAFNOSUPPORT', 'net.redirect': 'EAFNOSUPPORT'},
                   ['runs', 'shortfalls', 'shortfalls']),
    'no process_vm_readv': (['process_vm_readv=EPERM'], {'guard.read_memory': 'EPERM'}, ONLY_STANDARD),
    'no pidfd': (['pidfd_open=ENOSYS'], {'calls.pidfd': 'ENOSYS'}, ['shortfalls'] * 3),
    'a filter that kills': (
        ['openat2=KILL', 'mount_setattr=KILL'], {'calls.openat2': 'EINTR', 'namespaces.root': 'EINTR'}, ALL_REFUSED),
}


@pytest.mark.parametrize('withheld, lacking, expected', DEGRADED.values(), ids=DEGRADED)
def test_disabled_system_call_is_reported_as_a_missing_feature(ask, report_here, withheld, lacking, expected):
    if any(report_here['features'][name]['state'] != 'yes' for name in lacking if name != 'limits.into_cgroup'):
        pytest.skip('this machine lacks it already')
    status, report = ask(*withheld)
    for name, error in lacking.items():
        feature = report['features'][name]
        assert feature['state'] == 'no' and feature['detail'], name
        assert error is None or feature['error'] == error, (name, feature)
    for level, want, got in zip(LEVELS, expected, verdicts(report)):
        want = 'refused' if report_here['levels'][level]['verdict'] == 'refused' else want
        assert got != 'refused' if want == 'runs' else got == want, level
    named = {lack['feature'] for level in report['levels'].values() for lack in level['missing'] + level['shortfalls']}
    assert named & lacking.keys(), 'no level names a feature that is lacking'
    assert status == all(level['verdict'] == 'refused' for level in report['levels'].values())
    assert report['features']['host.filtered']['state'] == 'yes'


def test_filter_that_kills_is_reported_by_its_signal(ask):
    _, report = ask('openat2=KILL')
    assert 'SIGSYS' in report['features']['calls.openat2']['detail']


def test_kernel_with_landlock_switched_off_gets_advice(ask):
    _, report = ask('landlock_create_ruleset=EOPNOTSUPP')
    assert 'lsm=landlock' in report['levels']['standard']['try']


def test_container_without_namespaces_gets_advice(ask, report_here):
    _, report = ask('unshare=EPERM')
    container = report_here['features']['host.container']['detail'].split(':')[0]
    if container not in ('docker', 'podman'):
        pytest.skip('not in a docker or podman container')
    assert report['levels']['strict']['try'].startswith(f'{container} run --security-opt')


# Nothing is left behind

def mounts_temporary_files_and_cgroups():
    return (pathlib.Path('/proc/self/mountinfo').read_text(), sorted(os.listdir('/tmp')),
            [name for _, names, _ in os.walk('/sys/fs/cgroup') for name in names if name.startswith('ringwall-')])


def with_variable(word):
    return [pid for pid, variables in files_of_all('environ') if word.encode() in variables]


def wait_for_cleanup(mark, seconds=30):
    """Waits until the killed children have exited and systemd has removed the empty scope."""
    deadline = time.monotonic() + seconds
    while (with_variable(mark) or mounts_temporary_files_and_cgroups()[2]) and time.monotonic() < deadline:
        time.sleep(0.02)


@pytest.mark.alone
def test_run_leaves_nothing_behind(programs, tmp_path):
    before, mark = mounts_temporary_files_and_cgroups(), secrets.token_hex(8)
    run(programs[0], cwd=tmp_path, env={'HOME': str(tmp_path), 'MARK': mark})
    assert not list(tmp_path.iterdir())
    wait_for_cleanup(mark)
    mounts, temporary, cgroups = mounts_temporary_files_and_cgroups()
    assert mounts == before[0] and not cgroups
    assert not [name for name in set(temporary) - set(before[1]) if 'ringwall' in name]
    assert not with_variable(mark)


@pytest.mark.alone
def test_killed_run_leaves_nothing_behind(programs, tmp_path):
    """SIGKILL at 25 different moments: no child survives, and no cgroup is left."""
    mark = secrets.token_hex(8)
    for step in range(25):
        process = subprocess.Popen([programs[0]], cwd=tmp_path, stdout=subprocess.DEVNULL,
                                   env={**os.environ, 'MARK': mark})
        time.sleep(step * 0.004)
        process.send_signal(signal.SIGKILL)
        process.wait()
    wait_for_cleanup(mark)
    assert not with_variable(mark)
    assert not list(tmp_path.iterdir())
    assert not mounts_temporary_files_and_cgroups()[2]


# Other users, and `ringwall run`

@pytest.mark.only_root
def test_doctor_reports_on_the_user_who_runs_it(programs):
    """Run as another user; the program is copied to a directory that this user can read."""
    with tempfile.TemporaryDirectory(prefix='ringwall-doctor-', dir='/var/tmp') as folder:
        os.chmod(folder, 0o755)
        doctor = shutil.copy(programs[0], folder)
        identity = ['setpriv', '--reuid=65534', '--regid=65534', '--clear-groups']
        report = json.loads(run(*identity, doctor, '--json', env={'PATH': os.environ['PATH']}).stdout)
        assert report['uid'] == 65534
        assert (report['features']['namespaces.user']['state'] == 'yes') == works(*identity, 'unshare', '-Ur', 'true')
        assert report['features']['limits.delegation']['state'] == 'no'
        assert report['features']['limits.manager']['detail'].startswith('no systemd manager at /run/user/65534/')


def test_no_level_is_refused_that_the_kernel_can_enforce(report_here):
    """Other tests skip the levels that the doctor refuses. This one checks that the doctor is right to refuse them."""
    abi = ctypes.CDLL(None).syscall(444, None, 0, 1)
    spaces = subprocess.run(['unshare', '-Urpmfin', 'true'], check=False, stderr=subprocess.DEVNULL).returncode == 0
    refused = {name for name, level in report_here['levels'].items() if level['verdict'] == 'refused'}
    assert not (refused & {'strict', 'maximum'} and abi >= 1 and spaces)
    assert not ('standard' in refused and abi >= 3)


@pytest.mark.parametrize('name', LEVELS)
def test_run_refuses_the_levels_that_the_doctor_refuses_and_no_other(ask, ringwall, name):
    """The parameter is not called `level`, because the fixture level_can_be_held would skip refused levels."""
    refused = ask()[1]['levels'][name]['verdict'] == 'refused'
    result = ringwall('run', '--level', name, '--', 'true')
    assert result.returncode == (125 if refused else 0), result.stderr
