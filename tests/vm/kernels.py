"""Downloads Debian's cloud kernels and unpacks them into the build directory, without installing them.

    get(cache, '6.1') -> a directory with vmlinuz and lib/modules/RELEASE; raises Unavailable with the reason

A kernel that was downloaded once is used, also without a network, until apt knows a newer one.
"""
import lzma
import os
import re
import shutil
import subprocess

SERIES = ('6.1', '6.12')


class Unavailable(Exception):
    """The kernel cannot be had on this machine; the message is the reason."""


def version(package):
    return [int(number) for number in re.findall(r'\d+', package)]


def newest_package(series):
    """The newest package of the series that apt knows, or None."""
    names = subprocess.run(['apt-cache', 'pkgnames', f'linux-image-{series}.'], capture_output=True, text=True,
                           timeout=60, check=False).stdout.split()
    return max((name for name in names if name.endswith('-cloud-amd64-unsigned')), key=version, default=None)


def get(cache, series):
    if os.uname().machine != 'x86_64' or not shutil.which('apt-cache'):
        raise Unavailable('needs a Debian on x86-64')
    fetched = [name for name in os.listdir(cache) if name.startswith(f'linux-image-{series}.') and '~' not in name]
    package = newest_package(series)
    if not package and os.geteuid() == 0:
        subprocess.run(['apt-get', '-qq', 'update'], timeout=300, check=False)
        package = newest_package(series)
    if package and package not in fetched and fetch(cache, package):
        fetched.append(package)
    if not fetched:
        raise Unavailable(f'{package} cannot be downloaded' if package else f'apt knows no {series} cloud kernel here')
    return f'{cache}/{max(fetched, key=version)}'


def fetch(cache, package):
    """Downloads and unpacks a package. A rename at the end makes it appear in the cache complete or not at all."""
    staging = f'{cache}/{package}~'
    shutil.rmtree(staging, ignore_errors=True)
    os.mkdir(staging)
    if subprocess.run(['apt-get', '-qq', 'download', package], cwd=staging, stderr=subprocess.DEVNULL, timeout=600,
                      check=False).returncode != 0:
        return False
    archive, = os.listdir(staging)
    subprocess.run(['dpkg', '-x', archive, '.'], cwd=staging, timeout=300, check=True)
    os.unlink(f'{staging}/{archive}')
    release, = os.listdir(f'{staging}/lib/modules')
    os.rename(f'{staging}/boot/vmlinuz-{release}', f'{staging}/vmlinuz')
    for folder, _, names in os.walk(f'{staging}/lib/modules'):
        for name in names:
            if name.endswith('.ko.xz'):
                with lzma.open(f'{folder}/{name}') as packed, open(f'{folder}/{name[:-3]}', 'wb') as module:
                    shutil.copyfileobj(packed, module)
                os.unlink(f'{folder}/{name}')
    subprocess.run(['busybox', 'depmod', '-b', staging, release], timeout=60, check=True)
    os.rename(staging, staging[:-1])
    return True
