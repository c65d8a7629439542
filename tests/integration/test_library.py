"""libringwall: the example of docs/library.md, compiled as a reader would do it, and the functions that it lacks."""
import json
import re
import secrets
import subprocess

import pytest

from procfs import with_word


@pytest.fixture(scope='module')
def compile_program(tmp_path_factory, repo, build):
    """Compiles a program against the header and the library in the build directory."""
    def compile_source(source):
        folder = tmp_path_factory.mktemp('library')
        (folder / 'program.c').write_text(source)
        (folder / 'ringwall-egress').symlink_to(build / 'ringwall-egress')  # helpers are looked up here
        subprocess.run(['cc', '-std=c11', '-Wall', '-Wextra', '-Werror', f'-I{repo}/include', f'{folder}/program.c',
                        '-o',
                        f'{folder}/program', f'-L{build}', '-lringwall', f'-Wl,-rpath,{build}'], check=True)
        return folder / 'program'
    return compile_source


@pytest.fixture(scope='module')
def example(compile_program, repo):
    return compile_program(re.search(r'```c\n(.*?)```', (repo / 'docs/library.md').read_text(), re.S)[1])


@pytest.fixture
def run(home, workspace):
    def run(program, *arguments, env=None, **options):
        env = {'HOME': str(home), 'PATH': '/usr/bin:/bin', **(env or {})}
        return subprocess.run([program, *arguments], cwd=workspace, env=env,
                              capture_output=True, text=True, timeout=60, **options)
    return run


def test_example_is_about_thirty_lines(repo):
    assert 25 <= len(re.search(r'```c\n(.*?)```', (repo / 'docs/library.md').read_text(), re.S)[1].splitlines()) <= 36


def test_example_runs_a_command_in_a_box(run, example, home, workspace):
    (home / 'secret').write_text('the secret')
    result = run(example, 'sh', '-c', 'echo kept > file; cat ../secret; exit 7')
    report = json.loads(result.stderr[result.stderr.index('{\n'):])
    assert result.returncode == 7 and 'the secret' not in result.stdout
    assert (workspace / 'file').read_text() == 'kept\n'
    assert report['end']['how'] == 'exited' and report['enforced']['level'] == 'strict'


@pytest.mark.parametrize('command, status, how', [
    (['sh', '-c', 'kill -9 $$'], 137, 'signalled'),
    (['no-such-command'], 127, 'not_started'),
    (['/etc/passwd'], 126, 'not_started'),
])
def test_example_returns_the_exit_status_and_reports_how_the_command_ended(run, example, command, status, how):
    result = run(example, *command)
    assert result.returncode == status and json.loads(result.stderr)['end']['how'] == how


LIBRARY_USER = r'''
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <ringwall/ringwall.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static struct ringwall_plan *compile(const char *flag, const char *value)
{
        struct ringwall_policy *policy = ringwall_policy_new();
        struct ringwall_plan *plan = NULL;
        ringwall_policy_ignore_defaults(policy);
        ringwall_policy_set(policy, flag, value);
        if (ringwall_policy_compile(policy, &plan) < 0)
                printf("%s\n", ringwall_policy_messages(policy));
        ringwall_policy_free(policy);
        return plan;
}

static int use_streams_and_signals(void)
{
        struct ringwall_plan *plan = compile("level", "strict");
        struct ringwall_box *box = NULL;
        char text[16] = "";
        int out[2], status = 0, dev_null = open("/dev/null", O_RDWR);
        char *command[] = { "sh", "-c", "echo ready; exec sleep 60", NULL };
        if (pipe(out) < 0 || ringwall_spawn(plan, command, (int[]){ dev_null, out[1], dev_null }, &box) < 0)
                return 1;
        ssize_t n = read(out[0], text, sizeof text - 1);
        struct pollfd end = { .fd = ringwall_box_pidfd(box), .events = POLLIN };
        int before = poll(&end, 1, 0);
        ringwall_box_signal(box, SIGTERM);
        int after = poll(&end, 1, 10000);
        ringwall_box_wait(box, &status);
        printf("%zd %s%d %d %d\n", n, text, before, after, status);
        ringwall_box_free(box);
        ringwall_plan_free(plan);
        return 0;
}

static int spawn_refused_plan(void)
{
        struct ringwall_policy *policy = ringwall_policy_new();
        struct ringwall_plan *plan = NULL;
        struct ringwall_box *box = NULL;
        ringwall_policy_ignore_defaults(policy);
        ringwall_policy_set(policy, "level", "standard");
        ringwall_policy_set(policy, "publish", "3000");
        ringwall_policy_compile(policy, &plan);
        ringwall_policy_free(policy);
        char *command[] = { "true", NULL };
        int r = ringwall_spawn(plan, command, NULL, &box);
        char *report = ringwall_box_report(box);
        printf("%d %s\n", r == -ENOTSUP, strstr(report, "publish is not available at level standard") ? "said why" : report);
        free(report);
        ringwall_box_free(box);
        ringwall_plan_free(plan);
        return 0;
}

static int restrict_self(const char *secret)
{
        struct ringwall_plan *strict = compile("level", "strict"), *plan = compile("level", "standard");
        printf("%d ", ringwall_restrict_self(strict) == -ENOTSUP);
        int before = open(secret, O_RDONLY);
        int r = ringwall_restrict_self(plan);
        int read_error = open(secret, O_RDONLY) < 0 ? errno : 0;
        int created = open("made", O_CREAT | O_WRONLY, 0600);
        int network = socket(AF_INET, SOCK_STREAM, 0);
        printf("%d %d %s %d %d\n", before >= 0, r, strerror(read_error), created >= 0, network);
        return 0;
}

static int restrict_self_refused(void)
{
        const char *const flags[][2] = { { "memory", "1GB" }, { "processes", "9" }, { "timeout", "9s" },
                                         { "allow-domain", "example.com" } };
        int refused = 0;
        for (int i = 0; i < 4; i++) {
                struct ringwall_policy *policy = ringwall_policy_new();
                struct ringwall_plan *plan = NULL;
                ringwall_policy_set(policy, "level", "standard");
                ringwall_policy_set(policy, flags[i][0], flags[i][1]);
                ringwall_policy_compile(policy, &plan);
                refused += ringwall_restrict_self(plan) == -ENOTSUP;
                ringwall_plan_free(plan);
                ringwall_policy_free(policy);
        }
        printf("%d %d\n", refused, open("/etc/passwd", O_RDONLY) >= 0);
        return 0;
}

static int spawn_recorded(void)
{
        struct ringwall_plan *plan = compile("policy", "audit.yaml");
        struct ringwall_box *box = NULL;
        char *command[] = { "true", NULL };
        int status = -1, r = ringwall_spawn(plan, command, NULL, &box);
        ringwall_box_wait(box, &status);
        ringwall_box_free(box);
        ringwall_plan_free(plan);
        printf("%d %d\n", r, status);
        return 0;
}

static int free_running_box(void)
{
        struct ringwall_plan *plan = compile("level", "maximum");
        struct ringwall_box *box = NULL;
        char *command[] = { "sleep", getenv("MARK"), NULL };
        int r = ringwall_spawn(plan, command, NULL, &box);
        ringwall_box_free(box);
        ringwall_plan_free(plan);
        printf("%d\n", r);
        return 0;
}

/* Replaces the hosts of a box by those of other plans: of a box with a network, of one that has exited, and of one
   without a network. */
static int apply_hosts_update(void)
{
        struct ringwall_plan *none = compile("level", "strict"), *live = compile("live", "new"),
                             *host = compile("allow-domain", "example.com");
        struct ringwall_box *box = NULL;
        char text[64] = "";
        int in[2], out[2], status = 0, dev_null = open("/dev/null", O_RDWR);
        char *command[] = { "sh", "-c", "while read name; do getent hosts $name >/dev/null; echo $?; done", NULL };
        if (pipe(in) < 0 || pipe(out) < 0 || ringwall_spawn(live, command, (int[]){ in[0], out[1], dev_null }, &box) < 0)
                return 1;
        close(in[0]);
        struct ringwall_plan *changes[] = { NULL, host, none, host };
        for (int i = 0; i < 4; i++) {
                int r = changes[i] ? ringwall_box_change_hosts(box, changes[i]) : 0;
                if (r < 0 || write(in[1], "example.com\n", 12) != 12 || read(out[0], text, sizeof text) < 2)
                        return 2;
                printf("%c ", *text);
        }
        close(in[1]);
        ringwall_box_wait(box, &status);
        printf("%d ", ringwall_box_change_hosts(box, host) == -ESRCH);
        ringwall_box_free(box);
        if (ringwall_spawn(none, (char *[]){ "sleep", "60", NULL }, NULL, &box) < 0)
                return 3;
        printf("%d\n", ringwall_box_change_hosts(box, host) == -ENOTSUP);
        ringwall_box_free(box);
        return 0;
}

static int print_machine(void)
{
        char *json = ringwall_machine_to_json();
        puts(json);
        free(json);
        return 0;
}

int main(int argc, char **argv)
{
        switch (argc > 1 ? *argv[1] : 0) {
        case 's': return use_streams_and_signals();
        case 'r': return spawn_refused_plan();
        case 'f': return free_running_box();
        case 'c': return apply_hosts_update();
        case 'm': return print_machine();
        case 'n': return restrict_self_refused();
        case 'a': return spawn_recorded();
        case 'x': return restrict_self(argv[2]);
        default: return 1;
        }
}
'''


@pytest.fixture(scope='module')
def library_user(compile_program):
    return compile_program(LIBRARY_USER.replace('-std=c11', ''))


def test_box_gets_streams_and_signals_and_its_pidfd_reports_the_end(run, library_user):
    assert run(library_user, 's').stdout == '6 ready\n0 1 143\n'


def test_report_says_why_a_plan_cannot_be_enforced(run, library_user):
    assert run(library_user, 'r').stdout == '1 said why\n'


def test_freeing_a_box_ends_it(run, library_user):
    mark = f'86396.{secrets.randbelow(10 ** 12):012}'
    assert run(library_user, 'f', env={'MARK': mark}).stdout == '0\n'
    assert with_word(mark) == []


def test_hosts_of_a_running_box_can_be_changed(run, library_user):
    assert run(library_user, 'c').stdout == '2 0 2 0 1 1\n'


def test_process_can_restrict_itself(run, library_user, home):
    (home / 'secret').write_text('x')
    assert run(library_user, 'x', str(home / 'secret')).stdout == '1 1 0 Permission denied 1 -1\n'


def test_process_cannot_restrict_itself_by_limits_hosts_or_protected_files(run, library_user, workspace):
    assert run(library_user, 'n').stdout == '4 1\n'        # the refused calls restricted nothing
    (workspace / '.git/hooks').mkdir(parents=True)
    assert run(library_user, 'x', '/etc/passwd').stdout.startswith('1 1 -95')


def test_plan_with_audit_writes_a_record(run, library_user, home, workspace):
    (workspace / 'audit.yaml').write_text('security: {sandbox: {audit: true}}\n')
    assert run(library_user, 'a').stdout == '0 0\n'
    [path] = (home / '.local/state/ringwall/audit').iterdir()
    assert [json.loads(line)['event'] for line in path.read_text().splitlines()][-1] == 'session_end'


def test_report_on_the_machine_has_the_levels_of_the_doctor(run, library_user, ringwall):
    report = json.loads(run(library_user, 'm').stdout)
    doctor = json.loads(ringwall('doctor', '--json').stdout)
    assert {level: told['verdict'] for level, told in report['levels'].items()} == {
        level: told['verdict'] for level, told in doctor['levels'].items()}


WORKSPACE = r'''
#include <errno.h>
#include <fcntl.h>
#include <ringwall/ringwall.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv)
{
        struct ringwall_workspace *w = NULL;
        char *path = NULL, text[16] = "";
        if (argc < 2 || ringwall_workspace_open("relative", &w) != -EINVAL || ringwall_workspace_open(argv[1], &w) < 0)
                return 1;
        int fd = ringwall_workspace_create(w, "a/b", 0600);
        if (fd < 0 || write(fd, "one", 3) != 3 || close(fd) < 0)
                return 2;
        printf("%d %s\n", ringwall_workspace_create(w, "a/b", 0600), ringwall_workspace_message(w));
        printf("%d\n", ringwall_workspace_replace(w, "a/b", "three", 5, 0600));
        fd = ringwall_workspace_open_file(w, "a/b", O_RDONLY);
        if (fd < 0 || read(fd, text, sizeof text) != 5 || close(fd) < 0)
                return 3;
        printf("%d %s\n", ringwall_workspace_resolve(w, "a/../a/b", &path), text);
        printf("%s %s\n", ringwall_workspace_root(w), path);
        free(path);
        printf("%d %s\n", ringwall_workspace_open_file(w, "out/passwd", O_RDONLY), ringwall_workspace_message(w));
        printf("%d\n", ringwall_workspace_open_file(w, "new", O_RDWR | O_CREAT));
        ringwall_workspace_free(w);
        return 0;
}
'''


def test_workspace_needs_no_box_and_confines_paths(run, compile_program, workspace):
    (workspace / 'out').symlink_to('/etc')
    result = run(compile_program(WORKSPACE), workspace)
    assert result.returncode == 0
    assert result.stdout.splitlines() == [
        f'-17 {workspace}/a/b exists already', '0', '0 three', f'{workspace} {workspace}/a/b',
        f'-18 path is outside workspace root: out/passwd is not in {workspace}', '-22']
    assert sorted(path.name for path in workspace.iterdir()) == ['a', 'out']
