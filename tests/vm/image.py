"""Makes the disks of a VM. The root disk is an ext4 image of the host's programs, copied package by package.

    disk(cache, kernels, programs) -> the path of the root disk; made again only when a package or this file changed
    initramfs(kernel)              makes the initramfs that mounts it: pivot_root needs a root that is a real mount
    archive(path, top, build)      makes a tar of the clone and its build: a separate disk, because they change often

It needs no root: for an ordinary user, a user namespace makes root the owner of the files.
"""
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tarfile

HERE = os.path.dirname(os.path.realpath(__file__))
# The packages that the tests use, besides Debian's essential ones. Their dependencies are added.
PACKAGES = ['busybox-static', 'dbus-user-session', 'gcc', 'git', 'libc6-dev', 'libpam-systemd', 'make', 'nftables',
            'procps', 'python3-pytest', 'python3-venv', 'systemd', 'util-linux']
LEFT_OUT = ('/usr/share/doc', '/usr/share/info', '/usr/share/locale', '/usr/share/man')
DRIVERS = ['virtio_pci', 'virtio_blk']
ACCOUNTS = {
    'etc/passwd': 'root:x:0:0:root:/root:/bin/bash\nnobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n'
                  'messagebus:x:100:100::/nonexistent:/usr/sbin/nologin\n'
                  'tester:x:1000:1000::/home/tester:/bin/bash\n',
    'etc/group': 'root:x:0:\ntty:x:5:\nshadow:x:42:\nnogroup:x:65534:\nmessagebus:x:100:\ntester:x:1000:\n',
    'etc/shadow': 'root:*:::::::\ntester:*:::::::\n',
    'etc/hosts': '127.0.0.1 localhost\n::1 localhost\n',
    'etc/hostname': 'vm\n',
    'etc/inittab': '::sysinit:/home/tree/tests/vm/run-in-guest\n',
}


def needed_packages():
    """Name -> version of each installed package that goes into the image: PACKAGES, and all that they depend on."""
    field = '${Package}\t${db:Status-Status}\t${Version}\t${Essential}\t${Pre-Depends}, ${Depends}\t${Provides}\n'
    query = subprocess.run(['dpkg-query', '-W', '-f', field], capture_output=True, text=True, timeout=60, check=True)
    packages, providers = {}, {}
    for line in query.stdout.splitlines():
        name, status, version, essential, depends, provides = line.split('\t')
        if status == 'installed':
            packages[name] = version, essential, relations(depends)
            for other in relations(provides):
                providers.setdefault(other, name)
    wanted = PACKAGES + [name for name, (_, essential, _) in packages.items() if essential == 'yes']
    found = {}
    while wanted:
        name = wanted.pop()
        name = name if name in packages else providers.get(name)
        if name and name not in found:
            found[name] = packages[name][0]
            wanted += packages[name][2]
    return found


def relations(field):
    """The package names in a field like Depends, without versions and architectures."""
    return [name for part in re.split('[,|]', field) if (name := re.sub(r'\(.*?\)|:\w+', '', part).strip())]


def libraries(programs):
    """The shared libraries that the programs under test need."""
    listed = subprocess.run(['ldd', *programs], capture_output=True, text=True, timeout=60, check=False).stdout
    return sorted(set(re.findall(r'(/\S+) \(0x', listed)))


def copy(stage, path):
    """Copies a host file to the same path below `stage`, without its owner. Symlinks in its directory are resolved."""
    path = os.path.join(os.path.realpath(os.path.dirname(path)), os.path.basename(path))
    target = stage + path
    if path.startswith(LEFT_OUT) or not os.path.lexists(path) or os.path.lexists(target):
        return
    if os.path.isdir(path) and not os.path.islink(path):
        os.makedirs(target, exist_ok=True)
    elif os.path.islink(path) or os.access(path, os.R_OK):
        os.makedirs(os.path.dirname(target), exist_ok=True)
        shutil.copy2(path, target, follow_symlinks=False)


def copy_packages(stage, packages):
    for name in ('bin', 'sbin', 'lib', 'lib32', 'lib64'):
        if os.path.islink(f'/{name}'):
            os.symlink(os.readlink(f'/{name}'), f'{stage}/{name}')
            os.makedirs(f'{stage}/{os.readlink(f"/{name}")}', exist_ok=True)
    listed = subprocess.run(['dpkg-query', '-L', *packages], capture_output=True, text=True, timeout=120, check=True)
    for path in listed.stdout.splitlines():
        if not path.startswith('/'):
            continue
        copy(stage, path)
        if path.endswith('.py'):    # the packages' scripts compile it, so the .pyc is not in any package's list
            folder, name = os.path.split(path)
            copy(stage, f'{folder}/__pycache__/{name[:-3]}.{sys.implementation.cache_tag}.pyc')
    for folder in ('/etc/alternatives', '/usr/bin', '/usr/sbin'):
        for entry in os.scandir(folder):
            if entry.is_symlink() and (folder == '/etc/alternatives' or os.readlink(entry).startswith('/etc/alternat')):
                if os.path.exists(stage + os.path.realpath(entry)):
                    copy(stage, entry.path)


def fill(stage, packages, kernels, shared_libraries):
    copy_packages(stage, packages)
    for path in shared_libraries:
        copy(stage, path)
        copy(stage, os.path.realpath(path))
    for kernel in kernels:
        shutil.copytree(f'{kernel}/lib/modules', f'{stage}/usr/lib/modules', dirs_exist_ok=True)
    for name, text in ACCOUNTS.items():
        path = f'{stage}/{name}'
        os.makedirs(os.path.dirname(path), exist_ok=True)
        if os.path.lexists(path):
            os.unlink(path)
        with open(path, 'w', encoding='utf-8') as file:
            file.write(text)
    for name in ('dev', 'home', 'mnt', 'proc', 'root', 'run', 'sys', 'tmp', 'var/tmp'):
        os.makedirs(f'{stage}/{name}', exist_ok=True)
    os.symlink('/bin/busybox', f'{stage}/usr/sbin/modprobe')    # the kernel calls it to load missing modules
    for name in ('tmp', 'var/tmp'):
        os.chmod(f'{stage}/{name}', 0o1777)


def disk(cache, kernels, programs):
    packages, shared_libraries = needed_packages(), libraries(programs)
    text = repr((sorted(packages.items()), kernels, [(path, os.stat(path).st_mtime) for path in shared_libraries]))
    with open(__file__, encoding='utf-8') as file:
        text += file.read()
    image = f'{cache}/{hashlib.sha256(text.encode()).hexdigest()[:16]}.ext4'
    if os.path.exists(image):
        return image
    for name in os.listdir(cache):
        if '.ext4' in name:
            os.unlink(f'{cache}/{name}')
    stage = f'{cache}/stage'
    shutil.rmtree(stage, ignore_errors=True)
    os.mkdir(stage)
    fill(stage, packages, kernels, shared_libraries)
    as_root = [] if os.geteuid() == 0 else ['unshare', '--map-root-user']
    subprocess.run([*as_root, 'sh', '-ec', 'ldconfig -r "$0"; mke2fs -qF -t ext4 -O ^has_journal -d "$0" "$1" 4G',
                    stage, f'{image}~'], env={**os.environ, 'PATH': f'{os.environ["PATH"]}:/usr/sbin:/sbin'},
                   timeout=300, check=True)
    shutil.rmtree(stage)
    os.rename(f'{image}~', image)
    return image


def drivers(kernel):
    """Yields the path and content of each module that the disks need, after the modules that it depends on."""
    release, = os.listdir(f'{kernel}/lib/modules')
    folder = f'{kernel}/lib/modules/{release}'
    with open(f'{folder}/modules.dep', encoding='utf-8') as file:
        depends = {line.split(':')[0]: line.split(':')[1].split() for line in file}
    for driver in DRIVERS:
        for path in depends:
            if re.search(rf'/{driver}\.ko$', path):
                for module in [*reversed(depends[path]), path]:
                    with open(f'{folder}/{module}', 'rb') as file:
                        yield module, file.read()


def initramfs(kernel):
    """Makes a cpio archive of busybox, the drivers, numbered in the order of loading, and the script `first`."""
    entries = [('bin', 0o40755, b''), ('dev', 0o40755, b''), ('root', 0o40755, b''), ('modules', 0o40755, b'')]
    with open(shutil.which('busybox'), 'rb') as file:
        entries.append(('bin/busybox', 0o100755, file.read()))
    with open(f'{HERE}/initramfs-init', 'rb') as file:
        entries.append(('init', 0o100755, file.read()))
    modules = dict(drivers(kernel))
    for number, (name, content) in enumerate(modules.items()):
        entries.append((f'modules/{number:02}-{os.path.basename(name)}', 0o100644, content))
    entries.append(('TRAILER!!!', 0, b''))
    with open(f'{kernel}/initramfs~', 'wb') as file:
        for number, (name, mode, content) in enumerate(entries, 1):
            fields = (number, mode, 0, 0, 1, 0, len(content), 0, 0, 0, 0, len(name) + 1, 0)
            head = b'070701' + b''.join(b'%08x' % field for field in fields) + name.encode() + b'\0'
            file.write(head + b'\0' * (-len(head) % 4) + content + b'\0' * (-len(content) % 4))
    os.rename(f'{kernel}/initramfs~', f'{kernel}/initramfs')


def archive(path, top, build):
    """Archives the clone without its history, and the build without its object files and the cache of this folder."""
    def include(entry):
        name = os.path.basename(entry.name)
        if name in ('.git', '__pycache__', 'meson-logs', 'node_modules') or name.endswith(('.o', '.a')):
            return None
        entry.uid = entry.gid = 1000
        entry.uname = entry.gname = ''
        return entry
    with tarfile.open(path, 'w') as tar:
        for name in sorted(os.listdir(top)):
            if not name.startswith('build'):
                tar.add(f'{top}/{name}', f'home/tree/{name}', filter=include)
        for name in sorted(os.listdir(build)):
            if name != 'vm':
                tar.add(f'{build}/{name}', f'home/tree/build/{name}', filter=include)
