"""Debian's cloud kernels, unpacked into the build directory; nothing is installed.

    get(cache, '6.1') -> a directory with vmlinuz and lib/modules/RELEASE, or Unavailable with the reason

A kernel that was fetched once is used as long as apt knows no newer one, also without a network.
"""
import lzma
import os
import re
import shutil
import subprocess

SERIES = ('6.1', '6.12')


class Unavailable(Exception):
    """This machine cannot have the kernel; says why."""


def version(package):
    return [int(number) for number in re.findall(r'\d+', package)]


def known(series):
    """The newest package of the series that apt has heard of."""
    names = subprocess.run(['apt-cache', 'pkgnames', f'linux-image-{series}.'], capture_output=True, text=True,
                           timeout=60, check=False).stdout.split()
    return max((name for name in names if name.endswith('-cloud-amd64-unsigned')), key=version, default=None)


def get(cache, series):
    if os.uname().machine != 'x86_64' or not shutil.which('apt-cache'):
        raise Unavailable('needs a Debian on x86-64')
    have = [name for name in os.listdir(cache) if name.startswith(f'linux-image-{series}.') and '~' not in name]
    package = known(series)
    if not package and os.geteuid() == 0:
        subprocess.run(['apt-get', '-qq', 'update'], timeout=300, check=False)
        package = known(series)
    if package and package not in have and fetch(cache, package):
        have.append(package)
    if not have:
        raise Unavailable(f'{package} cannot be downloaded' if package else f'apt knows no {series} cloud kernel here')
    return f'{cache}/{max(have, key=version)}'


def fetch(cache, package):
    """Complete, or not there at all."""
    place = f'{cache}/{package}~'
    shutil.rmtree(place, ignore_errors=True)
    os.mkdir(place)
    if subprocess.run(['apt-get', '-qq', 'download', package], cwd=place, stderr=subprocess.DEVNULL, timeout=600,
                      check=False).returncode != 0:
        return False
    archive, = os.listdir(place)
    subprocess.run(['dpkg', '-x', archive, '.'], cwd=place, timeout=300, check=True)
    os.unlink(f'{place}/{archive}')
    release, = os.listdir(f'{place}/lib/modules')
    os.rename(f'{place}/boot/vmlinuz-{release}', f'{place}/vmlinuz')
    for folder, _, names in os.walk(f'{place}/lib/modules'):
        for name in names:
            if name.endswith('.ko.xz'):
                with lzma.open(f'{folder}/{name}') as packed, open(f'{folder}/{name[:-3]}', 'wb') as module:
                    shutil.copyfileobj(packed, module)
                os.unlink(f'{folder}/{name}')
    subprocess.run(['busybox', 'depmod', '-b', place, release], timeout=60, check=True)
    os.rename(place, place[:-1])
    return True
