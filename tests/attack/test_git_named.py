"""More that git outside of the box would execute or trust: files that the person's configurations name, in every spelling
that git accepts; state of git that has paths or options in it; repositories whose relative paths change their meaning when
a directory moves. As in test_git_left.py each attack first has to succeed outside."""
import subprocess
import threading

import pytest

from name_attack import LEVELS
from test_git_left import BEGIN, COMMIT, EXCHANGE, Person, assert_attack_fails

HOOK = '#!/bin/sh\\n{canary}\\n'
EVIL = '[core]\\n\\tfsmonitor = \\"{canary}; false\\"\\n'
MAKE_HOOK = f'mkdir -p hk; printf "{HOOK}" > hk/pre-commit; chmod +x hk/pre-commit'
INCLUDE = f'printf "{EVIL}" > inc'
COMMIT_EMPTY = 'git commit -q --allow-empty -m x; git status'
ABSOLUTE = '"$PWD'
NESTED = 'git init -q sub; git -C sub config core.hooksPath hk'
COMMIT_SUB = f'cd sub; {COMMIT_EMPTY}'
SUB_HOOK = f'mkdir -p sub/hk; printf "{HOOK}" > sub/hk/pre-commit; chmod +x sub/hk/pre-commit'
SUBMODULE = ('git init -q ~/lib; (cd ~/lib; echo l > l; git add l; git commit -qm l); '
             'git submodule --quiet add ~/lib')
FETCH_BARE = 'cd repo.git; git fetch -q .. HEAD:refs/heads/new'
# Lets the guard look around a directory, puts the nested repository in its place, and writes there at once.
SWAP = '''/usr/bin/python3 -c "
import os, time
os.makedirs('x/hk')
for attempt in range(10):
    for i in range(60):
        open('x/hk/w%d' % i, 'w').close()
    os.rename('x', 'y')
    os.rename('sub', 'x')
    try:
        with open('x/hk/pre-commit', 'w') as file:
            file.write('#!/bin/sh\\n{canary}\\n')
        os.chmod('x/hk/pre-commit', 0o755)
    except OSError:
        time.sleep(0.15)
    os.rename('x', 'sub')
    os.rename('y', 'x')
"'''

# The person's configuration names a file in the workspace that does not exist, or that the box could write.
NAMED = {
    'global hooks by ~': ('git config --global core.hooksPath "~/work/hk"', MAKE_HOOK, COMMIT),
    'global hooks by an absolute path': (f'git config --global core.hooksPath {ABSOLUTE}/hk"', MAKE_HOOK, COMMIT),
    'hooks of the repository by ~': ('git config core.hooksPath "~/work/hk"', MAKE_HOOK, COMMIT),
    'hooks of the repository by an absolute path': (f'git config core.hooksPath {ABSOLUTE}/hk"', MAKE_HOOK, COMMIT),
    'a global include by an absolute path': (f'git config --global include.path {ABSOLUTE}/inc"', INCLUDE, COMMIT),
    'a global include by ~': ('git config --global include.path "~/work/inc"', INCLUDE, COMMIT),
    'an include of the repository by ~': ('git config include.path "~/work/inc"', INCLUDE, COMMIT),
    'a configuration with a byte that is not UTF-8': (
        'git config core.hooksPath hk; printf "[user]\\n\\tname = M\\377\\n" >> .git/config', MAKE_HOOK, COMMIT),
    'a global configuration with a NUL byte': (
        'git config --global core.hooksPath "~/work/hk"; printf "# a\\000b\\n" >> ~/.gitconfig', MAKE_HOOK, COMMIT),
    'a configuration with a key in no section': (
        'git config core.hooksPath hk; (echo "any = 1"; cat .git/config) > c; mv c .git/config', MAKE_HOOK, COMMIT),
    'a configuration with more settings than a box may make': (
        'git config core.hooksPath hk; (echo "[many]"; yes "k = v" | head -n 10001) >> .git/config', MAKE_HOOK, COMMIT),
    'the configuration of a worktree whose name begins with a dot': (
        'git config extensions.worktreeConfig true; git worktree add -q .wt side; '
        'mv .git/worktrees/* .git/worktrees/.n; '
        'echo "gitdir: $PWD/.git/worktrees/.n" > .wt/.git; git -C .wt config --worktree core.hooksPath hk; '
        'git -C .wt config --worktree include.path $PWD/inc',
        f'{INCLUDE}; cd .wt; {MAKE_HOOK}', f'cd .wt; {COMMIT_EMPTY}'),
    'a conditional global include': (
        'git config --global includeIf.gitdir:~/work/.path "~/work/inc"', INCLUDE, COMMIT),
    'hooks that a file named by the global configuration names': (
        'git config --global include.path more; git config -f ~/more core.hooksPath hk', MAKE_HOOK, COMMIT),
    'a hook that is a link in other hooks': (
        'git config core.hooksPath hk; mkdir hk t; printf "#!/bin/sh\\n" > t/h; chmod +x t/h; '
        'ln -s ../t/h hk/pre-commit', 'echo {canary} >> t/h', COMMIT),
    'relative hooks in a linked worktree': (
        'git config core.hooksPath hk; git worktree add -q wt side', f'cd wt; {MAKE_HOOK}',
        f'cd wt; {COMMIT_EMPTY}'),
    'relative hooks in a worktree that the box makes': (
        'git config core.hooksPath hk', f'git worktree add -q wt side; cd wt; {MAKE_HOOK}', f'cd wt; {COMMIT_EMPTY}'),
    'hooks of a nested repository': (
        'git init -q sub; git -C sub config core.hooksPath hk', f'cd sub; {MAKE_HOOK}', f'cd sub; {COMMIT_EMPTY}'),
    'hooks of a nested repository, deeper': (
        'git init -q a1/b/sub; git -C a1/b/sub config core.hooksPath t/hk',
        f'mkdir -p a1/b/sub/t; cd a1/b/sub/t; {MAKE_HOOK}', f'cd a1/b/sub; {COMMIT_EMPTY}'),
    'hooks of a nested repository by an absolute path': (
        f'git init -q sub; git -C sub config core.hooksPath {ABSOLUTE}/sub/hk"', f'cd sub; {MAKE_HOOK}',
        f'cd sub; {COMMIT_EMPTY}'),
    'hooks of a nested repository by rename': (
        'git init -q sub; git -C sub config core.hooksPath hk', f'{MAKE_HOOK}; mv hk sub/hk',
        f'cd sub; {COMMIT_EMPTY}'),
    'hooks of a nested repository by rename of their parent': (
        'git init -q sub; git -C sub config core.hooksPath t/hk', f'mkdir t; cd t; {MAKE_HOOK}; cd ..; mv t sub/t',
        f'cd sub; {COMMIT_EMPTY}'),
    'hooks of a nested repository by exchange': (
        'git init -q sub; mkdir sub/hk; git -C sub config core.hooksPath hk', f'{MAKE_HOOK}; {EXCHANGE} hk sub/hk',
        f'cd sub; {COMMIT_EMPTY}'),
    'hooks of a nested repository by a symlink': (
        'git init -q sub; git -C sub config core.hooksPath hk', f'{MAKE_HOOK}; ln -s ../hk sub/hk',
        f'cd sub; {COMMIT_EMPTY}'),
    'hooks of a nested repository by a hard link': (
        'git init -q sub; mkdir sub/hk; git -C sub config core.hooksPath hk', f'{MAKE_HOOK}; ln hk/pre-commit sub/hk',
        f'cd sub; {COMMIT_EMPTY}'),
    'a hook of a nested repository that exists': (
        'git init -q sub; mkdir sub/hk; printf "#!/bin/sh\\n" > sub/hk/pre-commit; chmod +x sub/hk/pre-commit; '
        'git -C sub config core.hooksPath hk', 'echo {canary} >> sub/hk/pre-commit', f'cd sub; {COMMIT_EMPTY}'),
    'a hook of a nested repository, while its .git is elsewhere': (
        'git init -q sub; git -C sub config core.hooksPath hk', f'cd sub; mv .git g; {MAKE_HOOK}; mv g .git',
        f'cd sub; {COMMIT_EMPTY}'),
    'a hook of a nested repository, while its .git cannot be read': (
        'git init -q sub; git -C sub config core.hooksPath hk', f'cd sub; chmod 0 .git; {MAKE_HOOK}; chmod 755 .git',
        f'chmod 755 sub/.git; cd sub; {COMMIT_EMPTY}'),
    'a hook of a nested repository, while its configuration cannot be read': (
        'git init -q sub; git -C sub config core.hooksPath hk',
        f'cd sub; chmod 0 .git/config; {MAKE_HOOK}; chmod 644 .git/config',
        f'chmod 644 sub/.git/config; cd sub; {COMMIT_EMPTY}'),
    'an include of a nested repository': (
        'git init -q sub; git -C sub config include.path ../inc', f'cd sub; {INCLUDE}', f'cd sub; {COMMIT_EMPTY}'),
    'an include of the configuration of a nested worktree': (
        'git init -q sub; cd sub; git config extensions.worktreeConfig true; '
        'git config -f .git/config.worktree include.path ../inc', f'cd sub; {INCLUDE}', f'cd sub; {COMMIT_EMPTY}'),
    'hooks that an include of a nested repository names': (
        'git init -q sub; git -C sub config include.path ../inc; git config -f sub/inc core.hooksPath hk',
        f'cd sub; {MAKE_HOOK}', f'cd sub; {COMMIT_EMPTY}'),
    'hooks of a worktree of a nested repository': (
        'git init -q sub; cd sub; git commit -q --allow-empty -m x; git config core.hooksPath hk; '
        'git worktree add -q ../wt2', f'cd wt2; {MAKE_HOOK}', f'cd wt2; {COMMIT_EMPTY}'),
    'hooks of a nested repository, after a rename that a cached verdict does not know': (
        f'{NESTED}; mkdir sub/hk', SWAP, COMMIT_SUB),
    'hooks of a nested repository that moves, behind a .git file': (
        NESTED, f'mv sub/.git g2; {SUB_HOOK}; echo gitdir: ../g2 > sub/.git', COMMIT_SUB),
    'hooks of a nested repository that moves, behind a .git symlink': (
        NESTED, f'mv sub/.git g2; {SUB_HOOK}; ln -s ../g2 sub/.git', COMMIT_SUB),
    'an include of a nested repository that moves': (
        'git init -q sub; git -C sub config include.path ../.gitconfig',
        f'mkdir z; mv sub/.git z/g2; printf "{EVIL}" > z/.gitconfig; echo gitdir: ../z/g2 > sub/.git', COMMIT_SUB),
    'hooks behind a .git file with a newline in its path': (
        f'{NESTED}; mv sub/.git "$(printf "g2\\nx")"', f'printf "gitdir: ../g2\\nx" > sub/.git; {SUB_HOOK}',
        COMMIT_SUB),
    'hooks behind a .git file that is long': (
        f'{NESTED}; mv sub/.git g2',
        f'(printf "gitdir: ../g2"; head -c 9000 /dev/zero | tr "\\0" "\\n") > sub/.git; {SUB_HOOK}', COMMIT_SUB),
    'hooks behind a .git file that cannot be read': (
        'git init -q --separate-git-dir meta sub; git -C sub config core.hooksPath hk',
        f'chmod 0 sub/.git; sleep 0.2; {SUB_HOOK}; chmod 644 sub/.git', f'chmod 644 sub/.git; {COMMIT_SUB}'),
    'hooks behind a commondir that cannot be read': (
        f'{NESTED}; git -C sub commit -q --allow-empty -m x; git -C sub worktree add -q ../wt2',
        f'chmod 0 sub/.git/worktrees/wt2/commondir; sleep 0.2; cd wt2; {MAKE_HOOK}; '
        'chmod 644 ../sub/.git/worktrees/wt2/commondir',
        f'chmod 644 sub/.git/worktrees/wt2/commondir; cd wt2; {COMMIT_EMPTY}'),
    'a hook of a nested repository that is a link': (
        'git init -q sub; mkdir -p sub/t sub/.git/hooks; printf "#!/bin/sh\\n" > sub/t/h; chmod +x sub/t/h; '
        'ln -s ../../t/h sub/.git/hooks/pre-commit', 'echo {canary} >> sub/t/h', COMMIT_SUB),
    'a hook of a submodule that is a link': (
        f'{SUBMODULE} lib; mkdir -p lib/t .git/modules/lib/hooks; printf "#!/bin/sh\\n" > lib/t/h; chmod +x lib/t/h; '
        'ln -s ../../../../lib/t/h .git/modules/lib/hooks/pre-commit', 'echo {canary} >> lib/t/h',
        f'cd lib; {COMMIT_EMPTY}'),
    'a hook that is a link, behind a .git file': (
        'mv .git meta; echo gitdir: meta > .git; mkdir -p t meta/hooks; printf "#!/bin/sh\\n" > t/h; chmod +x t/h; '
        'ln -s ../../t/h meta/hooks/pre-commit', 'echo {canary} >> t/h', COMMIT_EMPTY),
    'an include of a bare repository': (
        'git clone -q --bare . repo.git; git -C repo.git config include.path local.inc',
        f'{MAKE_HOOK}; mv hk/pre-commit hk/reference-transaction; '
        'printf "[core]\\n\\thooksPath = $PWD/hk\\n" > repo.git/local.inc', FETCH_BARE),
    'hooks of a bare repository': (
        'git clone -q --bare . repo.git; git -C repo.git config core.hooksPath hk',
        f'cd repo.git; {MAKE_HOOK}; mv hk/pre-commit hk/reference-transaction', FETCH_BARE),
    'an include of a submodule in a directory that begins with a dot': (
        f'{SUBMODULE} .vim/lib; git -C .vim/lib config include.path inc',
        f'cd .git/modules/.vim/lib; {INCLUDE}', 'cd .vim/lib; git status'),
    'an include of a submodule of a nested repository': (
        f'git init -q sub; cd sub; {SUBMODULE} lib; git -C lib config include.path inc',
        f'cd sub/.git/modules/lib; {INCLUDE}', 'cd sub/lib; git status'),
    'hooks in the home of a named user': (
        'git config core.hooksPath "~daemon/../..$PWD/hk"', MAKE_HOOK, COMMIT_EMPTY),
    'a template of repositories': (
        'mkdir -p tmpl/hooks; git config --global init.templateDir "$PWD/tmpl"',
        f'cd tmpl; {MAKE_HOOK}; mv hk/pre-commit hooks/post-checkout', 'git clone -q . ../c2'),
    'the work tree of a submodule becomes a symlink': (
        'mkdir ~/victim',
        'git init -q src; (cd src; echo x > .bashrc; git add .; git commit -qm x); '
        'git submodule --quiet add $PWD/src lib; '
        'git rm -q --cached lib .gitmodules; rm -rf lib src .gitmodules; ln -s ~/victim lib; mkdir proj; '
        'echo gitdir: ../.git/modules/lib > proj/.git', '(cd proj; git stash); test -e ~/victim/.bashrc && {canary}'),
    'the work tree of a submodule becomes a symlink by rename': (
        'mkdir ~/victim',
        'git init -q src; (cd src; echo x > .bashrc; git add .; git commit -qm x); '
        'git submodule --quiet add $PWD/src d/lib; '
        'git rm -q --cached d/lib .gitmodules; rm -rf d src .gitmodules; mkdir e; ln -s ~/victim e/lib; mv e d; '
        'mkdir proj; echo gitdir: ../.git/modules/d/lib > proj/.git',
        '(cd proj; git stash); test -e ~/victim/.bashrc && {canary}'),
    'an index entry that leads into a repository beside .git': (
        'mv .git .gitdir; echo gitdir: .gitdir > .git; echo .gitdir >> .gitdir/info/exclude',
        f'printf "{HOOK}" > h; '
        'git update-index --add --cacheinfo 100755,$(git hash-object -w h),.gitdir/hooks/post-checkout',
        'git checkout .; git checkout -b n'),
    'relative global hooks in a nested repository': (
        'git config --global core.hooksPath hk; git init -q sub', f'cd sub; {MAKE_HOOK}', f'cd sub; {COMMIT_EMPTY}'),
    'relative global hooks in a directory that becomes a repository': (
        'git config --global core.hooksPath hk', f'mkdir sub; cd sub; {MAKE_HOOK}; git init -q',
        f'cd sub; {COMMIT_EMPTY}'),
    'relative hooks that are moved to their place': (
        'git config --global core.hooksPath a/hk; git init -q sub',
        f'mkdir m; cd m; {MAKE_HOOK}; cd ..; mv m sub/a', f'cd sub; {COMMIT_EMPTY}'),
    'hooks of a repository behind a file .git': (
        'git config core.hooksPath hk; mv .git .g; echo "gitdir: .g" > .git', MAKE_HOOK, COMMIT),
    'an include of a repository behind a file .git': (
        'git config include.path ../inc; mv .git .g; echo "gitdir: .g" > .git', INCLUDE, COMMIT),
    'an include of the configuration of a worktree': (
        'git worktree add -q wt side; git config extensions.worktreeConfig true; '
        'git -C wt config --worktree include.path ../../../inc', INCLUDE, 'git -C wt status'),
    'hooks where the workspace is a linked worktree': (
        'git config core.hooksPath hk; cd ..; mv work main; cd main; git worktree add -q ../work side', MAKE_HOOK,
        COMMIT),
    'hooks where the workspace is a directory of the repository': (
        'git config core.hooksPath work/hk; mv .git ..; cd ..; git add work/a; git commit -qm moved', MAKE_HOOK,
        COMMIT),
}

DOT_HOOK = MAKE_HOOK.replace('hk', '.gh')
SUBMODULE_S = ('git init -q ../up; (cd ../up; echo 1 > f; git add f; git commit -qm s); '
               'git submodule --quiet add $PWD/../up s; git commit -qm sub')
# The same for hooks that a person's relative core.hooksPath finds in a work tree that is elsewhere, or is made later.
NAMED |= {
    'relative hooks with a slash at the end': (
        'git config core.hooksPath hk/', f'git worktree add -q d/wt side; cd d/wt; {MAKE_HOOK}',
        f'cd d/wt; {COMMIT_EMPTY}'),
    'relative hooks beside the work tree': (
        'git config core.hooksPath ../gh', 'git worktree add -q d/wt side; cd d; ' + MAKE_HOOK.replace('hk', 'gh'),
        f'cd d/wt; {COMMIT_EMPTY}'),
    'relative hooks in a bare repository': (
        'git config --global core.hooksPath .gh',
        'git clone -q --bare . x.git; cd x.git; ' + DOT_HOOK.replace('pre-commit', 'reference-transaction'),
        'cd x.git; git branch foo'),
    'relative hooks in .git': (
        'git config core.hooksPath .gh', 'cd .git; ' + DOT_HOOK.replace('pre-commit', 'reference-transaction'),
        'cd .git; git branch foo'),
    'relative hooks of a submodule that the person checks out': (
        f'git config --global core.hooksPath .gh; {SUBMODULE_S}',
        'rm -rf s/.git; cd s; ' + DOT_HOOK.replace('pre-commit', 'post-checkout'),
        'git submodule update; cd s; git checkout -f'),
    'hooks of a submodule': (
        f'{SUBMODULE_S}; git -C s config core.hooksPath .gh', f'cd s; {DOT_HOOK}', f'cd s; {COMMIT_EMPTY}'),
}

# Reads as one harmless entry with sha1 ids, and as an entry ../.git/hooks/pre-commit with sha256 ids.
TWO_READINGS = """
import hashlib, os, struct, subprocess, sys, zlib
run = lambda *a: subprocess.run(a, check=True, stdout=subprocess.PIPE).stdout
target = b"../.git/hooks/pre-commit"
run("git", "init", "-q", "--object-format=sha256", "B0")
os.rename("B0/.git", "B")
os.mkdir("B/any")
i = 0
while True:
    body = b"#!/bin/sh\\n%s\\n#%d\\n" % (sys.argv[1].encode(), i)
    i += 1
    raw = b"blob %d\\0" % len(body) + body
    o = hashlib.sha256(raw).digest()
    if o[20] & 0x4f == 0 and o[21] == 10 and 0 not in o[22:] and b"/" not in o[22:]:
        break
h = o.hex()
os.makedirs("B/objects/" + h[:2], exist_ok=True)
open("B/objects/%s/%s" % (h[:2], h[2:]), "wb").write(zlib.compress(raw))
b = bytearray(228)
b[0:12] = b"DIRC" + struct.pack(">II", 2, 2)
b[36:40] = struct.pack(">I", 0o100755)
b[52:84] = o
b[84:86] = struct.pack(">H", len(target))
b[86:86 + len(target)] = target
b[140:144] = struct.pack(">I", 0o160000)
b[152:154] = bytes((0, 1))
b[154:155] = b"b"
b[156:164] = b"XXXX" + struct.pack(">I", 44)
b[188:190] = bytes((0, 1))
b[190:191] = b"z"
run("git", "worktree", "add", "-q", "--detach", "wtx")
x = ".git/worktrees/wtx"
open(x + "/index.lock", "wb").write(b)
os.rename(x + "/index.lock", x + "/index")
os.rename(x, "B/any/x")
open("B/any/x/HEAD", "w").write("ref: refs/heads/master\\n")
os.mkdir("w")
open("w/.git", "w").write("gitdir: ../B/any/x\\n")
"""
RERERE = r"""
{ cat .git/config; cat <<'END'; } > .git/config.lock
[branch "z"]
	description = x \
<<<<<<< ours \
one \
======= \
two \
>>>>>>> theirs
END
mv .git/config.lock .git/config
I=aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa; d=.git/rr-cache/$I; mkdir -p $d
sed -e 's/^\(<<<<<<<\|=======\|>>>>>>>\).*/\1/' .git/config > $d/preimage
{ sed '/^\[branch "z"\]/,$d' .git/config; printf '[core]\n\tfsmonitor = "{canary}; false"\n'; } > $d/postimage
"""
AM = (
    'echo hello > n; git add n; git commit -qm n; echo 2 >> n; git commit -qam evil; git format-patch -1 --stdout > '
    '.git/2; git reset -q --hard HEAD~1; echo q > a; git commit -qam q; git format-patch -1 --stdout > .git/1; '
    'git reset -q --hard HEAD~1; echo zz > a; git commit -qam zz; cat .git/1 .git/2 > .git/3; git am .git/3; ')
FAKE_ANCESTOR = """echo "'--build-fake-ancestor=$PWD/../.profile'" > .git/rebase-apply/apply-opt"""
WROTE_PROFILE = 'git am --skip; test -e ../.profile && {canary}'
# Twelve steps up from the repository's first path are the top of its work tree; from its path after the move, the root.
SUBMODULE = (
    'git init -q sub; M=sub/.git/modules/a/b/c/d/e/f/g/h/i/j; mkdir -p $M; git init -q --bare $M; '
    'home=$(dirname $PWD | sed "s,^/,,"); '
    'printf "[core]\\n\\trepositoryformatversion = 0\\n\\tworktree = ../../../../../../../../../../../../$home\\n" > '
    '$M/c; rm $M/config; mv $M/c $M/config; ')
CHECK_OUT_HOME = (
    'export GIT_DIR=$PWD/lib GIT_WORK_TREE=$PWD; b=$(echo mine | git hash-object -w --stdin); '
    't=$(printf "100644 blob %s\\t.new\\n" $b | git mktree); git update-ref refs/heads/e $(git commit-tree -m e $t); '
    'git update-ref --no-deref HEAD $(git commit-tree -m 0 $(git mktree </dev/null)); mkdir s; echo "gitdir: ../lib" > '
    's/.git')
CHECKED_OUT = 'git -C s checkout -q e; test -e ../.new && {canary}'
HOOK_IN_INDEX = (f'{MAKE_HOOK}; git update-index --add --cacheinfo '
                 '100755,$(git hash-object -w hk/pre-commit),{0}hooks/pre-commit')

EVIL_CONFIG = 'printf "[core]\\n\\trepositoryformatversion = 0\\n\\tfsmonitor = \\"{canary}; false\\"\\n"'
ZERO = '0' * 40

# The box changes git's own state, or moves a part of a repository.
STATE = {
    'refs that a rebase updates': (
        ':', f'GIT_SEQUENCE_EDITOR="sed -i s/^pick/edit/" git rebase -q -i HEAD~1; N=$(git rev-parse HEAD); '
        f'mkdir -p .git/$N/objects; {EVIL_CONFIG} > .git/$N/config; '
        f'printf "%s\\n" $N/refs/heads/z {ZERO} $N commondir {ZERO} $N > .git/rebase-merge/update-refs',
        'git rebase --continue; git status'),
    'refs that a rebase updates, renamed to their place': (
        ':', f'GIT_SEQUENCE_EDITOR="sed -i s/^pick/edit/" git rebase -q -i HEAD~1; N=$(git rev-parse HEAD); '
        f'mkdir -p .git/$N/objects; {EVIL_CONFIG} > .git/$N/config; '
        f'printf "%s\\n" $N/refs/heads/z {ZERO} $N commondir {ZERO} $N > u; mv u .git/rebase-merge/update-refs',
        'git rebase --continue; git status'),
    'a symbolic ref that leaves refs': (
        ':', 'mkdir -p .git/evil/objects; echo "ref: refs/heads/x" > .git/evil/HEAD; '
        f'{EVIL_CONFIG} > .git/evil/config; '
        'echo "ref: evil/refs/stash" > .git/refs/stash; mkdir d; echo "gitdir: ../.git/evil" > d/.git; echo x >> a',
        'git stash; git -C d status'),
    'a repository below refs': (
        ':', 'git checkout -q -b foo/refs/x; git pack-refs --all; mkdir -p .git/refs/heads/foo/objects; '
        'echo "ref: refs/heads/x" > .git/refs/heads/foo/HEAD; '
        f'{EVIL_CONFIG} > .git/refs/heads/foo/config; mkdir d; echo "gitdir: ../.git/refs/heads/foo" > d/.git',
        'git commit -q --allow-empty -m person; git -C d status'),
    'a directory that is moved to refs': (
        ':', 'git checkout -q -b foo/refs/x; git pack-refs --all; rm -rf .git/refs/heads/foo; mkdir -p foo/objects; '
        f'echo "ref: refs/heads/x" > foo/HEAD; {EVIL_CONFIG} > foo/config; mv foo .git/refs/heads/foo; mkdir d; '
        'echo "gitdir: ../.git/refs/heads/foo" > d/.git',
        'git commit -q --allow-empty -m person; git -C d status'),
    'submodules that complete a repository': (
        'git init -q ../up; (cd ../up; echo 1 > f; git add f; git commit -qm s); git -C ../up rev-parse HEAD > id',
        'for n in k:x/objects l:x/refs m:x; do git config -f .gitmodules submodule.${n#*:}.path ${n%%:*}; '
        'git config -f .gitmodules submodule.${n#*:}.url $PWD/../up; git update-index --add --cacheinfo '
        '160000,$(cat id),${n%%:*}; mkdir -p ${n%%:*}; done; '
        'git add .gitmodules; git commit -qm sub; mkdir -p .git/modules/x; echo "ref: refs/heads/main" > '
        f'.git/modules/x/HEAD; {EVIL_CONFIG} > .git/modules/x/config',
        'git submodule update --init; git -C m status'),
    'a submodule whose work tree is a link': (
        f'{SUBMODULE_S}; mkdir ../docs', 'ln -s $PWD/../docs link; git config -f .git/modules/s/config core.worktree '
        '../../../link', 'cd s; git checkout -f; test -e ../../docs/f && {canary}'),
    'a link instead of .gitmodules': (
        f'{SUBMODULE_S}; cp .gitmodules ../outside', 'ln -sf $PWD/../outside .gitmodules',
        'git submodule set-branch -b x s; grep -q branch ../outside && {canary}'),
    'a recorded resolution of a conflict in the configuration': (
        ':', RERERE + 'printf "$I\\t.git/config\\0" > .git/MERGE_RR', COMMIT_EMPTY),
    'the same, renamed to its place': (
        ':', RERERE + 'printf "$I\\t.git/config\\0" > .git/M; mv .git/M .git/MERGE_RR', COMMIT_EMPTY),
    'a resolution that copies a secret': (
        'echo secret > ../.netrc',
        'I=aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa; mkdir -p .git/rr-cache/$I; '
        'printf "$I\\t../.netrc\\0" > .git/MERGE_RR',
        'git commit -q --allow-empty -m x; grep -rq secret .git/rr-cache && {canary}'),
    'options of git am': (':', AM + FAKE_ANCESTOR, WROTE_PROFILE),
    'options of git am, renamed to their place': (
        ':', AM + FAKE_ANCESTOR.replace('rebase-apply/apply-opt', 'o') + '; mv .git/o .git/rebase-apply/apply-opt',
        WROTE_PROFILE),
    'a prepared directory of git am': (
        AM, 'cp -r .git/rebase-apply ra; ' + FAKE_ANCESTOR.replace('.git/rebase-apply', 'ra') +
        '; rm -rf .git/rebase-apply; mv ra .git/rebase-apply', WROTE_PROFILE),
    'an index with two readings, in a worktree that moves': (
        ':', f"python3 -c '{TWO_READINGS}' {{canary}}", 'git -C w checkout -- .; git commit -q --allow-empty -m x'),
    'an index with two readings, in worktrees that move': (
        ':', "python3 -c '" + TWO_READINGS.replace('os.mkdir("B/any")', 'pass')
        .replace('os.rename(x, "B/any/x")', 'os.rename(".git/worktrees", "B/any"); os.rename("B/any/wtx", "B/any/x")')
        + "' {canary}", 'git -C w checkout -- .; git commit -q --allow-empty -m x'),
    'a submodule in a repository that is renamed': (
        ':', SUBMODULE + 'mv sub/.git sub/g; mv sub/g/modules/a/b/c/d/e/f/g/h/i/j lib; ' + CHECK_OUT_HOME, CHECKED_OUT),
    'a scratch repository that moves into the workspace': (
        ':', 'export T=${TMPDIR:-$(dirname $PWD)}; '
        f'git init -q $T/x && printf "{EVIL}" >> $T/x/.git/config; perl -e \'rename("$ENV{{T}}/x", "n") or exit 1\'; '
        'git update-index --add --cacheinfo 160000,$(git rev-parse HEAD),n', 'git status'),
    'an index that leads into a repository behind a file .git': (
        'mv .git .g; echo "gitdir: .g" > .git', HOOK_IN_INDEX.replace('{0}', '.g/') + '; git commit -qm x',
        f'git checkout -- .; {COMMIT_EMPTY}'),
    'a repository in .git': (
        ':', f'{MAKE_HOOK}; mkdir .git/.git; export GIT_DIR=$PWD/.git/.git GIT_WORK_TREE=$PWD/.git; git init -q; '
        'git update-index --add --cacheinfo 100755,$(git hash-object -w hk/pre-commit),hooks/pre-commit',
        f'git -C .git checkout -- .; {COMMIT_EMPTY}'),
    'a .git in a bare repository': (
        'git clone -q --bare . ../b; mkdir bare; mv ../b/* bare; git -C bare worktree add -q ../wt side',
        'cd bare; git init -q .; test -d .git/objects && echo 1 > ../made', 'test -e made && {canary}'),
    'alternates in objects that are moved away and back': (
        ':', 'mv .git/objects o; mkdir -p o/info; echo /x/objects > o/info/alternates; mv o .git/objects',
        'cat .git/objects/info/alternates && {canary}'),
}


@pytest.mark.parametrize('level', LEVELS)
@pytest.mark.parametrize('title', NAMED)
def test_files_that_the_persons_configuration_names_cannot_be_written(tmp_path, build, level, title):
    assert_attack_fails(tmp_path, build, level, title, NAMED)


@pytest.mark.parametrize('level', LEVELS)
@pytest.mark.parametrize('title', STATE)
def test_state_of_git_that_a_box_left_is_harmless(tmp_path, build, level, title):
    assert_attack_fails(tmp_path, build, level, title, STATE)


@pytest.mark.only_user
@pytest.mark.parametrize('level', LEVELS)
@pytest.mark.parametrize('hide, show', [('chmod 0 .git/worktrees/wt/config.worktree',
                                         'chmod 644 .git/worktrees/wt/config.worktree'),
                                        ('chmod 0 .git/worktrees', 'chmod 755 .git/worktrees'),
                                        ('echo x > .git/worktrees/wt/gitdir', ':')])
def test_earlier_box_cannot_hide_what_a_configuration_names(tmp_path, build, level, hide, show):
    """What cannot be read when a box starts is not absent: the box could make it readable again."""
    person = Person(tmp_path, build)
    person.run(BEGIN)
    before, attack, afterwards = NAMED['an include of the configuration of a worktree']
    person.run(before)
    person.run(hide, *person.box(level))
    person.run(f'{show}; {attack}', *person.box(level))
    person.run(f'{show}; {afterwards}')
    assert not person.mark.exists()


@pytest.mark.parametrize('level', LEVELS)
def test_repository_that_a_rule_hides_does_not_stop_a_box(tmp_path, build, level):
    """The guard cannot read that configuration, because the box's root has an empty directory in its place."""
    person = Person(tmp_path, build)
    hidden = tmp_path / 'hidden'
    person.run(f'git init -q {hidden}')
    result = person.run(f'echo started; cat {hidden}/.git/config',
                        *person.box(level, '--rw', str(hidden), '--deny-read', str(hidden)))
    assert result.stdout == 'started\n', result.stderr
    assert result.returncode == 1


@pytest.mark.only_user
@pytest.mark.parametrize('hidden', ['.git/config', '.git/worktrees', '.git/modules'])
def test_box_without_a_user_namespace_refuses_a_configuration_that_it_cannot_read(tmp_path, build, hidden):
    """With a user namespace ringwall can read every file of the person's, whatever its mode."""
    person = Person(tmp_path, build)
    person.run(BEGIN)
    person.run(f'mkdir -p .git/worktrees .git/modules; chmod 0 {hidden}')
    result = person.run(':', *person.box('standard'))
    person.run(f'chmod 755 {hidden}')
    assert result.returncode == 125
    assert f'cannot read {person.work}/{hidden}, which may name files that git runs; make it readable' in result.stderr


@pytest.mark.parametrize('level', LEVELS)
@pytest.mark.parametrize('where', ['.', 'sub'])
def test_hooks_that_the_person_names_while_a_box_runs_cannot_be_written(tmp_path, build, level, where):
    person = Person(tmp_path, build)
    person.run(BEGIN)
    person.run('git init -q sub')
    script = f'cd {where}; echo ready > here; until test -e go; do sleep 0.01; done; sleep 0.5; {MAKE_HOOK}'
    box = threading.Thread(target=person.run, args=(script, *person.box(level)))
    box.start()
    person.run(f'cd {where}; until test -e here; do sleep 0.01; done; git config core.hooksPath hk; touch go')
    box.join()
    person.run(f'cd {where}; {COMMIT_EMPTY}')
    assert not person.mark.exists()


@pytest.mark.parametrize('level', LEVELS)
@pytest.mark.parametrize('variable, file', [
    ('GIT_CONFIG_GLOBAL', '{work}/gc'), ('GIT_CONFIG_GLOBAL', 'gc'), ('GIT_CONFIG_SYSTEM', '{work}/gc')])
def test_configuration_that_a_variable_names_cannot_be_written(tmp_path, build, level, variable, file):
    for place in 'out', 'in':
        person = Person(tmp_path / place, build)
        person.run(BEGIN)
        person.run('cp ~/.gitconfig gc')
        with_variable = ['env', '-u', 'GIT_CONFIG_NOSYSTEM', f'{variable}={file.format(work=person.work)}']
        person.run(f'printf "{EVIL}" >> gc', *with_variable, *([] if place == 'out' else person.box(level)))
        person.run('git status', *with_variable)
        assert person.mark.exists() == (place == 'out')


@pytest.mark.parametrize('level', LEVELS)
@pytest.mark.parametrize('where', ['below', 'worktree'])
def test_hooks_of_a_repository_above_or_elsewhere_that_are_links_cannot_be_written(tmp_path, build, level, where):
    """The workspace is a directory inside a repository, or a linked worktree."""
    for place in 'out', 'in':
        person = Person(tmp_path / place, build)
        person.run(BEGIN)
        person.run(f'git worktree add -q {where}' if where == 'worktree' else f'mkdir {where}')
        person.run(f'mkdir -p {where}/t .git/hooks; printf "#!/bin/sh\\n" > {where}/t/h; chmod +x {where}/t/h; '
                   f'ln -s $PWD/{where}/t/h .git/hooks/pre-commit')
        person.work = person.work / where
        result = person.run('echo {canary} >> t/h; echo new > new', *([] if place == 'out' else person.box(level)))
        assert (person.work / 'new').read_text() == 'new\n', result.stderr   # other files can be written
        person.run(COMMIT_EMPTY)
        assert person.mark.exists() == (place == 'out')


# One process renames a harmless configuration into place; the other opens the file on its way there, and writes to it
# once it is the configuration.
TWO_BOXES = r"""
import os, sys, time
end = time.monotonic() + 6
if sys.argv[1] == "rename":
    text = open(".git/config", "rb").read()
    while time.monotonic() < end and not os.path.exists("won"):
        try:
            with open(".git/config.lock", "wb") as file:
                file.write(text)
            os.rename(".git/config.lock", ".git/config")
        except OSError:
            pass
while time.monotonic() < end and sys.argv[1] == "write" and not os.path.exists("won"):
    for name in [name for name in os.listdir(".git") if name not in ("config", "index") and "config" in name or "ringwall" in name]:
        try:
            fd = os.open(f".git/{name}", os.O_WRONLY)
        except OSError:
            continue
        for i in range(200):
            try:
                same = os.fstat(fd).st_ino == os.stat(".git/config").st_ino
            except OSError:
                same = False
            if same:
                open("won", "w").close()
                os.write(fd, b"[core]\n\tfsmonitor = x\n")
                sys.exit()
        os.close(fd)
"""


@pytest.mark.parametrize('level', LEVELS)
def test_two_boxes_in_one_workspace_cannot_write_a_configuration(tmp_path, build, level):
    """Each box has its own lock on names, so no box may reach the copy that a guard makes of a new configuration."""
    for place in ('out', 'in'):
        person = Person(tmp_path / place, build)
        person.run(BEGIN)
        env = {'HOME': str(person.home), 'PATH': '/usr/bin:/bin', 'LANG': 'C.UTF-8'}
        box = person.box(level) if place == 'in' else []
        processes = [subprocess.Popen([*box, 'python3', '-c', TWO_BOXES, what], cwd=person.work, env=env)
                     for what in ('rename', 'write')]
        for process in processes:
            process.wait(60)
        assert (person.work / 'won').exists() == (place == 'out')
        if place == 'in':
            assert 'fsmonitor' not in (person.work / '.git/config').read_text()
            assert not [name for name in person.work.glob('.git/.ringwall-*')]
