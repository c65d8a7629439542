"""A denial holds whatever else is granted, and whatever an earlier box left behind: denials above grants, symbolic
links and modes that a box made, ringwall's own files. Nearly every attack is also run outside, where it must succeed.
"""
import contextlib
import os
import pathlib
import shutil
import socket
import subprocess

import pytest

LEVELS = ['standard', 'strict', 'maximum']
NAMESPACE_LEVELS = LEVELS[1:]
REFUSED = 125


def outside(script, cwd, env=None):
    """Runs the script without a box and asserts that it succeeds."""
    result = subprocess.run(['sh', '-ec', script], cwd=cwd, env={'PATH': '/usr/bin:/bin', **(env or {})},
                            capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    return result.stdout


@contextlib.contextmanager
def working_directory(directory):
    """Changes the working directory, so that a socket can have a short relative name."""
    previous = os.getcwd()
    os.chdir(directory)
    yield
    os.chdir(previous)


@pytest.fixture
def inside(ringwall, level):
    def run(script, *flags, **options):
        return ringwall('run', '--level', level, *flags, '--', 'sh', '-ec', script, **options)
    return run


# --- denials above grants ---

DENIALS_ABOVE = [
    ('--deny-write {top}', None, None),
    ('--deny-write {top}/*', None, None),
    ('--deny-write {top}/**/d', None, None),
    ('--deny-write {link}', None, None),
    ('--deny-write {link}/*', None, None),
    ('--ceiling ceiling.yaml', 'ceiling.yaml', 'filesystem: {{deny_write: ["{top}"]}}'),
    ('--ceiling ceiling.yaml', 'ceiling.yaml', 'filesystem: {{deny_write: ["{link}/w?"]}}'),
    ('--ceiling ceiling.yaml', 'ceiling.yaml', 'filesystem: {{protect: ["{top}/ws"]}}'),
    ('-p policy.yaml', 'policy.yaml', 'filesystem: {{protect: ["{top}"]}}'),
    ('-p policy.yaml', 'policy.yaml', 'filesystem: {{deny_write: ["/"]}}'),
]


@pytest.mark.parametrize('level', LEVELS)
@pytest.mark.parametrize('flags, name, text', DENIALS_ABOVE, ids=range(len(DENIALS_ABOVE)))
@pytest.mark.parametrize('granted', ['{top}/ws/d', '{top}/ws/d/file'])
def test_denial_above_a_writable_grant_holds(inside, home, workspace, flags, name, text, granted):
    """A grant below a denial was once mounted writable, although the ceiling denied it."""
    paths = {'top': home / 'srv', 'link': home / 'way'}
    directory = home / 'srv/ws/d'
    directory.mkdir(parents=True)
    (directory / 'file').write_text('old')
    (home / 'way').symlink_to(home / 'srv')
    if name:
        (workspace / name).write_text(text.format(**paths))
    attack = f'echo new > {directory}/file'
    outside(attack, workspace)
    (directory / 'file').write_text('old')
    result = inside(f'cat {directory}/file; {attack}', *flags.format(**paths).split(), '--rw', granted.format(**paths))
    assert result.returncode != 0 and (directory / 'file').read_text() == 'old'
    if result.returncode != REFUSED:
        assert result.stdout == 'old'       # only writing is denied


@pytest.mark.parametrize('level', NAMESPACE_LEVELS)
def test_denied_write_makes_a_private_directory_read_only(inside, home, workspace):
    (workspace / 'file').write_text('here')
    result = inside(f'cat {workspace}/file; ! touch /tmp/x; ! touch ~/x; ! touch {workspace}/x', '--deny-write', '/tmp',
                    '--deny-write',
                    str(home))
    assert (result.returncode, result.stdout) == (0, 'here'), result.stderr


@pytest.mark.parametrize('level', LEVELS)
def test_denial_below_another_denial_is_not_an_error(inside, home):
    (home / 'a/b').mkdir(parents=True)
    result = inside('echo ran', '--ro', str(home / 'a'), '--deny-read', str(home / 'a/b'), '--deny-read',
                    str(home / 'a'))
    assert (result.returncode, result.stdout) == (0, 'ran\n'), result.stderr


@pytest.mark.parametrize('level', LEVELS)
def test_path_that_is_both_granted_and_denied_is_denied(inside, home):
    (home / 'a').mkdir()
    (home / 'a/f').write_text('the secret')
    assert 'the secret' in outside(f'cat {home}/a/f', home)
    assert 'the secret' not in inside(f'cat {home}/a/f', '--ro', str(home / 'a'), '--deny-read', str(home / 'a')).stdout


# --- symbolic links that an earlier box made ---

@pytest.fixture
def run_in_earlier_box(ringwall, home):
    """Runs a script in a box whose workspace is ~/A/proj: an earlier run that an attacker controlled."""
    def run(script):
        (home / 'A/proj/data').mkdir(parents=True, exist_ok=True)
        result = ringwall('run', '-w', str(home / 'A/proj'), '--', 'sh', '-ec', script, cwd=home / 'A/proj')
        assert result.returncode == 0, result.stderr
    return run


LINKS = [   # what the earlier box does in ~/A/proj; what the next box is granted; the secret's path below that
    ('rmdir data; ln -s {home}/Documents data', '{home}/A/proj/data', 'secret'),
    ('rmdir data; ln -s ../../Documents data', '{home}/A/proj/data', 'secret'),
    ('rmdir data; mkdir x; ln -s ../../../Documents x/y; ln -s x/y data', '{home}/A/proj/data', 'secret'),
    ('rmdir data; ln -s {home} data', '{home}/A/proj/data/Documents', 'secret'),
    ('rmdir data; ln -s {home}/Documents/secret data', '{home}/A/proj/data', ''),
    ('rmdir data; ln -s {home}/Documents/. data', '{home}/A/proj/data/../Documents', 'secret'),
]


@pytest.mark.parametrize('level', LEVELS)
@pytest.mark.parametrize('script, grant, below', LINKS, ids=range(len(LINKS)))
@pytest.mark.parametrize('granted_by', ['policy', '--rw', '--ro', '-w'])
def test_link_that_an_earlier_box_made_widens_no_grant(inside, run_in_earlier_box, home, workspace, script, grant,
                                                         below, granted_by):
    """A box once replaced a directory by a symbolic link, and the next box was granted the link's target."""
    (home / 'Documents').mkdir()
    (home / 'Documents/secret').write_text('the secret')
    run_in_earlier_box(script.format(home=home))
    granted = grant.format(home=home)
    attack = f'cat "{granted}/{below}"'.replace('/"', '"')
    if '..' not in grant:
        assert outside(attack, workspace) == 'the secret'
    (home / 'p.yaml').write_text(f'security: {{sandbox: {{allow_paths: ["{granted}:rw"]}}}}\n')
    result = inside(attack, *(['-p', '../p.yaml'] if granted_by == 'policy' else [granted_by, granted]))
    assert result.returncode != 0 and 'the secret' not in result.stdout
    if '..' not in grant and (below or granted_by != '-w'):     # a file cannot be a workspace anyway
        assert result.returncode == REFUSED and f'{home}/A/proj/data is a symbolic link' in result.stderr, result.stderr
        assert 'name it by its real path' in result.stderr


@pytest.mark.parametrize('level', LEVELS)
def test_real_path_can_be_granted(inside, home, workspace):
    (home / 'Documents').mkdir()
    (home / 'Documents/file').write_text('mine')
    (home / 'way').symlink_to(home / 'Documents')
    assert inside(f'cat {home}/Documents/file', '--rw', str(home / 'Documents')).stdout == 'mine'
    # If the target is granted by its real path, a grant may also name it through a link.
    result = inside(f'cat {home}/way/file', '--ro', str(home / 'Documents'), '--ro', str(home / 'way'))
    assert result.returncode == 0 or link_is_out_of_reach(result), result.stderr


def link_is_out_of_reach(result):
    """At level standard ringwall cannot create anything in the home, so the link itself may be out of reach."""
    return 'ermission denied' in result.stderr


@pytest.mark.parametrize('level', LEVELS)
def test_grant_may_name_a_symbolic_link_of_the_system(inside):
    assert os.path.islink('/var/run') or os.path.islink('/bin'), 'neither /var/run nor /bin is a symbolic link here'
    link = next(path for path in ('/var/run', '/bin') if os.path.islink(path))
    result = inside(f'ls {link} > /dev/null && echo listed', '--ro', link)
    assert result.stdout == 'listed\n', result.stderr


@pytest.mark.parametrize('level', LEVELS)
@pytest.mark.parametrize('target', ['{home}', '{home}/Documents'])
def test_directory_in_path_that_became_a_link_is_not_granted(inside, home, workspace, target):
    (home / 'Documents').mkdir()
    (home / 'Documents/secret').write_text('the secret')
    (home / 'tools').mkdir()
    (home / 'tools/bin').symlink_to(target.format(home=home))
    attack = f'cat {home}/Documents/secret'
    assert outside(attack, workspace) == 'the secret'
    result = inside(f'{attack} || echo denied', '-v', env={'PATH': f'{home}/tools/bin:/usr/bin:/bin'})
    assert result.stdout == 'denied\n', result.stderr
    assert f'{home}/tools/bin is a symbolic link' in result.stderr


# --- directories in PATH ---

@pytest.mark.parametrize('level', LEVELS)
def test_bin_in_path_grants_its_parent_only_if_that_looks_like_an_installation(inside, home, workspace):
    """~/work/bin in PATH once made all of ~/work readable; ~/.rd/bin, the socket in ~/.rd."""
    for top in 'projects', 'engine', 'repository', 'kept', 'installed':
        (home / top / 'bin').mkdir(parents=True)
        (home / top / 'bin/tool').write_text('#!/bin/sh\ncat "${0%/*}/../lib/part"\n')
        (home / top / 'bin/tool').chmod(0o755)
        (home / top / 'lib').mkdir()
        (home / top / 'lib/part').write_text(top)
    (home / 'projects/one/.git').mkdir(parents=True)
    (home / 'repository/.git').mkdir()
    shutil.rmtree(home / 'kept/lib')
    (home / 'kept/lib.txt').write_text('mine')
    listener = socket.socket(socket.AF_UNIX)
    with contextlib.closing(listener), working_directory(home / 'engine'):
        listener.bind('docker.sock')
        tops = 'projects', 'engine', 'repository', 'kept', 'installed'
        path = ':'.join(f'{home}/{top}/bin' for top in tops)
        script = (f'for top in {" ".join(tops)}; do test -x {home}/$top/bin/tool && echo $top; '
                  f'{home}/$top/bin/tool; done; cat {home}/kept/lib.txt')
        assert outside(f'set +e; {script}', workspace).endswith('mine')
        result = inside(f'set +e; {script}; true', env={'PATH': f'{path}:/usr/bin:/bin'})
        assert result.stdout.split() == ['projects', 'engine', 'repository', 'kept', 'installed',
                                         'installed'], result.stderr


# --- modes that an earlier box set ---

CARGO, CLOSED = '{home}/.cargo/credentials', '{home}/tree/closed/secret'


@pytest.mark.parametrize('level', LEVELS)
@pytest.mark.parametrize('secret, flags', [
    (CARGO, ('--read', 'broad')),
    (CLOSED, ('--ro', '{home}/tree', '--deny-read', CLOSED)),
    (CLOSED, ('--ro', '{home}/tree', '--deny-read', '{home}/tree/**/secret')),
    (CLOSED, ('--ro', '{home}/tree', '--deny-read', '{home}/tree/closed/se*')),
    (CLOSED, ('--rw', '{home}/tree', '--deny-read', CLOSED)),
], ids=range(5))
def test_denied_file_in_a_directory_without_permissions_stays_denied(inside, home, workspace, secret, flags):
    """Ringwall once took EACCES for "does not exist". The box, which owned the directory, changed its mode back and
    read the file."""
    secret = pathlib.Path(secret.format(home=home))
    secret.parent.mkdir(parents=True)
    secret.write_text('the secret')
    attack = f'chmod 755 {secret.parent} 2>/dev/null || true; cat {secret}'
    secret.parent.chmod(0)
    result = inside(attack, *(flag.format(home=home) for flag in flags))
    assert result.returncode != 0 and 'the secret' not in result.stdout, result.stderr
    secret.parent.chmod(0)
    assert outside(attack, workspace) == 'the secret'


@pytest.mark.only_root
@pytest.mark.parametrize('level', LEVELS)
def test_denied_file_in_a_closed_directory_of_another_group_stays_denied(inside, home, workspace):
    """The group is not mapped in the box's user namespace, so there root's capabilities do not open the directory."""
    secret = home / 'tree/closed/secret'
    secret.parent.mkdir(parents=True)
    secret.write_text('the secret')
    os.chown(secret.parent, -1, 54321)
    attack = f'chmod 755 {secret.parent} 2>/dev/null || true; cat {secret}'
    secret.parent.chmod(0)
    result = inside(attack, '--ro', str(home / 'tree'), '--deny-read', str(secret))
    assert result.returncode != 0 and 'the secret' not in result.stdout, result.stderr
    secret.parent.chmod(0)
    assert outside(attack, workspace) == 'the secret'


@pytest.mark.only_user
@pytest.mark.parametrize('level', ['standard'])
def test_grant_in_a_directory_without_permissions_is_an_error(inside, home):
    (home / 'closed/inner').mkdir(parents=True)
    (home / 'closed').chmod(0)
    result = inside('echo ran', '--ro', str(home / 'closed/inner'))
    assert (result.returncode, result.stdout) == (REFUSED, '') and 'cannot look at' in result.stderr
    (home / 'closed').chmod(0o700)


# --- ringwall's own files ---

OWN_FILES = ['.config/ringwall/policy.yaml', '.local/state/ringwall/audit/x.jsonl', '.local/share/ringwall/x']


@pytest.mark.parametrize('level', LEVELS)
@pytest.mark.parametrize('name', OWN_FILES)
@pytest.mark.parametrize('flags', [(), ('-p', 'p.yaml')])
def test_no_box_can_write_ringwalls_own_files(inside, home, workspace, name, flags):
    """A box once wrote the policy that the next run of ringwall read."""
    (workspace / 'p.yaml').write_text('filesystem: {protect: [-protected], deny_read: [-sensitive]}\n')
    (home / name).parent.mkdir(parents=True)
    (home / name).write_text('{}\n')
    attack = f'echo "security: {{sandbox: {{level: off}}}}" > {home}/{name}'
    write = inside(attack, '-w', str(home), *flags, cwd=workspace)
    assert write.returncode != 0 and (home / name).read_text() == '{}\n', write.stderr
    move = inside(f'mv {home}/{pathlib.Path(name).parts[0]} {home}/moved', '-w', str(home), *flags, cwd=workspace)
    assert move.returncode != 0 and (home / name).exists()
    outside(attack, workspace)


@pytest.mark.parametrize('level', ['standard'])
@pytest.mark.parametrize('flags', [('--rw', '{home}'), ('-w', '{home}'), ('--rw', '{home}/.config')])
def test_without_a_guard_a_grant_around_ringwalls_own_files_is_refused(build, home, workspace, flags, level):
    """A guard needs SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV, which is disabled here."""
    (home / '.config').mkdir()
    flags = [flag.format(home=home) for flag in flags]
    for extra_flags, expected in ([], (REFUSED, '')), (['--best-effort'], (0, 'ran\n')):
        result = subprocess.run([next(build.glob('**/deny_syscalls')), 'seccomp&0x20=EINVAL', '--', build / 'ringwall',
                                 'run', '--level',
                                 level, *extra_flags, *flags, '--', 'echo', 'ran'], cwd=workspace,
                                stdin=subprocess.DEVNULL,
                                env={'HOME': str(home), 'PATH': '/usr/bin:/bin'}, capture_output=True, text=True,
                                check=False)
        assert (result.returncode, result.stdout) == expected
        if extra_flags:
            assert 'is not protected' in result.stderr
        else:
            assert f'{home}/.config/ringwall, which ringwall itself reads' in result.stderr
            assert '--level strict' in result.stderr


@pytest.mark.parametrize('link', [False, True])
def test_policy_in_the_workspace_found_by_xdg_config_home_is_refused(ringwall, home, workspace, link):
    (workspace / 'ringwall').mkdir()
    (workspace / 'ringwall/policy.yaml').write_text('security: {sandbox: {level: off}}\n')
    if link:
        (home / 'conf').symlink_to(workspace)
    config = str(home / 'conf' if link else workspace)
    for arguments in ('run', '--', 'echo', 'ran'), ('policy', 'show'):
        result = ringwall(*arguments, env={'XDG_CONFIG_HOME': config})
        assert result.returncode == REFUSED and 'found by XDG_CONFIG_HOME' in result.stderr
        assert '--policy' in result.stderr
    # A policy in ~/.config is accepted even if the whole home is writable, because ringwall protects it.
    (home / '.config/ringwall').mkdir(parents=True)
    (home / '.config/ringwall/policy.yaml').write_text('mode: auto\n')
    assert ringwall('policy', 'show', '-w', str(home), env={'XDG_CONFIG_HOME': f'{home}/.config'}).returncode == 0
    assert ringwall('policy', 'show', '-p', 'ringwall/policy.yaml').returncode == 0


def test_plan_protects_every_path_to_ringwalls_own_files(ringwall, home, workspace):
    (home / 'dot').mkdir()
    (home / '.config').symlink_to('dot')
    result = ringwall('policy', 'show', '--json', '--rw', str(home), env={'XDG_STATE_HOME': f'{home}/state'})
    for name in '.config/ringwall', 'dot/ringwall', 'state/ringwall', '.local/state/ringwall':
        assert f'"path": "{home}/{name}",\n      "set": "ringwall\'s own"' in result.stdout, name


# --- hard links ---

def test_records_policies_and_ceilings_with_a_hard_link_are_refused(ringwall, home, workspace):
    """Through a hard link in its workspace a box once wrote to a record outside it."""
    record = home / 'record.jsonl'
    assert ringwall('run', '--audit', str(record), '--', 'true').returncode == 0
    os.link(record, workspace / 'other')
    outside('echo forged >> other', workspace)
    assert 'forged' in record.read_text()
    result = ringwall('run', '--audit', str(record), '--', 'sh', '-c', 'echo again >> other')
    assert result.returncode == REFUSED and 'hard link' in result.stderr and 'again' not in record.read_text()
    for flag in '-p', '--ceiling', '--settings':
        file = home / f'file{flag}'
        file.write_text('{}\n')
        assert ringwall('run', flag, str(file), '--', 'true').returncode == 0
        os.link(file, workspace / f'other{flag}')
        result = ringwall('run', flag, str(file), '--', 'true')
        assert result.returncode == REFUSED and 'hard link' in result.stderr
    own = home / '.config/ringwall/policy.yaml'
    own.parent.mkdir(parents=True)
    own.write_text('mode: auto\n')
    os.link(own, workspace / 'own')
    assert 'hard link' in ringwall('run', '--', 'true').stderr


def test_policy_show_marks_rules_that_are_not_enforced_at_standard(build, tmp_path):
    """Without a guard, rules inside a writable directory are not enforced; a denial outside it is."""
    work = tmp_path / 'work'
    work.mkdir()
    (tmp_path / 'policy.yaml').write_text("filesystem: {deny_write: [locked], deny_read: ['**/*.pem', /etc/shadow]}\n")
    command = [build / 'ringwall', 'policy', 'show', '-p', tmp_path / 'policy.yaml', '--level', 'standard']
    no_guard = [next(build.glob('**/deny_syscalls')), 'seccomp&0x20=EINVAL', '--']
    output = subprocess.run([*no_guard, *command], cwd=work, capture_output=True, text=True, check=True).stdout
    paragraphs = output.split('\n  ')
    not_enforced = {line.split()[0] for line in paragraphs if 'not enforced at level standard' in line}
    assert not_enforced == {'deny_write', 'deny_read', 'protect'}
    assert not [line for line in paragraphs if '/etc/shadow' in line and 'not enforced' in line]
    assert 'not enforced' not in subprocess.run(command, cwd=work, capture_output=True, text=True, check=True).stdout
