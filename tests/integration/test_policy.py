"""`ringwall policy check`, `show` and `schema`: messages about mistakes, how files, flags and ceilings are combined into
one plan, and that the schema and the checker agree.
"""
import itertools
import json
import os
import re
import shlex
import stat
import subprocess

import jsonschema
import pytest

RINGWALL_FAILED = 125   # the exit status when ringwall itself fails
CONTROL_CHARACTERS = re.compile(rb'[\x00-\x09\x0b-\x1f\x7f]|\xc2[\x80-\x9f]|\xe2\x80[\xaa-\xae]|\xe2\x81[\xa6-\xa9]')


@pytest.fixture
def check(ringwall):
    """Runs `policy check --json` on files; returns the answer and the exit status."""
    def run(*files, **options):
        result = ringwall('policy', 'check', '--json', *files, **options)
        return json.loads(result.stdout), result.returncode
    return run


@pytest.fixture
def show(ringwall):
    """Runs `policy show --json` with flags; returns the plan."""
    def run(*flags, **options):
        result = ringwall('policy', 'show', '--json', *flags, **options)
        assert result.returncode == 0, result.stderr + result.stdout
        return json.loads(result.stdout)
    return run


@pytest.fixture
def policy(workspace):
    """Writes a policy into the workspace and returns its name."""
    names = (f'p{i}.yaml' for i in itertools.count(1))

    def write(text, name=None):
        path = workspace / (name or next(names))
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return str(path.relative_to(workspace))
    return write


def rules(plan, kind=None):
    return [rule['path'] for rule in plan['rules'] if kind in (None, rule['kind'])]


def server(body, name='s'):
    """A policy with one MCP server."""
    return f'tools: {{modules: {{mcp: {{config: {{servers: {{{name}: {body}}}}}}}}}}}\n'


def source_of(plan, path):
    return next(rule['source'] for rule in plan['rules'] if rule['path'] == str(path))


def assert_no_control_characters(result):
    """The output has no character but newlines that moves the cursor or changes the direction of the text."""
    for stream in result.stdout, result.stderr:
        found = CONTROL_CHARACTERS.search(stream.encode('utf-8', 'surrogateescape'))
        assert not found, repr(stream)
    return result


# Mistakes.

@pytest.mark.quick
def test_mistake_is_shown_with_position_line_caret_and_suggestion(ringwall, policy):
    name = policy('mode: auto\nsecurity:\n  sandbox:\n    levl: strict\n')
    result = ringwall('policy', 'check', name)
    assert (result.returncode, result.stdout) == (RINGWALL_FAILED, '')
    assert result.stderr == (
        f"{name}:4:5: error: unknown key 'levl' in security.sandbox\n"
        '     4 |     levl: strict\n'
        '       |     ^\n'
        "       = did you mean 'level'?\n")


def test_one_run_reports_all_mistakes_of_all_files(ringwall, policy):
    first = policy('mode: fast\nfilesystem:\n  allow_write: [""]\n  deny_read: ["/a/[b"]\n'
                   'network: {allowed_domains: ["*", "https://x.org"]}\n'
                   'security: {sandbox: {pool_size: 33, namespaces: [time], resources: {memory: much}}}\n')
    second, good = policy('nonsense: 1\n'), policy('mode: auto\n')
    result = ringwall('policy', 'check', first, good, second)
    places = re.findall(r'^(\S+?):(\d+):(\d+): error: ', result.stderr, re.M)
    assert [(name, int(line)) for name, line, _ in places] == [
        (first, 1), (first, 3), (first, 4), (first, 5), (first, 5), (first, 6), (first, 6), (first, 6), (second, 1)]
    assert result.returncode == RINGWALL_FAILED
    assert result.stdout == f'{good}: ok\n'


@pytest.mark.parametrize('text, expected', [
    ('secuirty: {}', "did you mean 'security'?"),
    ('level: strict', 'it belongs at security.sandbox.level'),
    ('security: {sandbox: {level: stict}}', "did you mean 'strict'?"),
    ('security: {sandbox: {pool_size: 0}}', 'a whole number from 1 to 32'),
    ('security: {sandbox: {pool_max: 65}}', 'a whole number from 1 to 64'),
    ('security: {sandbox: {session_timeout: 59}}', 'at least 1m'),
    ('security: {sandbox: {idle_timeout: 29}}', 'at least 30s'),
    ('security: {sandbox: {allow_paths: /data}}', 'expected a list'),
    ('tools: {modules: {mcp: {config: {servers: {github: {command: npx}}}}}}', "'github' has no sandbox block"),
    ('filesystem: {deny_read: [-shh]}', "did you mean '-ssh'?"),
    ('filesystem: {deny_read: ["{home}/x"]}', '{home} is not known'),
    ('filesystem: {deny_read: ["{ad-hoc}/x"]}', 'has no value here'),
    ('network: {allowed_domains: ["*.com"]}', 'top-level domain'),
    ('network: {publish: [0]}', 'a whole number from 1 to 65535'),
    ('network: {publish: [3128]}', 'port 3128 is taken in the box'),
    ('network: {allow_local_ports: [3000], publish: [3000]}', 'allow_local_ports forwards it to the host'),
    ('network: {allow_privat: [a.org]}', "did you mean 'allow_private'?"),
    ('network: {unix_sockets: ["/run/*"]}', 'a pattern cannot be granted'),
    ('mode: auto\nmode: auto', 'given twice'),
    ('a: [', 'flow'),
    ('\tmode: auto', 'tab'),
])
def test_message_says_what_is_expected(ringwall, policy, text, expected):
    result = ringwall('policy', 'check', policy(text + '\n'))
    assert result.returncode == RINGWALL_FAILED
    assert expected in result.stderr
    assert re.match(r'p1\.yaml:\d+:\d+: error: ', result.stderr)


def test_command_without_the_permission_to_execute_is_a_warning(ringwall, policy):
    name = policy(server('{command: x, sandbox: {permissions: [fs.read]}}'))
    result = ringwall('policy', 'check', name)
    assert (result.returncode, result.stdout) == (0, f'{name}: ok\n')
    assert 'warning' in result.stderr and 'process.exec' in result.stderr


def test_json_output_has_the_same_messages(check, policy):
    name, good = policy('mode: fast\nlevle: 1\n'), policy('')
    answer, status = check(name, good)
    assert status == RINGWALL_FAILED
    assert answer['ok'] is False
    assert answer['files'] == [{'file': name, 'ok': False}, {'file': good, 'ok': True}]
    first, second = answer['messages']
    assert first == {'severity': 'error', 'file': name, 'line': 1, 'column': 7, 'message': first['message'],
                     'hint': first['hint']}
    assert 'accept-edits' in first['hint'] and 'fast' in first['message']
    assert (second['line'], second['column']) == (2, 1)
    assert check(good) == ({'ok': True, 'files': [{'file': good, 'ok': True}], 'messages': []}, 0)


def test_show_reports_mistakes_in_json_too(ringwall, policy):
    result = ringwall('policy', 'show', '--json', '--policy', policy('mode: fast\n'))
    answer = json.loads(result.stdout)
    assert result.returncode == RINGWALL_FAILED
    assert answer['ok'] is False and answer['messages'][0]['line'] == 1


def test_bad_file_after_one_with_very_many_mistakes_is_still_reported(check, policy):
    very_bad = policy(''.join(f'k{i}: 1\n' for i in range(60)))
    bad = policy('nonsense: 1\n')
    answer, status = check(very_bad, bad)
    assert status == RINGWALL_FAILED
    assert answer['files'] == [{'file': very_bad, 'ok': False}, {'file': bad, 'ok': False}]


def test_file_that_is_given_twice_gets_two_verdicts(check, policy):
    name = policy('nonsense: 1\n')
    answer, status = check(name, name)
    assert status == RINGWALL_FAILED
    assert [file['ok'] for file in answer['files']] == [False, False]


@pytest.mark.parametrize('shift', range(4))
def test_messages_with_long_names_are_not_lost_in_json(check, policy, shift):
    answer, _ = check(policy(f'{"a" * shift}{"é€" * 300}: 1\nmode: {"a" * shift}{"é€" * 300}\n'))
    assert len(answer['messages']) == 2


# The plan.

@pytest.mark.quick
def test_default_plan_says_where_each_rule_comes_from(ringwall, show, workspace, home):
    plan = show()
    assert plan['workspace'] == str(workspace) and plan['home'] == str(home)
    assert str(workspace) in rules(plan, 'write')
    assert f'{home}/.ssh' not in rules(plan, 'read')
    assert all(rule['source'] for rule in plan['rules'])
    assert plan['hosts'] == [] and plan['allow_network']['value'] is True     # for the box's own loopback
    assert show() == plan
    text = ringwall('policy', 'show').stdout
    assert f'Plan for {workspace}' in text and 'no network' in text


def test_show_prints_each_value_of_the_plan_once_and_below_its_heading(ringwall):
    """The headings once had ranges of an enum, and printed other values after the enum's order had changed."""
    plan = json.loads(ringwall('policy', 'show', '--json').stdout)
    values = set(list(plan)[1:list(plan).index('workspace')])
    text = ringwall('policy', 'show').stdout
    shown = {}
    for heading, until in (('Walls', 'Sessions'), ('Sessions', 'Limits'), ('Limits', 'Files')):
        part = text.split(f'\n{heading}\n')[1].split(f'\n{until}\n')[0]
        shown[heading] = re.findall(r'^  (\w+) ', part, re.M)
    assert sorted(sum(shown.values(), [])) == sorted(values)
    assert shown['Limits'] == ['timeout', 'memory', 'cpu', 'processes']
    assert {'pool_size', 'session_timeout', 'audit'} <= set(shown['Sessions'])
    assert {'level', 'namespaces', 'allow_exec'} <= set(shown['Walls'])


def test_flags_become_part_of_the_plan(show, workspace, home):
    plan = show('--level', 'maximum', '--ro', '/data/repo?', '--rw', 'out/../made?', '--deny-read', 'hidden',
                '--deny-write', '~/keep', '--allow-domain', 'Example.COM', '--allow-domain', '*.example.com:8443',
                '--memory', '1.5GiB', '--cpu', '50%', '--processes', '7', '--timeout', '1h30m', '--env', 'A=b',
                '--env', 'C', '--best-effort', '--read', 'broad')
    assert plan['level'] == {'value': 'maximum', 'source': '--level'}
    assert source_of(plan, '/data/repo') == '--ro'
    assert source_of(plan, workspace / 'made') == '--rw'
    assert {str(workspace / 'hidden')} <= set(rules(plan, 'deny_read')) and f'{home}/keep' in rules(plan, 'deny_write')
    assert [host['host'] for host in plan['hosts']] == ['example.com', '*.example.com:8443']
    assert (plan['memory']['value'], plan['cpu']['value'], plan['processes']['value'], plan['timeout']['value']) == \
        (1610612736, 500, 7, 5400)
    assert [env for env in plan['env'] if env['name'] in 'AC'] == [
        {'name': 'A', 'value': 'b', 'source': '--env'}, {'name': 'C', 'source': '--env'}]


@pytest.mark.parametrize('flags, expected', [
    (['--memory', 'much'], '--memory'), (['--cpu', '0'], '--cpu'), (['--allow-domain', '*'], '--allow-domain'),
    (['--env', '=x'], '--env'), (['--deny-read', '{x}'], '--deny-read'), (['--ro', ''], '--ro'),
    (['--timeout', '0'], '--timeout'), (['--workspace', '/'], '--workspace'), (['--workspace', 'missing'], 'missing'),
    (['--processes', '-1'], '--processes'),
])
def test_flag_with_an_invalid_value_is_named(ringwall, flags, expected):
    result = ringwall('policy', 'show', *flags)
    assert (result.returncode, result.stdout) == (RINGWALL_FAILED, '')
    assert expected in result.stderr


@pytest.mark.parametrize('flag', [
    '--ro', '--rw', '--deny-read', '--allow-domain', '--env', '--workspace', '--policy', '--settings', '--ceiling',
])
def test_flag_that_is_not_utf8_is_refused_and_escaped_in_the_message(ringwall, workspace, flag):
    (workspace / 'x').mkdir()
    value = b'x\xff\x1b[2J'
    os.mkdir(os.fsencode(workspace) + b'/' + value)
    result = ringwall('policy', 'show', flag, value)
    assert result.returncode == RINGWALL_FAILED
    assert_no_control_characters(result)


def test_no_rule_is_lost_when_a_name_is_not_utf8(ringwall, workspace):
    name = b'p\xff.yaml'
    with open(os.fsencode(workspace) + b'/' + name, 'wb') as file:
        file.write(b'filesystem: {deny_read: [/srv]}\n')
    result = ringwall('policy', 'show', '--json', '--policy', name)
    if result.returncode == 0:
        plan = json.loads(result.stdout)
        assert '/srv' in rules(plan, 'deny_read')
        assert any('yaml' in path for path in rules(plan, 'protect'))
    else:
        assert result.returncode == RINGWALL_FAILED and 'UTF-8' in result.stderr + result.stdout
    answer = ringwall('policy', 'check', '--json', name)
    assert len(json.loads(answer.stdout)['files']) == 1


@pytest.mark.parametrize('home_value', ['/', None, '', 'relative', '/nonexistent'])
def test_unusual_home_makes_no_broken_rules(show, home_value):
    plan = show(env={'HOME': home_value})
    assert '/' not in rules(plan)
    assert not any('//' in path or path.endswith('/') for path in rules(plan))


def test_relative_workdir_is_relative_to_the_policy_file(show, policy, workspace):
    (workspace / 'conf/project').mkdir(parents=True)
    name = policy('runtime: {workdir: ./project}\n', 'conf/policy.yaml')
    assert show('--policy', name)['workspace'] == f'{workspace}/conf/project'
    assert show('--policy', workspace / name, cwd='/')['workspace'] == f'{workspace}/conf/project'
    assert show('--policy', workspace / name, '--workspace', '.')['workspace'] == str(workspace)


def test_missing_workdir_is_reported_with_its_position(ringwall, policy):
    result = ringwall('policy', 'show', '--policy', policy('runtime:\n  workdir: ./gone\n'))
    assert result.returncode == RINGWALL_FAILED
    assert 'p1.yaml:2:12' in result.stderr and 'gone' in result.stderr


def test_settings_of_srt_are_recognised_and_can_be_used(check, show, workspace):
    (workspace / 'srt.json').write_text(
        '{"filesystem": {"allowWrite": ["."], "denyRead": ["x"]}, "network": {"allowedDomains": []}}')
    (workspace / 'bad.json').write_text('{"filesystem": {"allowWrite": ["."], "denyReed": []}}')
    assert check('srt.json')[0]['ok']
    answer, status = check('bad.json')
    assert status == RINGWALL_FAILED and 'denyRead' in answer['messages'][0]['hint']
    assert f'{workspace}/x' in rules(show('--settings', 'srt.json'), 'deny_read')


def test_plan_shows_what_a_ceiling_cut_and_which_line_did(ringwall, show, policy):
    own = policy('security: {sandbox: {allow_paths: ["/srv:rw"]}}\nnetwork: {allowed_domains: [a.org, b.org]}\n')
    ceiling = policy('filesystem: {allow_write: ["{workspace}"], deny_read: [/srv/no]}\n'
                     'network: {allowed_domains: [b.org]}\n'
                     'security: {sandbox: {resources: {memory: 1GiB}}}\n')
    plan = show('--policy', own, '--ceiling', ceiling)
    cuts = {cut['what'].split(' (')[0]: (cut['result'], cut['by']) for cut in plan['cuts']}
    assert cuts['write /srv'] == ('read-only', f'{ceiling}:1:28')
    assert cuts['host a.org'] == ('removed', f'{ceiling}:2:29')
    assert cuts['memory no limit'][0] == '1GiB'
    assert source_of(plan, '/srv/no') == f'{ceiling}:1:56'
    text = ringwall('policy', 'show', '--policy', own, '--ceiling', ceiling).stdout
    assert 'Cut by a ceiling' in text and 'a.org' in text and f'{ceiling}:2:29' in text


def test_flags_set_the_network_and_a_ceiling_cuts_it(ringwall, show, policy, workspace):
    flags = ['--allow-domain', 'db.lan:5432', '--allow-private', 'db.lan', '--allow-local-port', '6379',
             '--allow-local-port', '11434', '--publish', '3000', '--unix-socket', 'agent.sock']
    plan = show(*flags)
    assert plan['private_hosts'] == [{'allow': True, 'host': 'db.lan', 'source': '--allow-private'}]
    assert plan['local_ports'] == [{'port': port, 'source': '--allow-local-port'} for port in (6379, 11434)]
    assert plan['published'] == [{'port': 3000, 'source': '--publish'}]
    assert plan['unix_sockets'] == [{'path': f'{workspace}/agent.sock', 'source': '--unix-socket'}]
    ceiling = policy('network: {allowed_domains: [db.lan], allow_local_ports: [6379], publish: []}\n')
    cut = show(*flags, '--ceiling', ceiling)
    assert (cut['hosts'], [entry['port'] for entry in cut['local_ports']], cut['published']) == ([], [6379], [])
    assert [entry['what'].split(' (')[0] for entry in cut['cuts']] == [
        'host db.lan:5432', 'local port 11434', 'published port 3000']
    text = ringwall('policy', 'show', *flags).stdout
    for line in ('allow   db.lan:5432', 'private db.lan', 'local   6379', 'publish 3000',
                 f'socket  {workspace}/agent.sock'):
        assert f'\n  {line} ' in text


def test_private_host_that_is_not_allowed_is_a_warning(ringwall, policy):
    name = policy('network: {allow_private: [a.org]}\n')
    result = ringwall('policy', 'check', name)
    assert (result.returncode, result.stdout) == (0, f'{name}: ok\n')
    assert "p1.yaml:1:27: warning: 'a.org' is in network.allow_private but not allowed" in result.stderr


# Policies in the workspace.

@pytest.mark.parametrize('name', ['ringwall.yaml', '.ringwall.yaml', 'policy.yaml', '.config/ringwall/policy.yaml'])
def test_policy_in_the_workspace_is_not_used_until_named(ringwall, show, policy, workspace, name):
    policy('security: {sandbox: {allow_paths: ["/srv:rw"]}}\n', name)
    assert '/srv' not in rules(show())
    named = show('--policy', name)
    assert '/srv' in rules(named, 'write')
    assert f'{workspace}/{name}' in rules(named, 'protect')
    if 'ringwall.yaml' in name:
        assert 'not used' in ringwall('policy', 'show').stderr
        assert 'not used' not in ringwall('policy', 'show', '--policy', name).stderr


def test_policy_in_use_is_protected_under_each_of_its_paths(show, workspace, policy):
    policy('mode: auto\n', 'real/policy.yaml')
    (workspace / 'link.yaml').symlink_to('real/policy.yaml')
    (workspace / 'dir').symlink_to('real')
    assert {f'{workspace}/link.yaml', f'{workspace}/real/policy.yaml'} <= \
        set(rules(show('--policy', 'link.yaml'), 'protect'))
    assert {f'{workspace}/dir/policy.yaml', f'{workspace}/real/policy.yaml'} <= \
        set(rules(show('--policy', './dir//policy.yaml'), 'protect'))
    assert f'{workspace}/real/policy.yaml' in rules(show('--ceiling', 'real/policy.yaml'), 'protect')


def test_path_of_a_policy_that_does_not_exist_yet_is_protected(show, workspace):
    """Otherwise an agent could write the policy that the next run reads as the person's own."""
    plan = show(env={'XDG_CONFIG_HOME': f'{workspace}/conf'})
    assert {f'{workspace}/conf/ringwall', f'{workspace}/conf/ringwall/policy.yaml'} & set(rules(plan, 'protect'))


# Several policies, in a mount namespace with its own /etc.

@pytest.fixture
def run_with_etc(build, home, workspace, tmp_path):
    """Runs ringwall with these files in /etc/ringwall: run_with_etc({'policy.yaml': …}, 'policy', 'show', …)."""
    namespace = ['unshare', '-m'] if os.geteuid() == 0 else ['unshare', '-Urm']
    if subprocess.run([*namespace, 'true'], capture_output=True).returncode:
        namespace = ['unshare', '-Urm']
    probe = subprocess.run([*namespace, 'mount', '-t', 'tmpfs', 'tmpfs', '/etc'], capture_output=True, text=True)
    if probe.returncode:
        pytest.skip(f'no mount namespace can be made here: {probe.stderr.strip()}')

    def run(files, *arguments, env=None):
        etc = tmp_path / 'etc'
        (etc / 'ringwall').mkdir(parents=True, exist_ok=True)
        for name, text in files.items():
            (etc / 'ringwall' / name).write_text(text)
        command = f'mount --bind {shlex.quote(str(etc))} /etc && exec "$@"'
        variables = {'HOME': str(home), 'PATH': '/usr/bin:/bin:/usr/sbin:/sbin', 'LANG': 'C.UTF-8', **(env or {})}
        return subprocess.run([*namespace, 'sh', '-c', command, 'sh', build / 'ringwall', *arguments], env=variables,
                              cwd=workspace, capture_output=True, text=True, timeout=60)
    return run


def plan_of(result):
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)


def test_later_files_override_earlier_ones_and_flags_override_files(run_with_etc, home, policy):
    own = home / '.config/ringwall/policy.yaml'
    own.parent.mkdir(parents=True)
    own.write_text('security: {sandbox: {pool_size: 3, pool_max: 13, idle_timeout: 33, allow_paths: [/srv/user]}}\n')
    named = policy('security: {sandbox: {pool_max: 14, idle_timeout: 34, allow_paths: [/srv/named]}}\n')
    later = policy('security: {sandbox: {idle_timeout: 35}}\nruntime: {timeout: 5}\n')
    etc = ('mode: auto\nsecurity: {sandbox: {pool_size: 2, pool_max: 12, idle_timeout: 32, session_timeout: 62, '
           'allow_paths: [/srv/etc]}}\nruntime: {timeout: 4}\n')
    plan = plan_of(run_with_etc({'policy.yaml': etc}, 'policy', 'show', '--json', '--timeout', '6', '--policy', named,
                                '--policy', later))
    got = {key: (plan[key]['value'], plan[key]['source'].split(':')[0]) for key in
           ('mode', 'session_timeout', 'pool_size', 'pool_max', 'idle_timeout', 'timeout')}
    assert got == {'mode': ('auto', '/etc/ringwall/policy.yaml'), 'session_timeout': (62, '/etc/ringwall/policy.yaml'),
                   'pool_size': (3, str(own)), 'pool_max': (14, named), 'idle_timeout': (35, later),
                   'timeout': (6, '--timeout')}
    assert {'/srv/etc', '/srv/user', '/srv/named'} <= set(rules(plan, 'read'))


def test_xdg_config_home_moves_the_persons_policy_if_it_is_absolute(run_with_etc, home):
    other = home / 'conf/ringwall/policy.yaml'
    other.parent.mkdir(parents=True)
    other.write_text('mode: auto\n')
    for config, mode in (f'{home}/conf', 'auto'), ('conf', 'accept-edits'):
        plan = plan_of(run_with_etc({}, 'policy', 'show', '--json', env={'XDG_CONFIG_HOME': config}))
        assert plan['mode']['value'] == mode


@pytest.mark.quick
def test_machines_ceiling_cuts_policies_flags_and_other_ceilings(run_with_etc, policy):
    ceiling = {'ceiling.yaml': 'filesystem: {allow_write: ["{workspace}"]}\nnetwork: {allowed_domains: [a.org]}\n'
                               'security: {sandbox: {level: strict, resources: {memory: 1GiB}}}\nmode: accept-edits\n',
               'policy.yaml': 'mode: auto\n'}
    named = policy('security: {sandbox: {level: off, allow_paths: ["/srv:rw"]}}\n')
    wide = policy('filesystem: {allow_write: [/]}\n')
    plan = plan_of(run_with_etc(ceiling, 'policy', 'show', '--json', '--policy', named, '--rw', '/opt',
                                '--allow-domain', 'b.org', '--allow-domain', 'a.org', '--memory', '8GiB',
                                '--ceiling', wide))
    assert [plan[key]['value'] for key in ('level', 'mode', 'memory')] == ['strict', 'accept-edits', 1 << 30]
    assert [host['host'] for host in plan['hosts']] == ['a.org']
    assert not {'/srv', '/opt', '/'} & set(rules(plan, 'write'))
    assert {cut['by'].rsplit(':', 2)[0] for cut in plan['cuts']} == {'/etc/ringwall/ceiling.yaml'}


@pytest.mark.parametrize('text', ['levle: strict\n', 'runtime: {workdir: /srv}\n', 'a: [\n', '\0'])
def test_invalid_ceiling_of_the_machine_is_an_error(run_with_etc, text):
    result = run_with_etc({'ceiling.yaml': text}, 'policy', 'show', '--json')
    assert result.returncode == RINGWALL_FAILED
    assert json.loads(result.stdout)['messages'][0]['file'] == '/etc/ringwall/ceiling.yaml'


# The schema.

@pytest.fixture
def schema(ringwall):
    result = ringwall('policy', 'schema')
    assert (result.returncode, result.stderr) == (0, '')
    return json.loads(result.stdout)


@pytest.fixture
def valid(schema):
    yaml = pytest.importorskip('yaml', reason='the tests read policies with PyYAML')
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)

    def is_valid(text):
        # As in ringwall's parser, every plain word is a string, except for numbers, true, false and null.
        class Loader(yaml.SafeLoader):
            pass
        Loader.yaml_implicit_resolvers = {}
        for tag, pattern, first in (('bool', r'true|false', 'tf'), ('int', r'[0-9]+', '0123456789'),
                                    ('float', r'[0-9]+\.[0-9]+', '0123456789'), ('null', r'null|', ['n', ''])):
            Loader.add_implicit_resolver(f'tag:yaml.org,2002:{tag}', re.compile(f'^(?:{pattern})$'), first)
        document = yaml.load(text, Loader)
        return validator.is_valid({} if document is None else document)
    return is_valid


def test_schema_and_check_accept_the_golden_policies(valid, check, repo):
    files = sorted((repo / 'tests/golden').glob('*.yaml'))
    assert len(files) >= 13
    for file in files:
        assert valid(file.read_text()), file
    answer, status = check(*map(str, files))
    assert (answer['ok'], status) == (True, 0)


INVALID = [
    'mode: fast', 'unknown: 1', '[]', 'security: {sandbox: {levle: strict}}', 'security: {sandbox: {level: on}}',
    'security: {sandbox: {pool_size: 0}}', 'security: {sandbox: {pool_size: 33}}',
    'security: {sandbox: {pool_max: 65}}', 'security: {sandbox: {pool_size: two}}',
    'security: {sandbox: {session_timeout: 59}}', 'security: {sandbox: {idle_timeout: 29}}',
    'security: {sandbox: {audit: yes}}', 'security: {sandbox: {namespaces: [time]}}',
    'security: {sandbox: {allow_paths: /x}}', 'security: {sandbox: {allow_paths: [""]}}',
    'security: {sandbox: {allow_paths: [[/x]]}}', 'security: strict',
    'security: {sandbox: {resources: {memory: much}}}', 'security: {sandbox: {resources: {cpu: -1}}}',
    'security: {sandbox: {resources: {processes: 0}}}', 'security: {sandbox: {resources: {disk: 1}}}',
    'network: {allowed_domains: ["https://a.org"]}', 'network: {allowed_domains: [a b]}',
    'network: {allow_local_ports: [0]}', 'network: {allow_local_ports: [65536]}', 'network: {publish: [http]}',
    'network: {publish: 3000}', 'network: {proxy_variables: 1}', 'network: {unix_sockets: [""]}',
    'network: {unix_sockets: /run/x}', 'network: {allow_private: [a b]}',
    'network: {allowed_domains: a.org}', 'filesystem: {read: all}', 'filesystem: {allow_read: [/x]}',
    'runtime: {env: [1A]}', 'runtime: {timeout: soon}', 'tools: {modules: {shell: {x: 1}}}',
    'tools: {modules: {bash: {}}}', 'tools: {capabilities: {grant: [root]}}',
    'tools: {modules: {mcp: {config: {servers: {s: {command: x}}}}}}',
    'tools: {modules: {mcp: {config: {servers: {s: {sandbox: {permissions: [fs]}}}}}}}',
    'tools: {modules: {mcp: {config: {servers: {s: {transport: tcp, sandbox: {}}}}}}}',
]


@pytest.mark.parametrize('text', INVALID)
def test_schema_and_check_refuse_invalid_policies(valid, check, policy, text):
    assert not valid(text)
    assert check(policy(text))[1] == RINGWALL_FAILED


VALID = [
    '', 'mode: auto', 'security: ', 'security: {sandbox: {allow_paths: }}', 'tools: {modules: {shell: }}',
    'filesystem: {protect: []}', 'security: {sandbox: {resources: {memory: 1073741824, cpu: 0.5}}}',
    'security: {sandbox: {resources: {memory: 1.5 GiB, cpu: "150%"}}}',
    'security: {sandbox: {resources: {cpu: 2 cores}}}',
    'security: {sandbox: {session_timeout: 1h30m, idle_timeout: 10 min}}', 'runtime: {env: [A, A=b c, _=]}',
    'network: {allowed_domains: [+github, -ghcr.io, "*.a.org:1", bücher.example]}',
    'network: {allowed_domains: ["a.org:22"], allow_private: [a.org], proxy_variables: false}',
    'network: {allow_local_ports: [2, 65535], publish: [3000], unix_sockets: [~/agent.sock, x]}',
    'filesystem: {deny_read: [-ssh, "**/x?", "[a-z]"]}', 'security: {sandbox: {level: off}}',
    'tools: {modules: {mcp: {config: {servers: {s: {command: [a, b], args: [1, true], env: {A: 1}, sandbox: }}}}}}',
    'tools: {modules: {mcp: {config: {servers: {s: {command: a b, sandbox: {permissions: ["fs.*"]}}}}}}}',
]


@pytest.mark.parametrize('text', VALID)
def test_schema_and_check_accept_valid_policies(valid, check, policy, text):
    answer, status = check(policy(text + '\n'))
    assert status == 0, answer
    assert valid(text)


def schema_maps(node, path=()):
    """Every map of the schema: its path, and its keys; "*" stands for a key that users choose."""
    known = dict(node.get('properties', {}))
    if isinstance(node.get('additionalProperties'), dict):
        known['*'] = node['additionalProperties']
    if known:
        yield path, known
        for name, child in known.items():
            yield from schema_maps(child, (*path, name))


def nest(path, value):
    for name in reversed(path):
        value = {'any_name' if name == '*' else name: value}
    return value


def test_schema_has_exactly_the_keys_that_the_checker_knows(schema, check, policy):
    count = 0
    for path, known in schema_maps(schema):
        if '*' in known:
            continue
        answer, _ = check(policy(json.dumps(nest(path, {'zzzzzzzzzzzz': 1}))))
        hint = next(message['hint'] for message in answer['messages'] if 'zzzzzzzzzzzz' in message['message'])
        assert set(hint.removeprefix('known here:').replace(',', ' ').split()) == set(known), path
        count += len(known)
    assert count > 50


def leaves(schema):
    for path, known in schema_maps(schema):
        for name, child in known.items():
            if 'properties' not in child:
                yield (*path, name), child


def test_schema_and_checker_have_the_same_words_and_bounds(schema, check, policy):
    """Both accept the values at the bounds, and both refuse those one step beyond."""
    good, bad = [], []
    for path, leaf in leaves(schema):
        listed = leaf.get('items')
        value = listed or next((option for option in leaf.get('anyOf', []) if 'minimum' in option), leaf)

        def wrap(item):
            return nest(path, [item] if listed else item)
        good += [wrap(word) for word in value.get('enum', [])]
        bad += [wrap(f'{word}x') for word in value.get('enum', [])]
        if 'minimum' in value:
            good += [wrap(value['minimum']), wrap(value['maximum'])]
            bad += [wrap(value['minimum'] - 1), wrap(value['maximum'] + 1)]
        if value.get('type') == 'boolean':
            good += [wrap(True), wrap(False)]
            bad += [wrap('yes'), wrap(1)]
    assert len(good) > 60 and len(bad) > 60
    validator = jsonschema.Draft202012Validator(schema)
    for document, expected in [(document, True) for document in good] + [(document, False) for document in bad]:
        answer, _ = check(policy(json.dumps(document), 'edge.yaml'))
        refused = any(message.get('hint', '').startswith('expected') for message in answer['messages'])
        if 'servers' not in json.dumps(document):
            assert validator.is_valid(document) == expected, document
        assert refused != expected, (document, answer)   # messages about two keys have another hint


# No side effects.

def test_policy_verbs_change_no_file(ringwall, home, workspace, policy):
    name = policy('mode: auto\n')
    before = {path: (path.lstat().st_mtime_ns, stat.S_IFMT(path.lstat().st_mode)) for path in home.rglob('*')}
    ringwall('policy', 'check', name)
    ringwall('policy', 'show', '--policy', name)
    ringwall('policy', 'schema')
    assert {path: (path.lstat().st_mtime_ns, stat.S_IFMT(path.lstat().st_mode)) for path in home.rglob('*')} == before
