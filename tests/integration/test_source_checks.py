"""Each check in tools/ can fail: it refuses a small tree with one mistake, and names the file and line.

Without these tests, a check that can never fail would look like a tree without mistakes.
"""
import json
import re
import subprocess

import pytest

pytestmark = pytest.mark.source

GUARD = '#ifndef X_H\n#define X_H\n{}\n#endif\n'


@pytest.fixture
def tree(tmp_path):
    """A function that writes files into a small tree without mistakes, and returns the root of the tree."""
    def write(files):
        for name, text in {'src/base/README.md': '# base\n', 'src/base/list.h': GUARD.format('struct list;'),
                           'tests/unit/meson.build': "unit_tests = {\n  'list': [base],\n}\n", **files}.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
            if path.parent.parent.name == 'src':
                (path.parent / 'README.md').touch()
        return tmp_path
    return write


@pytest.fixture
def check(repo, monkeypatch):
    """Runs a check on a tree."""
    monkeypatch.delenv('RINGWALL_BUILD', raising=False)

    def run(tool, root):
        return subprocess.run([repo / 'tools' / tool, root], capture_output=True, text=True, timeout=120)
    return run


def assert_refused(result, *lines):
    assert result.returncode != 0
    for line in lines:
        assert line in result.stdout + result.stderr


@pytest.mark.parametrize('tool', ['check-layers', 'check-style', 'check-headers'])
def test_tree_without_mistakes_passes(tree, check, tool):
    root = tree({
        'src/policy/plan.c': '#include "policy/plan.h"\n#include "base/list.h"\n#include <sys/types.h>\n',
        'src/policy/plan.h': GUARD.format('#include "base/list.h"'),
        'src/linux/namespaces.c': '#include <sched.h>\n#include <sys/mount.h>\n#include "policy/plan.h"\n',
        'src/box/box.c': '#include "ringwall/ringwall.h"\n',
        'include/ringwall/ringwall.h': GUARD.format('#include <stddef.h>\nsize_t ringwall_count(void);'),
        'tests/unit/test_list.c': '{\n' + 'x\n' * 100 + '}\n',
    })
    result = check(tool, root)
    assert (result.returncode, result.stdout, result.stderr) == (0, '', '')


@pytest.mark.parametrize('name, include, message', [
    ('base/list.c', '"policy/plan.h"', 'points up: base is level 0, policy is level 1'),
    ('policy/plan.c', '"feature/feature.h"', 'points up'),
    ('policy/plan.c', '"audit/trail.h"', 'points up: policy is level 1, audit is level 1'),
    ('linux/namespaces.c', '"macos/seatbelt.h"', 'reaches past the interface to a platform'),
    ('box/box.c', '"linux/resolved_paths.h"', 'reaches past the interface to a platform, src/platform'),
    ('cli/run.c', '"stub/stub.h"', 'reaches past the interface to a platform, src/platform'),
    ('platform/box.h', '"linux/cgroup.h"', 'reaches past the interface to a platform, src/platform'),
    ('platform/box.h', '"box/report.h"', 'points up: platform is level 3, box is level 5'),
    ('feature/feature.c', '"platform/box.h"', 'points up'),
    ('linux/namespaces.c', '"box/box.h"', 'points up'),
    ('mcp/http.c', '"cli/verbs.h"', 'points up'),
    ('cli/main.c', '"../base/list.h"', 'without ../'),
    ('cli/main.c', '"odds/ends.h"', 'src/odds has no level'),
    ('odds/ends.c', '<stdio.h>', 'src/odds has no level'),
    ('box/box.c', '<linux/landlock.h>', 'belongs to src/linux alone'),
    ('box/box.c', '<linux/seccomp.h>', 'belongs to src/linux alone'),
    ('cli/main.c', '<seccomp.h>', 'belongs to src/linux alone'),
    ('feature/feature.c', '<sched.h>', 'belongs to src/linux alone'),
    ('base/fd.c', '<sys/mount.h>', 'belongs to src/linux alone'),
    ('policy/plan.c', '<unistd.h>', 'leads to system calls'),
    ('policy/plan.c', '<fcntl.h>', 'leads to system calls'),
    ('policy/plan.h', '<sys/stat.h>', 'leads to system calls'),
])
def test_include_that_breaks_the_layers_is_refused(tree, check, name, include, message):
    result = check('check-layers', tree({f'src/{name}': f'/* x */\n#  include {include}\n'}))
    assert_refused(result, f'src/{name}:', message)


@pytest.mark.parametrize('body, symbol', [
    ('#include <stdio.h>\nint f(void) { return fopen("x", "r") != NULL; }', 'fopen'),
    ('#include <unistd.h>\nint f(void) { return getpid(); }', 'getpid'),
    ('#include <stdlib.h>\nint f(void) { return getenv("HOME") != NULL; }', 'getenv'),
    ('#include <stdio.h>\nvoid f(int n) { fprintf(stderr, "%d", n); }', 'fprintf'),
    ('int fd_read_file(void);\nint f(void) { return fd_read_file(); }', 'fd_read_file'),
    ('int json_load_file(void);\nint f(void) { return json_load_file(); }', 'json_load_file'),
    ('int yaml_parser_set_input_file(void);\nint f(void) { return yaml_parser_set_input_file(); }', 'set_input_file'),
])
def test_policy_code_that_calls_more_than_memory_functions_is_refused(tree, check, body, symbol):
    root = tree({'src/policy/plan.c': body, 'build/src/policy/a b/README': ''})
    compile_policy(root)
    assert_refused(check('check-policy-pure', root), 'src/policy/plan.c:0: calls ', symbol)


def compile_policy(root):
    subprocess.run(['cc', '-O2', '-D_FORTIFY_SOURCE=2', '-c', root / 'src/policy/plan.c',
                    '-o', root / 'build/src/policy/a b/plan.c.o'], check=True)


def test_policy_code_may_call_memory_functions(tree, check):
    root = tree({'build/src/policy/a b/README': '', 'src/policy/plan.c': '''
        #include <stdio.h>
        #include <stdlib.h>
        #include <string.h>
        int text_add(char *); int json_object(void); int own(char *);
        int own(char *s) { return text_add(s) + json_object(); }
        int f(char *s, size_t n) { char b[9]; memcpy(b, s, n); snprintf(b, 9, "%s", s); return own(strdup(b)); }'''})
    compile_policy(root)
    result = check('check-policy-pure', root)
    assert (result.returncode, result.stdout) == (0, '')


def test_check_of_policy_code_needs_a_build(tree, check):
    assert_refused(check('check-policy-pure', tree({})), 'build first')


def test_header_that_does_not_compile_alone_is_refused(tree, check):
    root = tree({'src/base/sizes.h': GUARD.format('size_t base_size(void);')})
    assert_refused(check('check-headers', root), 'src/base/sizes.h:3:')


def test_header_that_shadows_a_system_header_is_refused(tree, check):
    """src/linux/limits.h was once included instead of the kernel's <linux/limits.h>, and PATH_MAX was undefined."""
    assert_refused(check('check-headers', tree({'src/linux/limits.h': GUARD.format('')})),
                   "src/linux/limits.h:1: hides the system's <linux/limits.h>")


@pytest.mark.parametrize('body', [
    'static inline int f(void) { return ({ 1; }); }',               # not C11
    'struct s { int class; };',                                      # not C++
    'static inline int *f(void *p) { return p; }',                   # C, not C++
    'pid_t ringwall_pid(void);',                                     # needs another header
])
def test_public_header_that_is_not_valid_c11_and_cxx_is_refused(tree, check, body):
    assert_refused(check('check-headers', tree({'include/ringwall/ringwall.h': GUARD.format(body)})), 'ringwall.h:3:')


@pytest.mark.parametrize('name, text, message', [
    ('src/base/list.c', 'int x;  \n', 'src/base/list.c:1: white space at the end'),
    ('src/base/list.c', '{\n\tint x;\n}\n', 'src/base/list.c:2: a tab'),
    ('src/base/list.c', 'x\n' * 801, 'src/base/list.c:801: more than 800 lines'),
    ('src/base/list.c', 'int f(void)\n{\n' + 'x\n' * 101 + '}\n', 'src/base/list.c:2: a function of 101 lines'),
    ('src/base/util.c', '', 'src/base/util.c:1: named after nothing'),
    ('src/base/common.h', '', 'src/base/common.h:1: named after nothing'),
    ('tests/integration/misc.py', '', 'misc.py:1: named after nothing'),
    ('tests/unit/test_lost.c', '', 'tests/unit/test_lost.c:1: not in the table'),
    ('src/empty/inner/x.h', '', 'src/empty/README.md:1: missing'),
])
def test_breach_of_the_style_is_refused(tree, check, name, text, message):
    assert_refused(check('check-style', tree({name: text})), message)


@pytest.mark.parametrize('body, message', [
    ('int f(int n);\nint f(int n)\n{\n        int *p = 0;\n        return n ? *p : 0;\n}\n', 'core.NullDereference'),
    ('int f(void);\nint f(void)\n{\n        int a[3] = { 0 };\n        return a[3];\n}\n', 'arrayIndexOutOfBounds'),
])
def test_lint_reports_a_null_dereference_and_an_index_out_of_bounds(tree, check, repo, body, message):
    root = tree({'src/base/list.c': body})
    command = {'directory': str(root), 'file': 'src/base/list.c', 'command': 'cc -c src/base/list.c'}
    (root / 'build').mkdir()
    (root / 'build/compile_commands.json').write_text(json.dumps([command]))
    assert_refused(check('lint', root), 'src/base/list.c:5:', message)


def banned_functions(repo):
    text = (repo / 'src/base/banned.h').read_text()
    return [name for line in re.findall(r'^#pragma GCC poison (.*)$', text, re.M) for name in line.split()]


def test_each_banned_function_is_a_compile_error(repo, tmp_path):
    names = banned_functions(repo)
    assert len(names) > 15
    source = tmp_path / 'use.c'
    source.write_text(''.join(f'void *f{i}(void) {{ return (void *){name}; }}\n' for i, name in enumerate(names)))
    result = subprocess.run(['cc', '-std=gnu17', '-fsyntax-only', '-include', repo / 'src/base/banned.h', source],
                            capture_output=True, text=True)
    for line, name in enumerate(names, 1):
        assert f'use.c:{line}:' in result.stderr
        assert f'poisoned "{name}"' in result.stderr
    source.write_text('int main(void) { return 0; }\n')
    subprocess.run(['cc', '-std=gnu17', '-fsyntax-only', '-include', repo / 'src/base/banned.h', source], check=True)


@pytest.mark.parametrize('readme, message', [
    (None, 'src/base: has no README.md'),
    ('# src/base\n', 'has no line "- Called by:"'),
    ('- Called by: `src/box`, `src/cli`.\n', 'names src/cli as a caller, which includes none of its headers'),
    ('- Called by: `src/cli`.\n', 'does not name src/box as a caller, which includes its headers'),
    ('- Called by: nobody.\n', 'says that nobody calls it, and src/box includes its headers'),
    ('`gone.c` does it.\n\n- Called by: `src/box`.\n', 'names gone.c, which does not exist'),
])
def test_wrong_readme_is_refused(tree, check, readme, message):
    files = {'src/base/list.h': GUARD.format(''), 'src/box/box.c': '#include "base/list.h"\n',
             'src/box/README.md': '- Called by: nobody.\n'}
    root = tree({**files, 'src/base/README.md': readme or ''})
    if readme is None:
        (root / 'src/base/README.md').unlink()
    assert_refused(check('check-readmes', root), message)


def test_correct_readme_passes(tree, check):
    result = check('check-readmes', tree({
        'src/base/list.h': GUARD.format(''), 'src/box/box.c': '#include "base/list.h"\n',
        'src/base/README.md': '`list.h` has lists.\n\n- Called by: `src/box`\n  and others.\n- Tests: none.\n',
        'src/box/README.md': '- Called by: nobody.\n'}))
    assert (result.returncode, result.stdout) == (0, '')


@pytest.mark.parametrize('name, text', [
    ('src/base/list.c', '/* ' + 'x' * 120 + ' */\n'),
    ('tests/unit/test_list.c', 'x' * 121 + '\n'),
    ('tests/integration/test_x.py', 'text = "' + 'x' * 120 + '"\n'),
    ('tools/build', '#!/bin/sh\n: ' + 'x' * 120 + '\n'),
    ('tools/check', '#!/usr/bin/python3\n' + 'x' * 121 + '\n'),
])
def test_line_of_more_than_120_columns_is_refused(tree, check, name, text):
    assert_refused(check('check-columns', tree({name: text})), f'{name}:', 'more than 120 columns')


@pytest.mark.parametrize('name, text', [
    ('src/base/list.c', '/* The box is carved out of it. */\n'),
    ('docs/network.md', 'Entrances of the box.\n'),
    ('tests/unit/test_list.c', '        int giver = 0;\n'),
])
def test_replaced_word_is_refused(tree, check, name, text):
    assert_refused(check('check-words', tree({name: text})), f'{name}:1:', 'write ')


def test_parts_of_other_words_pass(tree, check):
    result = check('check-words', tree({'src/base/list.c': '/* careful, forgiver, shared */\n'}))
    assert (result.returncode, result.stdout) == (0, '')


def test_120_characters_and_long_lines_inside_strings_pass(tree, check):
    program = '"""\n' + 'x' * 130 + '\n"""\n'
    result = check('check-columns', tree({'src/base/list.c': 'é' * 120 + '\n', 'tests/integration/test_x.py': program}))
    assert (result.returncode, result.stdout) == (0, '')
