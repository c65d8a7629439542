"""./run and tools/prepare on machines that lack packages or programs. apt-get, dpkg-query, sudo, meson and ninja are
stubs; most of them log how they were called. The path of the clone has a space.
"""
import shutil
import subprocess

import pytest

TOOLS = 'sh cat chown dirname env grep readlink sed stat touch tr'.split()
ALL_INSTALLED = 'for p; do case $p in -*|*{*) ;; *) printf "%s=installed " "$p" ;; esac; done'
MESON = 'for d; do :; done; shift $(($# - 2)); mkdir -p "$1"; touch "$1/build.ninja"'
NINJA = 'case "$*" in *" -n") [ -e "$2/stale" ] || echo "ninja: no work to do." ;; *) rm -f "$2/stale" ;; esac'
PROGRAM = '#!/bin/sh\necho "$PWD:$*"\n'


class Clone:
    """A clone, and a PATH on which every program is a stub or a link to the real one."""

    def __init__(self, path, repo):
        self.path, self.bin, self.log = path / 'the clone', path / 'bin', path / 'log'
        self.bin.mkdir()
        self.log.touch()
        for name in ('run', 'tools/prepare', 'packaging/packages-build', 'packaging/packages-test'):
            (self.path / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(repo / name, self.path / name)
        (self.path / 'tools/demonstrate').write_text('#!/bin/sh\necho "$PWD:demonstrate ${1##*/}"\n')
        (self.path / 'tools/demonstrate').chmod(0o755)
        for tool in TOOLS + ['mkdir', 'rm']:
            (self.bin / tool).symlink_to(shutil.which(tool))
        self.stub('id', 'echo 1000', quiet=True)
        self.stub('dpkg-query', ALL_INSTALLED, quiet=True)
        self.stub('apt-get', '')
        self.stub('meson', MESON)
        self.stub('ninja', NINJA)
        self.stub('cc', '')
        build = self.path / 'build'
        build.mkdir()
        (build / 'build.ninja').touch()
        (build / 'ringwall').write_text(PROGRAM)
        (build / 'ringwall').chmod(0o755)

    def stub(self, name, body, quiet=False):
        note = '' if quiet else f'echo "{name} $*" >>"{self.log}"\n'
        (self.bin / name).write_text(f'#!/bin/sh\n{note}{body}\n')
        (self.bin / name).chmod(0o755)

    def remove_packages(self, *packages):
        pattern = '|'.join(packages)
        self.stub('dpkg-query', ALL_INSTALLED.replace('-*|*{*', f'-*|*{{*|{pattern}') + '; exit 1', quiet=True)

    def run(self, *command, cwd=None, **env):
        return subprocess.run([self.path / command[0], *command[1:]], capture_output=True, text=True, timeout=60,
                              cwd=cwd or self.path, env={'PATH': str(self.bin), **env})

    def calls(self, name):
        return [line for line in self.log.read_text().splitlines() if line.startswith(name)]


@pytest.fixture
def clone(tmp_path, repo):
    return Clone(tmp_path, repo)


def test_run_starts_at_once_if_everything_is_installed_and_built(clone, tmp_path):
    result = clone.run('run')
    assert (result.returncode, result.stderr) == (0, '')
    assert result.stdout == f'{clone.path}:demonstrate ringwall\n'
    assert clone.calls('apt-get') == clone.calls('meson') == []
    assert len(clone.calls('ninja')) == 1
    assert clone.run('run', 'run', '--', 'ls', 'a b').stdout == f'{clone.path}:run -- ls a b\n'


def test_run_keeps_the_working_directory_of_its_caller(clone, tmp_path):
    assert clone.run('run', cwd=tmp_path).stdout == f'{tmp_path}:demonstrate ringwall\n'
    (tmp_path / 'link').symlink_to(clone.path / 'run')
    assert clone.run('../link', cwd=tmp_path).stdout == f'{tmp_path}:demonstrate ringwall\n'


def test_root_installs_only_the_missing_packages(clone):
    clone.remove_packages('meson', 'scdoc')
    clone.stub('id', 'echo 0', quiet=True)
    clone.stub('apt-get', f'echo "frontend $DEBIAN_FRONTEND" >>"{clone.log}"; echo noise')
    result = clone.run('run')
    assert result.returncode == 0
    assert result.stdout == f'{clone.path}:demonstrate ringwall\n'       # without the output of apt-get
    assert 'installing meson scdoc\n' in result.stderr
    update, install = clone.calls('apt-get')
    assert update.endswith(' update')
    assert install.endswith(' install --no-install-recommends meson scdoc')
    assert clone.calls('frontend') == ['frontend noninteractive'] * 2


def test_ordinary_user_installs_with_sudo(clone):
    clone.remove_packages('scdoc')
    clone.stub('sudo', '"$@"')
    assert clone.run('run').returncode == 0
    assert [call.split()[1:3] for call in clone.calls('sudo')] == [['env', 'DEBIAN_FRONTEND=noninteractive']] * 2
    assert len(clone.calls('apt-get')) == 2


def test_without_sudo_it_prints_the_command_for_root(clone):
    clone.remove_packages('meson', 'scdoc')
    result = clone.run('run')
    assert result.returncode != 0
    assert 'As root: apt-get update && apt-get install --no-install-recommends meson scdoc\n' in result.stderr
    assert clone.calls('apt-get') == []


def test_failed_installation_prints_the_command(clone):
    clone.remove_packages('scdoc')
    clone.stub('sudo', '"$@"')
    clone.stub('apt-get', 'exit 100')
    result = clone.run('run')
    assert result.returncode != 0
    assert 'sudo apt-get update && sudo apt-get install --no-install-recommends scdoc\n' in result.stderr


def test_failed_apt_get_update_is_not_fatal(clone):
    clone.remove_packages('scdoc')
    clone.stub('sudo', '"$@"')
    clone.stub('apt-get', 'case "$*" in *update) exit 100 ;; esac')
    assert clone.run('run').returncode == 0


def test_without_apt_get_it_builds_with_the_installed_programs(clone):
    (clone.bin / 'apt-get').unlink()
    (clone.bin / 'dpkg-query').unlink()
    result = clone.run('run')
    assert (result.returncode, result.stdout) == (0, f'{clone.path}:demonstrate ringwall\n')


def test_prepare_without_arguments_installs_nothing_and_names_what_is_missing(clone):
    clone.remove_packages('meson')
    (clone.bin / 'meson').unlink()
    result = clone.run('tools/prepare')
    assert result.returncode != 0
    assert 'meson is missing. ./run installs it, or: apt-get install --no-install-recommends gcc ' in result.stderr
    assert clone.calls('apt-get') == []


def test_outdated_build_is_built_again(clone):
    (clone.path / 'build/stale').touch()
    result = clone.run('run')
    assert (result.returncode, result.stdout) == (0, f'{clone.path}:demonstrate ringwall\n')
    assert f'building in {clone.path}/build\n' in result.stderr
    assert len(clone.calls('ninja')) == 2


@pytest.mark.only_user     # root can write everywhere
def test_read_only_build_directory_is_used_while_it_is_up_to_date(clone):
    build = clone.path / 'build'
    (build / 'stale').touch()
    build.chmod(0o555)
    result = clone.run('run')
    assert result.returncode != 0
    assert 'export RINGWALL_BUILD=' in result.stderr
    build.chmod(0o755)
    (build / 'stale').unlink()
    build.chmod(0o555)
    assert clone.run('run').returncode == 0
    build.chmod(0o755)


def test_variable_ringwall_build_names_another_build_directory(clone, tmp_path):
    own = tmp_path / 'my build'
    clone.stub('meson', f'{MESON}; cp "{clone.path}/build/ringwall" "$1"')
    (clone.bin / 'cp').symlink_to(shutil.which('cp'))
    result = clone.run('run', RINGWALL_BUILD=str(own))
    assert (result.returncode, result.stdout) == (0, f'{clone.path}:demonstrate ringwall\n')
    assert f'configuring {own}\n' in result.stderr
    assert clone.run('run', RINGWALL_BUILD=str(own)).stderr == ''
    assert len(clone.calls('meson')) == 1


def test_copied_clone_does_not_build_the_original(clone, tmp_path):
    (clone.path / 'build/.source').write_text('/somewhere/else\n')
    (clone.path / 'build/meson-private').mkdir()
    (clone.path / 'build/meson-private/coredata.dat').touch()
    assert clone.run('run').returncode == 0
    assert clone.calls('meson') == [f'meson setup --wipe {clone.path}/build {clone.path}']
    assert (clone.path / 'build/.source').read_text() == f'{clone.path}\n'


def test_interrupted_meson_setup_is_repeated(clone):
    (clone.path / 'build/build.ninja').unlink()
    (clone.path / 'build/meson-private').mkdir()
    assert clone.run('run').returncode == 0
    assert clone.calls('meson') == [f'meson setup {clone.path}/build {clone.path}']


def test_options_in_the_variable_ringwall_meson_are_passed_to_meson(clone):
    (clone.path / 'build/build.ninja').unlink()
    assert clone.run('run', RINGWALL_MESON='--werror -Da=b').returncode == 0
    assert clone.calls('meson') == [f'meson setup --werror -Da=b {clone.path}/build {clone.path}']


def test_preparing_the_tests_reconfigures_a_build_without_unit_tests(clone):
    info = clone.path / 'build/meson-info'
    info.mkdir()
    (info / 'intro-tests.json').write_text('[]')
    assert clone.run('tools/prepare', 'test').returncode == 0
    assert clone.calls('meson') == [f'meson setup --reconfigure {clone.path}/build {clone.path}']
    (info / 'intro-tests.json').write_text('[{"suite": ["ringwall:unit"]}]')
    assert clone.run('tools/prepare', 'test').returncode == 0
    assert len(clone.calls('meson')) == 1
