"""`make install` puts everything where a packager expects it, under DESTDIR and PREFIX, and what it put there works."""
import os
import subprocess

import pytest

pytestmark = [pytest.mark.source, pytest.mark.heavy, pytest.mark.together('installed')]


@pytest.fixture(scope='module')
def installed(repo, tmp_path_factory):
    """The root of an installation in /opt/rw, from a build of its own."""
    root = tmp_path_factory.mktemp('installed')
    environment = {**os.environ, 'RINGWALL_BUILD': str(tmp_path_factory.mktemp('install') / 'a build')}
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
def test_each_part_is_installed(installed, pattern):
    assert list(installed.glob(pattern)), f'nothing like {pattern}'


def test_nothing_but_the_prefix_is_touched(installed):
    assert [path.name for path in installed.parents[1].iterdir()] == ['opt']


def test_the_installed_program_runs_from_where_it_was_put(installed, tmp_path):
    result = subprocess.run([installed / 'bin/ringwall', '--version'], capture_output=True, text=True, cwd=tmp_path)
    assert (result.returncode, result.stderr) == (0, '')
    assert result.stdout.startswith('ringwall ')


def test_a_program_links_against_it(installed, tmp_path):
    metadata = next(installed.glob('lib*/**/pkgconfig/ringwall.pc')).parent
    flags = subprocess.run(['pkg-config', '--cflags', 'ringwall'], capture_output=True, text=True, check=True,
                           env={**os.environ, 'PKG_CONFIG_PATH': str(metadata),
                                'PKG_CONFIG_SYSROOT_DIR': str(installed.parents[1])}).stdout.split()
    source = tmp_path / 'use.c'
    source.write_text('#include <ringwall/ringwall.h>\nint main(void) { return 0; }\n')
    subprocess.run(['cc', *flags, source, '-o', tmp_path / 'use'], check=True)
