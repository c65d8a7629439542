"""libringwall: the example of docs/library.md, as a reader would compile it, and what it does not show."""
import json
import re
import secrets
import subprocess

import pytest

from processes import with_word


@pytest.fixture(scope='module')
def compiled(tmp_path_factory, repo, build):
    """Compiles a program against the header and the library in the build directory."""
    def make(source):
        folder = tmp_path_factory.mktemp('library')
        (folder / 'program.c').write_text(source)
        (folder / 'ringwall-egress').symlink_to(build / 'ringwall-egress')      # where it is looked for
        subprocess.run(['cc', '-std=c11', '-Wall', '-Wextra', '-Werror', f'-I{repo}/include', f'{folder}/program.c', '-o',
                        f'{folder}/program', f'-L{build}', '-lringwall', f'-Wl,-rpath,{build}'], check=True)
        return folder / 'program'
    return make


@pytest.fixture(scope='module')
def example(compiled, repo):
    return compiled(re.search(r'```c\n(.*?)```', (repo / 'docs/library.md').read_text(), re.S)[1])


@pytest.fixture
def run(home, workspace):
    def run(program, *arguments, env=None, **options):
        env = {'HOME': str(home), 'PATH': '/usr/bin:/bin', **(env or {})}
        return subprocess.run([program, *arguments], cwd=workspace, env=env,
                              capture_output=True, text=True, timeout=60, **options)
    return run


def test_the_example_is_about_thirty_lines(repo):
    assert 25 <= len(re.search(r'```c\n(.*?)```', (repo / 'docs/library.md').read_text(), re.S)[1].splitlines()) <= 36


def test_the_example_runs_a_command_in_a_box(run, example, home, workspace):
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
def test_how_it_ends(run, example, command, status, how):
    result = run(example, *command)
    assert result.returncode == status and json.loads(result.stderr)['end']['how'] == how


MORE = r'''
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

static int streams_and_signals(void)
{
        struct ringwall_plan *plan = compile("level", "strict");
        struct ringwall_box *box = NULL;
        char text[16] = "";
        int out[2], status = 0, nothing = open("/dev/null", O_RDWR);
        char *command[] = { "sh", "-c", "echo ready; exec sleep 60", NULL };
        if (pipe(out) < 0 || ringwall_spawn(plan, command, (int[]){ nothing, out[1], nothing }, &box) < 0)
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

static int refused(void)
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
        printf("%d %s\n", r == -ENOTSUP, strstr(report, "at level standard no port can be published") ? "said why" : report);
        free(report);
        ringwall_box_free(box);
        ringwall_plan_free(plan);
        return 0;
}

static int restricted(const char *secret)
{
        struct ringwall_plan *strict = compile("level", "strict"), *plan = compile("level", "standard");
        printf("%d ", ringwall_restrict_self(strict) == -ENOTSUP);
        int before = open(secret, O_RDONLY);
        int r = ringwall_restrict_self(plan);
        int read_error = open(secret, O_RDONLY) < 0 ? errno : 0;
        int made = open("made", O_CREAT | O_WRONLY, 0600);
        int network = socket(AF_INET, SOCK_STREAM, 0);
        printf("%d %d %s %d %d\n", before >= 0, r, strerror(read_error), made >= 0, network);
        return 0;
}

static int not_by_itself(void)
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

static int recorded(void)
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

static int freed_while_it_runs(void)
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

/* Another's hosts, for a box with a network and for one without. */
static int changed(void)
{
        struct ringwall_plan *none = compile("level", "strict"), *live = compile("live", "new"),
                             *host = compile("allow-domain", "example.com");
        struct ringwall_box *box = NULL;
        char text[64] = "";
        int in[2], out[2], status = 0, nothing = open("/dev/null", O_RDWR);
        char *command[] = { "sh", "-c", "while read name; do getent hosts $name >/dev/null; echo $?; done", NULL };
        if (pipe(in) < 0 || pipe(out) < 0 || ringwall_spawn(live, command, (int[]){ in[0], out[1], nothing }, &box) < 0)
                return 1;
        close(in[0]);
        struct ringwall_plan *turns[] = { NULL, host, none, host };
        for (int i = 0; i < 4; i++) {
                int r = turns[i] ? ringwall_box_change_hosts(box, turns[i]) : 0;
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

static int machine(void)
{
        char *json = ringwall_machine_to_json();
        puts(json);
        free(json);
        return 0;
}

int main(int argc, char **argv)
{
        switch (argc > 1 ? *argv[1] : 0) {
        case 's': return streams_and_signals();
        case 'r': return refused();
        case 'f': return freed_while_it_runs();
        case 'c': return changed();
        case 'm': return machine();
        case 'n': return not_by_itself();
        case 'a': return recorded();
        case 'x': return restricted(argv[2]);
        default: return 1;
        }
}
'''


@pytest.fixture(scope='module')
def more(compiled):
    return compiled(MORE.replace('-std=c11', ''))


def test_streams_signals_and_the_pidfd(run, more):
    assert run(more, 's').stdout == '6 ready\n0 1 143\n'


def test_a_plan_that_cannot_be_held_says_why(run, more):
    assert run(more, 'r').stdout == '1 said why\n'


def test_a_box_that_is_freed_ends(run, more):
    mark = f'86396.{secrets.randbelow(10 ** 12):012}'
    assert run(more, 'f', env={'MARK': mark}).stdout == '0\n'
    assert with_word(mark) == []


def test_the_hosts_of_a_box_that_runs_are_changed(run, more):
    assert run(more, 'c').stdout == '2 0 2 0 1 1\n'


def test_a_process_confines_itself(run, more, home):
    (home / 'secret').write_text('x')
    assert run(more, 'x', str(home / 'secret')).stdout == '1 1 0 Permission denied 1 -1\n'


def test_what_a_process_cannot_hold_for_itself_is_refused(run, more, workspace):
    assert run(more, 'n').stdout == '4 1\n'        # and nothing was given up before
    (workspace / '.git/hooks').mkdir(parents=True)
    assert run(more, 'x', '/etc/passwd').stdout.startswith('1 1 -95')


def test_a_record_that_the_plan_asks_for_is_kept(run, more, home, workspace):
    (workspace / 'audit.yaml').write_text('security: {sandbox: {audit: true}}\n')
    assert run(more, 'a').stdout == '0 0\n'
    [path] = (home / '.local/state/ringwall/audit').iterdir()
    assert [json.loads(line)['event'] for line in path.read_text().splitlines()][-1] == 'session_end'


def test_the_machine_is_asked(run, more, ringwall):
    told = json.loads(run(more, 'm').stdout)
    assert told['levels'].keys() == json.loads(ringwall('doctor', '--json').stdout)['levels'].keys()


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


def test_a_workspace_without_a_box(run, compiled, workspace):
    (workspace / 'out').symlink_to('/etc')
    result = run(compiled(WORKSPACE), workspace)
    assert result.returncode == 0
    assert result.stdout.splitlines() == [
        f'-17 {workspace}/a/b exists already', '0', '0 three', f'{workspace} {workspace}/a/b',
        f'-18 path is outside workspace root: out/passwd is not in {workspace}', '-22']
    assert sorted(path.name for path in workspace.iterdir()) == ['a', 'out']
