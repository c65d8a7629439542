"""`make install` puts every file where a packager expects it, under DESTDIR and PREFIX, and the files work there."""
import os
import subprocess

import pytest

pytestmark = [pytest.mark.source, pytest.mark.heavy, pytest.mark.together('installed')]


@pytest.fixture(scope='module')
def installed(repo, tmp_path_factory):
    """The prefix of an installation with PREFIX=/opt/rw, from a build of its own, which the compiler does not optimize:
    that takes half the time."""
    root = tmp_path_factory.mktemp('installed')
    environment = {**os.environ, 'RINGWALL_BUILD': str(tmp_path_factory.mktemp('install') / 'a build'),
                   'RINGWALL_MESON': '-Doptimization=0 -Ddebug=false'}
    result = subprocess.run(['make', '-C', repo, 'install', f'DESTDIR={root}', 'PREFIX=/opt/rw'], env=environment,
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=600)
    assert result.returncode == 0, result.stdout
    return root / 'opt/rw'


@pytest.mark.parametrize('pattern', [
    'bin/ringwall',
    'libexec/ringwall/ringwall-*',
    'include/ringwall/ringwall.h',
    'lib*/**/pkgconfig/ringwall.pc',
    'share/man/man1/ringwall.1*',
    'share/man/man1/ringwall-*.1*',
    'share/man/man5/*.5*',
    'share/bash-completion/completions/ringwall',
    'share/zsh/site-functions/_ringwall',
    'share/fish/vendor_completions.d/ringwall.fish',
])
def test_each_file_is_installed(installed, pattern):
    assert list(installed.glob(pattern)), f'no file matches {pattern}'


def test_nothing_is_installed_outside_the_prefix(installed):
    assert [path.name for path in installed.parents[1].iterdir()] == ['opt']


def test_installed_program_runs(installed, tmp_path):
    result = subprocess.run([installed / 'bin/ringwall', '--version'], capture_output=True, text=True, cwd=tmp_path)
    assert (result.returncode, result.stderr) == (0, '')
    assert result.stdout.startswith('ringwall ')


def test_program_links_with_the_installed_library_and_runs(installed, tmp_path):
    metadata = next(installed.glob('lib*/**/pkgconfig/ringwall.pc')).parent
    library = next(installed.glob('lib*/**/libringwall.so')).parent
    flags = subprocess.run(['pkg-config', '--cflags', '--libs', 'ringwall'], capture_output=True, text=True, check=True,
                           env={**os.environ, 'PKG_CONFIG_PATH': str(metadata),
                                'PKG_CONFIG_SYSROOT_DIR': str(installed.parents[1])}).stdout.split()
    source = tmp_path / 'use.c'
    source.write_text('#include <ringwall/ringwall.h>\n#include <stdio.h>\n'
                      'int main(void) { ringwall_policy_free(ringwall_policy_new()); return puts("linked") < 0; }\n')
    subprocess.run(['cc', source, *flags, '-o', tmp_path / 'use'], check=True)
    result = subprocess.run([tmp_path / 'use'], env={'LD_LIBRARY_PATH': str(library)}, capture_output=True, text=True,
                            check=False)
    assert (result.returncode, result.stdout) == (0, 'linked\n'), result.stderr
