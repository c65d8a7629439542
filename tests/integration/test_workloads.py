"""Real programs run outside and inside a box, in the same directory, with the same files, output and exit status.

A difference is a bug, unless it follows from the plan; then it is listed here with its reason. Tests of programs that
are not installed are skipped. Most tests are a shell script, so that a failure can be reproduced by hand.
"""
import functools
import hashlib
import os
import re
import shutil
import stat
import subprocess
import sys
import tempfile

import pytest

LEVELS = ['standard', 'strict', 'maximum']
with_namespaces = pytest.mark.parametrize('level', LEVELS[1:], indirect=True)
PATH = '/usr/local/bin:/usr/bin:/bin'


@pytest.fixture(params=LEVELS)
def level(request):
    return request.param


class Outcome:
    def __init__(self, result, files):
        self.status, self.out, self.err, self.files = result.returncode, result.stdout, result.stderr, files


def list_files(folder, varying):
    """Every file below a folder: mode, owner, number of links, and a hash of its contents, unless these vary."""
    found = {}
    for path in sorted(folder.rglob('*')):
        name, st = str(path.relative_to(folder)), path.lstat()
        text = os.readlink(path) if path.is_symlink() else ''
        if stat.S_ISREG(st.st_mode) and not (varying and re.search(varying, name)):
            text = hashlib.sha256(path.read_bytes()).hexdigest()
        found[name] = (stat.filemode(st.st_mode), st.st_uid, st.st_nlink if stat.S_ISREG(st.st_mode) else 0, text)
    return found


@pytest.fixture
def run_both(ringwall, home, workspace, level):
    """Runs a script outside and inside a box, and compares: run_both('echo hi') -> the Outcome inside."""
    def run(script, *flags, prepare=None, path=PATH, varying=None, env=None, timeout=280):
        outcomes = []
        for confined in (False, True):
            shutil.rmtree(home)
            workspace.mkdir(parents=True)
            home.chmod(0o700)
            if prepare:
                prepare(workspace)
            command = ['sh', '-ec', script]
            # USER is set on both sides, because ringwall does not pass on a variable that does not exist.
            variables = {'PATH': path, 'USER': 'somebody', **(env or {})}
            if confined:
                flags = [*flags, *(word for name in env or {} for word in ('--env', name))]
                result = ringwall('run', '--level', level, *flags, '--', *command, env=variables, timeout=timeout)
            else:
                result = subprocess.run(command, cwd=workspace, stdin=subprocess.DEVNULL, capture_output=True,
                                        text=True,
                                        env={'HOME': str(home), 'LANG': 'C.UTF-8', 'TERM': 'dumb', 'TMPDIR': '/tmp',
                                             **variables}, timeout=timeout, errors='surrogateescape')
            outcomes.append(Outcome(result, list_files(workspace, varying)))
        outside, inside = outcomes
        assert outside.status == 0, f'the script fails outside: {outside.out}{outside.err}'
        assert (inside.status, inside.out) == (outside.status, outside.out), f'{inside.err}\noutside: {outside.err}'
        assert inside.files == outside.files, inside.err
        return inside
    return run


def skip_without(*tools, path=PATH):
    missing = [tool for tool in tools if not shutil.which(tool, path=path)]
    if missing:
        pytest.skip(f'{", ".join(missing)} not installed')


# --- files, processes, terminals ---

SCRIPTS = {
    'temporary_files': '''
        f=$(mktemp); d=$(mktemp -d); echo x > $f; mv $f $d/f; cat $d/f; rm -r $d; test ! -e $d; ls -ld /tmp | cut -c1-10''',
    'overwriting_and_renaming': '''
        mkdir -p a b/c; echo 1 > a/f; echo 2 > a/f; echo 3 >> a/f; mv a/f b/c/g; mv b/c d; ln d/g a/hard; ln -s ../d/g a/soft
        cp -a a copy; cat copy/hard copy/soft; truncate -s 1 d/g; cat a/hard; dd if=/dev/zero of=zeros bs=64k count=8 status=none
        chmod 0750 zeros; mkdir -m 1777 t; touch -d @86400 t/old; stat -c %Y t/old; rm -r b; mv -T a e; find . | sort''',
    'links_between_directories': '''
        mkdir a b; echo x > a/f; ln a/f b/g; ln -s a/f way; cat b/g way; mv a c; cat way || echo dangling; rm c/f; cat b/g''',
    'fifos': 'mkfifo p; (echo through > p &); cat p; rm p; mkfifo -m 600 q',
    'extended_attributes': '''python3 -c "
import os
open('f', 'w').close()
os.setxattr('f', 'user.a', b'1'); print(os.listxattr('f'), os.getxattr('f', 'user.a')); os.removexattr('f', 'user.a')"''',
    'locks': '''
        exec 9> lock; flock 9; flock -n lock true || echo taken; flock -u 9; flock -n lock echo free
        python3 -c "
import fcntl, os
f = open('lock', 'w'); fcntl.lockf(f, fcntl.LOCK_EX)
if os.fork() == 0:
    try: fcntl.lockf(open('lock', 'w'), fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as e: print('taken', e.errno, flush=True)
    os._exit(0)
os.wait()"''',
    'large_and_sparse_files': '''
        truncate -s 5G big; stat -c %s big; echo end >> big; tail -c 4 big; fallocate -l 1M full; fallocate -p -o 0 -l 4096 full
        stat -c %s full; cp --sparse=always full other; cmp full other; rm big''',
    'inotify': '''python3 -c "
import ctypes, os, struct
c = ctypes.CDLL(None, use_errno=True)
n = c.inotify_init(); assert c.inotify_add_watch(n, b'.', 0x100) >= 0
open('made', 'w').close(); d = os.read(n, 4096); print(d[16:].rstrip(bytes(1)))"''',
    'mapped_memory': '''python3 -c "
import mmap, os
f = open('m', 'w+b'); f.truncate(8192); m = mmap.mmap(f.fileno(), 0)
if os.fork() == 0: m[4096:4099] = b'abc'; os._exit(0)
os.wait(); print(m[4096:4099]); m.flush()
a = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC); print(len(a))
fd = os.memfd_create('x'); os.write(fd, b'y'); print(os.fstat(fd).st_size)"''',
    'sockets_in_the_workspace': '''python3 -c "
import os, socket
for kind in (socket.SOCK_STREAM, socket.SOCK_SEQPACKET):
    s = socket.socket(socket.AF_UNIX, kind); s.bind(f's{int(kind)}')
    c = socket.socket(socket.AF_UNIX, kind)
    s.listen(); c.connect(f's{int(kind)}'); a = s.accept()[0]
    socket.send_fds(c, [b'hi'], [0]); data, fds, *_ = socket.recv_fds(a, 9, 1); print(data, len(fds))
a, b = socket.socketpair(); a.send(b'x'); print(b.recv(1))"''',
    'abstract_sockets': '''python3 -c "
import os, socket
s = socket.socket(socket.AF_UNIX); s.bind(chr(0) + f'ringwall-test-{os.getpid()}'); s.listen()
c = socket.socket(socket.AF_UNIX); c.connect(s.getsockname()); print('connected')"''',
    'shared_memory_and_semaphores': '''python3 -c "
import multiprocessing as m
from multiprocessing import shared_memory
s = shared_memory.SharedMemory(create=True, size=10); s.buf[0] = 7
t = shared_memory.SharedMemory(name=s.name); print(t.buf[0]); t.close(); s.close(); s.unlink()
def work(q, l):
    with l: q.put(5)
q, l = m.Queue(), m.Lock(); p = m.Process(target=work, args=(q, l)); p.start(); print(q.get()); p.join()
with m.Pool(3) as pool: print(pool.map(abs, range(-5, 0)))"''',
    'system_v_ipc': '''python3 -c "
import ctypes
c = ctypes.CDLL(None, use_errno=True)
s = c.shmget(0, 4096, 0o1600); print(s >= 0); print(c.shmctl(s, 0, None))
q = c.msgget(0, 0o1600); print(q >= 0); print(c.msgctl(q, 0, None))
e = c.semget(0, 1, 0o1600); print(e >= 0); print(c.semctl(e, 0, 0))"''',
    'waiting_for_events': '''python3 -c "
import os, select, signal, ctypes, time
r, w = os.pipe(); e = select.epoll(); e.register(r, select.EPOLLIN); os.write(w, b'x'); print(len(e.poll(1)))
c = ctypes.CDLL(None); print(c.eventfd(0, 0) > 0, c.timerfd_create(1, 0) > 0)
signal.signal(signal.SIGALRM, lambda *a: print('alarm')); signal.setitimer(signal.ITIMER_REAL, 0.05); signal.pause()
p = os.pidfd_open(os.getpid()); signal.pidfd_send_signal(p, 0); print(os.sched_getaffinity(0) == os.sched_getaffinity(1))
print(os.nice(1) >= 1, os.sched_getscheduler(0), os.getpriority(0, 0) >= 1)"''',
    'signals': '''
        trap 'echo term' TERM; trap 'echo usr1' USR1; kill -TERM $$; kill -USR1 $$; trap - TERM USR1
        sh -c 'trap "" INT; kill -INT $$; echo immune'; sleep 100 & kill $!; wait $! || echo $?
        (ulimit -c 0; sh -c 'kill -SEGV $$' || echo $?); timeout 0.1 sleep 9 || echo $?; timeout -s KILL 0.1 sleep 9 || echo $?
        setsid -w sh -c 'kill -9 0' || echo $?; nohup echo hup; yes | head -1''',
    'many_processes': '''
        i=0; while [ $i -lt 30 ]; do (echo $i > p$i) & i=$((i+1)); done; wait; cat p* | sort -n | tail -1; rm p?
        seq 40 | xargs -P 8 -n 1 sh -c 'echo $0 > x$0'; ls | wc -l; sh -c '(sleep 0.1; echo orphan > o) &'; sleep 0.5; cat o''',
    'threads': '''python3 -c "
import threading, concurrent.futures as f
with f.ThreadPoolExecutor(16) as p: print(sum(p.map(lambda n: n * n, range(1000))))
with f.ProcessPoolExecutor(2) as p: print(list(p.map(abs, [-1, -2])))"''',
    'user_and_system': '''
        id -u; id -g; umask; pwd; nproc; uname -s -m; ulimit -n; ulimit -c; ulimit -s; getent passwd 0 | cut -d: -f1; date +%Z
        getconf PAGESIZE; test -e /etc/hostname && echo yes; python3 -c "import time, locale; print(time.tzname, locale.getpreferredencoding())"
        echo "$0 $PWD" > /dev/null; ls /dev/fd/ | wc -l; echo here | cat /dev/stdin; echo out > /dev/stdout; df . | wc -l''',
    'the_process_table': '''
        sleep 9 & sleep 0.3; ps -o comm= -p $!; kill $!; test -r /proc/cpuinfo -a -r /proc/meminfo -a -r /proc/loadavg -a -r /proc/stat
        cat /proc/self/comm; ls -l /proc/self/exe | sed 's/.*> //'; cut -d' ' -f2 /proc/self/stat; grep -c . /proc/self/maps > /dev/null
        cat /proc/sys/kernel/ostype /proc/sys/kernel/random/uuid | head -1; readlink /proc/self/cwd''',
    'random_numbers': '''
        head -c 8 /dev/urandom | wc -c; head -c 4 /dev/random | wc -c; python3 -c "import os, secrets; print(len(os.getrandom(5)))"''',
    'databases': '''python3 -c "
import sqlite3
d = sqlite3.connect('d'); print(d.execute('pragma journal_mode=wal').fetchone())
d.execute('create table t (a)'); d.executemany('insert into t values (?)', [(n,) for n in range(1000)]); d.commit()
print(sqlite3.connect('d').execute('select sum(a) from t').fetchone()); d.close()"''',
    'archives': '''
        mkdir d; for i in 1 2 3; do echo $i > d/$i; done; ln -s 1 d/l; tar -czpf a.tgz d; mkdir o; tar -xzpf a.tgz -C o; diff -r d o/d
        gzip -k d/1; zcat d/1.gz; python3 -m zipfile -c z.zip d; python3 -m zipfile -l z.zip | wc -l; rm z.zip a.tgz d/1.gz''',
    'sorting_with_temporary_files': 'seq 200000 | sort -R | sort -n -S 1M --parallel=2 | md5sum',
    'a_pseudo_terminal': '''python3 -c "
import os, pty
print(os.waitstatus_to_exitcode(pty.spawn(['sh', '-c', 'test -t 0 && tty | cut -c1-9 && stty size && exit 4'])))"''',
    'script': '''
        script -qec 'test -t 1 && echo tty; exit 3' typescript < /dev/null || echo $?
        grep -c tty typescript''',
    'job_control': '''
        script -qec "bash --norc -i" /dev/null << 'end' | tr -d '\\r' | grep -oE '^(Stopped|Running|back|SLEEPS|ended)' || true
sleep 0.4 &
jobs | grep -o Running
kill -STOP %1; sleep 0.1; jobs | grep -o Stopped
bg > /dev/null 2>&1; fg > /dev/null; echo back
exit
end
        set -m; sleep 0.1 & wait $!; echo ended''',
}
REQUIRED_PROGRAMS = {'script': ['script'], 'job_control': ['script', 'bash'], 'the_process_table': ['ps']}
VARYING_FILES = {'script': 'typescript', 'databases': '^d'}


# A box without namespaces has no shared memory and no System V IPC, cannot make terminals, and has unix sockets only if
# it has a guard.
NEED_NAMESPACES = ('sockets_in_the_workspace', 'shared_memory_and_semaphores', 'system_v_ipc', 'threads',
                   'a_pseudo_terminal', 'script', 'job_control')


# Abstract sockets are names in a network namespace. A box without its own is denied them.
NEEDS_NETWORK_NAMESPACE = 'abstract_sockets'


@pytest.mark.parametrize('name', [name for name in SCRIPTS if name not in (*NEED_NAMESPACES, NEEDS_NETWORK_NAMESPACE)])
def test_script_works_as_it_does_outside(run_both, name):
    skip_without('python3', *REQUIRED_PROGRAMS.get(name, []))
    run_both(SCRIPTS[name], varying=VARYING_FILES.get(name))


@pytest.mark.parametrize('level', ['maximum'], indirect=True)
def test_script_that_needs_a_network_namespace_works_as_it_does_outside(run_both):
    test_script_works_as_it_does_outside(run_both, NEEDS_NETWORK_NAMESPACE)


@with_namespaces
@pytest.mark.parametrize('name', NEED_NAMESPACES)
def test_script_that_needs_namespaces_works_as_it_does_outside(run_both, name):
    test_script_works_as_it_does_outside(run_both, name)


@with_namespaces
def test_tmux_works_as_it_does_outside(run_both):
    skip_without('tmux')
    run_both('''tmux -S ./t -f /dev/null new-session -d -x 80 -y 24 'tty | cut -c1-9 > out; tmux -S ./t wait-for -S done; sleep 9'
            timeout 10 tmux -S ./t wait-for done; cat out; tmux -S ./t list-windows | wc -l; tmux -S ./t kill-server; sleep 0.2''')


# --- compilers, git, package managers ---

def write(folder, files):
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


C_PROJECT = {
    'Makefile': 'OBJS = main.o a.o b.o c.o\nCFLAGS = -O1 -Wall\nprog: $(OBJS)\n\t$(CC) -o $@ $^ -lm\ncheck: '
                'prog\n\t./prog\n'
                '\t$(MAKE) -j2 -s inner\ninner:\n\t@echo inner\n.PHONY: check inner\n',
    'main.c': '#include <stdio.h>\nint a(void), b(void), c(void);\nint main(void) { printf("%d\\n", a() + b() + c()); '
              '}\n',
    **{f'{n}.c': f'#include <math.h>\nint {n}(void) {{ return (int)sqrt({i}.0); }}\n' for i,
       n in ((4, 'a'), (9, 'b'), (16, 'c'))},
}


def test_gcc_and_make_build_the_same_files(run_both):
    skip_without('gcc', 'make', 'ar')
    result = run_both('make -sj4 prog && make -s check && gcc -shared -fPIC -o l.so a.c -lm && ar rcD l.a b.o && gcc '
                      '-flto=2 -o p *.c -lm && ./p',
                      prepare=lambda work: write(work, C_PROJECT))
    assert result.out == '9\ninner\n9\n'


@pytest.mark.heavy
@pytest.mark.long
def test_ringwall_itself_builds_in_a_box(run_both, repo):
    """The object files are the same, and the program runs."""
    skip_without('meson', 'ninja', 'gcc')

    def copy(work):
        for name in ('src', 'include', 'man', 'tests/meson.build', 'meson.build', 'meson_options.txt', 'packaging',
                     'tools', 'docs'):
            (work / name).parent.mkdir(exist_ok=True)
            (shutil.copytree if (repo / name).is_dir() else shutil.copy)(repo / name, work / name)
    run_both('meson setup b -Doptimization=0 -Ddebug=false > /dev/null 2>&1 && ninja -C b ringwall > /dev/null && '
             'b/ringwall --version && '
             'b/ringwall policy show > shown', prepare=copy,
             varying=r'\.ninja_(log|deps)|meson-(private|logs|info)|build\.ninja|\.pyc$|^shown$')


GIT = '''
    export GIT_AUTHOR_DATE='@86400 +0000' GIT_COMMITTER_DATE='@86400 +0000' GIT_CONFIG_NOSYSTEM=1
    export GIT_AUTHOR_NAME=n GIT_AUTHOR_EMAIL=e@example.com GIT_COMMITTER_NAME=n GIT_COMMITTER_EMAIL=e@example.com
'''


def test_git_in_a_new_repository(run_both):
    skip_without('git')
    run_both(GIT + '''
        git init -q -b main; seq 100 > f; git add f; git commit -qm one; git tag v1; git checkout -qb side; echo 2 >> f
        git commit -qam two; git checkout -q main; git merge -q --no-ff -m merged side; git stash list; git mv f g; git commit -qm moved
        git clone -q . copy; git clone -q --no-hardlinks --bare . bare; git -C copy log --format=%s; git -C copy push -q origin HEAD:new
        git worktree add -q tree new; git gc -q; git fsck; git rebase -q side; git status --short --branch; git describe --tags
        git archive HEAD | tar -t; git grep -c 7; git rev-parse HEAD; git diff --stat v1 | tail -1''',
             varying=r'(^|/)(index|ORIG_HEAD|.*\.(pack|idx|rev|bitmap)|commit-graph|multi-pack-index|gc\.log)$|/logs/')


def test_git_in_an_existing_repository(run_both):
    """Its configuration and hooks are protected. Everyday commands do not need to change them."""
    skip_without('git')

    def prepare(work):
        subprocess.run(['sh', '-ec', GIT + 'git init -q -b main; seq 50 > f; git add f; git commit -qm one; git clone '
                                           '-q . copy'],
                       cwd=work, check=True, env={'HOME': str(work.parent), 'PATH': PATH})
    run_both(GIT + '''
        echo 2 >> f; git add f; git commit -qm two; git switch -qc side; echo 3 >> f; git commit -qam three; git switch -q main
        git merge -q side; git stash list; echo 4 > f; git stash -q; git stash pop -q; git checkout -q f; git gc -q; git fsck
        cd copy; git fetch -q; git pull -q; git log --format=%s; git push -q origin HEAD:new; cd ..; git rebase -q HEAD~1
        git revert --no-edit HEAD > /dev/null; git log --format=%s | wc -l; git branch''',
             prepare=prepare,
             varying=r'(^|/)(index|ORIG_HEAD|.*\.(pack|idx|rev|bitmap)|commit-graph|multi-pack-index|gc\.log)$|/logs/')


@pytest.fixture(scope='module')
def npm_project(tmp_path_factory):
    """A project with a lock file, and with a dependency in a tarball, so that no network is needed."""
    skip_without('npm', 'node')
    folder = tmp_path_factory.mktemp('npm')
    env = {'HOME': str(folder / 'home'), 'PATH': PATH, 'npm_config_offline': 'true'}
    write(folder / 'tiny', {'package.json': '{"name": "tiny", "version": "1.0.0", "bin": {"tiny": "cli.js"}, '
                                            '"scripts": {"postinstall": "node -e 0"}}',
                            'index.js': 'module.exports = 6 * 7\n',
                            'cli.js': '#!/usr/bin/env node\nconsole.log("tiny runs")\n'})
    write(folder / 'project', {
        'package.json': '{"name": "p", "version": "1.0.0", "scripts": {"test": "tiny && node test.js"}, '
                        '"dependencies": {"tiny": "file:tiny-1.0.0.tgz"}}',
        'test.js': 'console.log(require("tiny"), process.env.npm_lifecycle_event)\n'})
    for command, subfolder in ((['npm', 'pack', '--silent', '../tiny'], 'project'),
                               (['npm', 'install', '--package-lock-only'], 'project')):
        subprocess.run(command, cwd=folder / subfolder, env=env, check=True, capture_output=True, timeout=60)
    return folder / 'project'


@pytest.mark.heavy
@pytest.mark.long(level=['standard', 'maximum'])
@pytest.mark.parametrize('command', ['npm ci', 'npm install --no-package-lock', 'npm ci && npm rebuild'])
def test_npm_installs_and_runs_a_dependency(run_both, npm_project, command):
    result = run_both(f'export npm_config_offline=true npm_config_update_notifier=false; ({command}) > /dev/null; '
                      f'npm test --silent; '
                      'npm ls --parseable | wc -l; npx --no-install tiny',
                      prepare=lambda work: shutil.copytree(npm_project, work, dirs_exist_ok=True))
    assert result.out == 'tiny runs\n42 test\n2\ntiny runs\n'


NODE = '''
const { Worker, isMainThread, parentPort } = require('worker_threads')
if (!isMainThread) { parentPort.postMessage(3); return }
const fs = require('fs'), cp = require('child_process'), net = require('net'), crypto = require('crypto'), os = require('os')
async function main() {
  console.log(await new Promise((yes) => new Worker(__filename).once('message', yes)))
  console.log(cp.execFileSync('sh', ['-c', 'echo child']).toString().trim(), cp.spawnSync('false').status)
  const fork = cp.fork('-e', ['process.send(process.argv.length)'], { execArgv: [], execPath: process.execPath, silent: true })
  fork.on('error', () => {}); fork.kill()
  fs.mkdirSync('d/e', { recursive: true }); fs.writeFileSync('d/e/f', 'x'); fs.renameSync('d/e/f', 'd/g')
  await fs.promises.copyFile('d/g', 'd/h'); fs.symlinkSync('g', 'd/s'); console.log(fs.readdirSync('d').join())
  const watched = new Promise((yes) => { const w = fs.watch('d', () => { w.close(); yes('seen') }) })
  fs.writeFileSync('d/new', ''); console.log(await watched)
  const server = net.createServer((s) => s.end('served')).listen('./sock')
  console.log(await new Promise((yes) => net.connect('./sock').on('data', (d) => yes(d.toString()))))
  server.close(); console.log(crypto.randomBytes(4).length, os.cpus().length > 0, os.tmpdir(), os.homedir() === process.env.HOME)
  const { gzipSync, gunzipSync } = require('zlib'); console.log(gunzipSync(gzipSync('z')).toString())
  console.log(new WebAssembly.Module(new Uint8Array([0, 97, 115, 109, 1, 0, 0, 0])) instanceof WebAssembly.Module)
  let n = 0; for (let i = 0; i < 1e6; i++) n += i; console.log(n)
}
main()
'''

PROGRAMS = {
    'node': (['node'], {'a.js': NODE}, 'node a.js'),
    'java': (['javac', 'java'], {'A.java': '''
        import java.nio.file.*; import java.util.stream.*;
        class A { public static void main(String[] a) throws Exception {
          System.out.println(IntStream.range(0, 100000).parallel().mapToLong(i -> i).sum());
          Files.writeString(Path.of("f"), "x"); Files.move(Path.of("f"), Path.of("g"));
          var p = new ProcessBuilder("sh", "-c", "echo child").start(); System.out.print(new String(p.getInputStream().readAllBytes()));
          var t = new Thread(() -> System.out.println("thread")); t.start(); t.join(); } }'''}, 'javac A.java && java -Xmx64m A'),
    'rust': (['rustc', 'cc'], {'a.rs': 'fn main() { let t = std::thread::spawn(|| 7); println!("{}", '
                                       't.join().unwrap()); '
                                       'std::fs::write("f", "x").unwrap(); }\n'},
             'rustc -C codegen-units=2 a.rs && ./a'),
    'go': (['go'], {'a.go': 'package main\nimport ("fmt"; "os")\nfunc main() { c := make(chan int); go func() { c <- 7 '
                            '}(); '
                            'fmt.Println(<-c); os.WriteFile("f", nil, 0o644) }\n'}, 'go build a.go && ./a'),
    'perl': (['perl'], {'a.pl': 'my $p = fork; if (!$p) { exit 3 } waitpid $p, 0; print $? >> 8, "\\n"; print `echo '
                                'child`;'}, 'perl a.pl'),
    'cxx': (['g++'], {'a.cc': '#include <future>\n#include <iostream>\nint main() { std::cout << '
                              'std::async(std::launch::async, '
                              '[] { return 7; }).get() << std::endl; }\n'}, 'g++ -O1 -o a a.cc -pthread && ./a'),
    'cmake': (['cmake', 'make', 'gcc'], {'CMakeLists.txt': 'cmake_minimum_required(VERSION 3.10)\nproject(p '
                                                           'C)\nadd_executable(p a.c)\n',
                                         'a.c': 'int main(void) { return 0; }\n'},
              'cmake -B b > /dev/null && make -sC b > /dev/null && b/p'),
    'ctypes_and_asyncio': (['python3'], {'a.py': 'import ctypes, dbm.dumb, asyncio\n'
                                                 'cb = ctypes.CFUNCTYPE(ctypes.c_int)(lambda: 7)\nprint(cb())\n'
                                                 'async def m():\n p = await asyncio.create_subprocess_exec("echo", '
                                                 '"child", stdout=-1)\n'
                                                 ' print((await p.communicate())[0])\nasyncio.run(m())\n'},
                           'python3 a.py'),
}


# rustup keeps the compiler in the home of the user who installed it.
RUST = {'RUSTUP_HOME': os.environ.get('RUSTUP_HOME', os.path.expanduser('~/.rustup'))}


@pytest.mark.long(level=['maximum'])
@pytest.mark.parametrize('name', PROGRAMS)
def test_language_works_as_it_does_outside(run_both, level, name):
    tools, files, script = PROGRAMS[name]
    if level == 'standard':     # node without unix sockets; see NEED_NAMESPACES
        files = {path: re.sub(r"'\./sock'|.*createServer.*\n|.*net\.connect.*\n|.*server\.close.*\n", '', text)
                 for path, text in files.items()}
    path = f'{os.environ["PATH"]}:{PATH}' if name in ('rust', 'go') else PATH
    skip_without(*tools, path=path)
    rust = name == 'rust'
    if rust and subprocess.run(['rustc', '-V'], env={'PATH': path, **RUST}, stdout=subprocess.DEVNULL,
                               check=False).returncode:
        pytest.skip('rustc has no toolchain for this user')
    run_both(script, *(['--ro', RUST['RUSTUP_HOME']] if rust else []), prepare=lambda work: write(work, files),
             path=path, varying='^a$|^b/', env=RUST if rust else None)


# --- Python ---

@pytest.mark.heavy
@pytest.mark.long(level=['standard', 'maximum'])
@pytest.mark.parametrize('flags', ['--without-pip', pytest.param('', marks=pytest.mark.long)])
def test_virtual_environment_works_as_it_does_outside(run_both, flags):
    skip_without('python3')
    if not flags and subprocess.run(['python3', '-c', 'import ensurepip'], env={'PATH': PATH},
                                    capture_output=True).returncode:
        pytest.skip('ensurepip not installed (python3-venv)')
    pip = 'v/bin/pip --version && v/bin/pip install --no-index --no-build-isolation ./p 2> /dev/null | tail -1'
    run_both(f'python3 -m venv {flags} v && v/bin/python -c "import sys; print(sys.prefix != sys.base_prefix)" && '
             f'{"true" if flags else pip}',
             prepare=lambda work: write(work, {'p/setup.py': 'from setuptools import setup\nsetup(name="p", '
                                                             'version="1", py_modules=["p"])\n',
                                               'p/p.py': 'x = 1\n'}), varying=r'\.pyc$|p/build|direct_url|RECORD')


def python_with_tests():
    """An interpreter with Python's own tests, which distributions package separately (Debian:
    libpython3.11-testsuite)."""
    for python in ('/usr/bin/python3', sys.executable, shutil.which('python3')):
        found = subprocess.run([python or 'false', '-c', 'import test.test_os, sys; print(sys.executable)'],
                               cwd=tempfile.gettempdir(), capture_output=True, text=True, check=False)
        if found.returncode == 0:
            return found.stdout.strip()
    pytest.skip("no Python here has its own tests (Debian: libpython3.11-testsuite)")


# Modules; for a slow module, MODULE:PATTERN selects cases.
PYTHON_TESTS = ['test_os', 'test_tempfile', 'test_fcntl', 'test_mmap', 'test_epoll', 'test_fileio', 'test_openpty',
                'test_pty',
                'test_resource', 'test_shutil', 'test_select', 'test_largefile', 'test_grp', 'test_pwd',
                'test_subprocess:*POSIXProcessTestCase.test_[ps]*', 'test_socket:*Unix*', 'test_socket:*SCMRights*',
                'test_posix:*PosixTester*', 'test_signal:*PosixTests*']

# Tests with another result inside, each with the reason: a consequence of the plan.
PYTHON_DIFFERENCES = {
    'they open an internet socket, and the plan has no network': r'test_os\.TestSendfile|test_epoll\.TestEPoll',
    'the user namespace maps only the own user, also for root':
        r'test_chown_with(out_permission|_root)|test_posix.*\.test_[fl]?chown|'
        r'test_subprocess.*\.test_(user|group|extra_groups)',
    'root in a box has no capabilities, so file modes apply to it':
        r'test_read_only_directory|test_on_error|test_non_matching_mode',
    'trusted attributes need a capability': r'xattr',
    'the limits of another process cannot be changed': r'test_prlimit$',
}


@functools.cache
def outside_outcomes(command, **env):
    with tempfile.TemporaryDirectory() as folder:
        result = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=280,
                                stdin=subprocess.DEVNULL,
                                env={**env, 'HOME': folder, 'LANG': 'C.UTF-8', 'TERM': 'dumb', 'TMPDIR': '/tmp'})
    return outcomes_of(result)


def outcomes_of(result):
    return dict(re.findall(r'^test\w* \((test\.[\w.]+)\).*?\.\.\. (ok|FAIL|ERROR|skipped)',
                           result.stdout + result.stderr, re.M | re.S))


@pytest.mark.heavy
@pytest.mark.long(level=['maximum'])
@with_namespaces
@pytest.mark.parametrize('module', PYTHON_TESTS)
def test_pythons_own_tests_have_the_same_results_as_outside(ringwall, level, module):
    python, (module, _, cases) = python_with_tests(), module.partition(':')
    command = (python, '-m', 'test', '-v', *(['-m', cases] if cases else []), module)
    env = {'PATH': f'{os.path.dirname(python)}:{PATH}', 'PYTHONDONTWRITEBYTECODE': '1'}
    outside = outside_outcomes(command, **env)
    result = ringwall('run', '--level', level, '--env', 'PYTHONDONTWRITEBYTECODE', '--', *command, env=env, timeout=280)
    inside = outcomes_of(result)
    assert outside and inside, result.stdout
    wrong = {name: (outside.get(name), inside.get(name)) for name in outside.keys() | inside.keys()
             if outside.get(name) != inside.get(name) and not re.search('|'.join(PYTHON_DIFFERENCES.values()), name)}
    assert not wrong, '\n'.join([*map(str, wrong.items()), result.stdout[-6000:]])
