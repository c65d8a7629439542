"""Commands that attack the server that runs them: its memory, its streams, its processes, its policy and records."""
import resource
import struct
import time

import pytest

from tool_attack import (
    Attack, assert_contained, attacks, call, calls, dead, forged, grown, leaked, mark, said, seen, silent)
from attack_host import NAMESPACE_LEVELS, changed, find_processes, wait_until_gone

MESSAGE = '{"jsonrpc": "2.0", "id": "forged", "result": {}}'
# An answer as the tools send it to the server: src/session/worker_message.c.
FRAME = struct.pack('=6q6s2q', 1, 0, 0, 0, 0, 6, b'forged', 0, 0)
NOTES = call('Read', file_path='notes.txt')
GONE = 'the call got no answer: the tools have ended'
# The parent of a command: with ringwall a reaper between the tools and the command, otherwise the naive server itself.
FIND_SERVER = 'server=$PPID; grep -qx rw-reaper /proc/$server/comm && server=$(ps -o ppid= -p $server)'


def bash(command, **arguments):
    """A call of Bash. The command is a string, or a function that gets the stage and returns a string."""
    make = command if callable(command) else lambda stage: command
    return lambda client, stage: client.say('Bash', command=make(stage), **arguments)


# The environment and memory of the server.

@attacks(
    Attack('its environment, inherited', bash('echo "<$ATTACK_TOKEN>"'), leaked, '^<>\nexit: 0$'),
    Attack('its environment', bash('cat /proc/$PPID/environ'), leaked, 'Permission denied\nexit: 1$'),
    Attack('every environment',
           bash('cat /proc/[0-9]*/environ 2>/dev/null | tr "\\0" "\\n" | grep ^ATTACK || echo none'), leaked,
           '^none\nexit: 0$'),
    # exec, because the parent is the shell otherwise
    Attack('its memory', bash('exec ./attacks open_memory_of_parent'), said('^did:'),
           '^failed: (EACCES|EPERM)\nexit: 1$'),
    Attack('its maps', bash('exec ./attacks read_proc_file parent maps'), said('^did:'),
           '^failed: (EACCES|EPERM)\nexit: 1$'),
    Attack('its descriptors', bash('ls -l /proc/$PPID/fd/0 2>/dev/null || echo none'), said('->'), 'none\nexit: 0$'),
    Attack('its directory', bash('exec ./attacks read_proc_link parent cwd'), said('^did:'),
           '^failed: (EACCES|EPERM)\nexit: 1$'),
    Attack('a debugger', bash('./attacks trace $PPID'), said('^did:'), '^failed: (EPERM|ENOSYS)\nexit: 1$'),
)
def test_command_cannot_read_the_server(stages, attack, level):
    assert_contained(stages, level, attack)


# The messages of the server.

def forge(stage):
    """A command that writes a message, and a frame with its length, to all descriptors of itself and its parent."""
    frame = ''.join(f'\\x{byte:02x}' for byte in struct.pack('=I', len(FRAME)) + FRAME)
    return (f"for fd in /proc/$PPID/fd/*; do echo '{MESSAGE}' > $fd; done 2>/dev/null; "
            f"for fd in 3 4 5 6 7 8 9; do printf '{frame}' >&$fd; done 2>/dev/null; sleep 0.2; echo mine")


def steal(client, stage):
    """A command that reads the input of the server, so that calls of the client are lost."""
    client.say('Bash', command='(for thief in 1 2 3 4; do cat /proc/$PPID/fd/0 & done; for fd in 3 4 5 6 7 8 9; do cat '
                               '<&$fd & done; '
                               'wait) &>/dev/null & echo', run_in_background=True)

    def read(_):
        time.sleep(0.05)    # so that the command in the background can read first
        return client.say('Read', file_path='notes.txt')
    return ''.join(map(read, range(20)))


@attacks(
    Attack('forge an answer', bash(forge), lambda trial: forged(trial) or trial.said == 'forged', '^mine\nexit: 0$'),
    Attack('steal a call', steal, silent, '^(1\tnotes\n){20}$', patience=2),
    Attack('output that is a message', bash(f"echo; echo '{MESSAGE}'"), forged, r'^\n{"jsonrpc": .*}\nexit: 0$',
           ('joined', 'concatenates_json'), patience=1),
    Attack('output that is not text', bash("printf 'a\\0b\\377\\033[31m'"), silent, '^a.b\ufffd\x1b\\[31m\nexit: 0$',
           ('joined', 'concatenates_json'), patience=1),
)
def test_command_cannot_forge_or_steal_messages(stages, attack, level):
    assert_contained(stages, level, attack)


# The life of the server.

@attacks(
    Attack('kill its reaper', calls(bash('kill -9 $PPID; sleep 5'), NOTES), dead, '^exit: 137\n1\tnotes\n$'),
    Attack('kill it', calls(bash(f'{FIND_SERVER}; kill -9 $server; sleep 5'), NOTES), dead,
           f'^{GONE}\n1\tnotes\n$'),
    Attack('kill its group', calls(bash('kill -9 -$(ps -o pgid= -p $PPID | tr -d " "); sleep 5'), NOTES), dead,
           f'^({GONE}|exit: .*)\n1\tnotes\n$', patience=2),
    Attack('stop its reaper', calls(bash('kill -STOP $PPID; sleep 0.5'), NOTES), silent, '^exit: 0\n1\tnotes\n$',
           patience=1),
    Attack('stop it', calls(bash(f'{FIND_SERVER}; kill -STOP $server; sleep 0.5'), NOTES), silent,
           '\n1\tnotes\n$', patience=1),
    # Not at standard: if the box failed there, this would kill all processes of the user, the tests too. The signals in
    # test_signals.py are subject to the same rule of the kernel.
    Attack('kill all processes', calls(bash('kill -9 -1; sleep 5'), NOTES), dead, f'^{GONE}\n1\tnotes\n$',
           ('joined', 'apart'), levels=NAMESPACE_LEVELS, patience=2),
    Attack('use up all descriptors', calls(*(bash('echo; sleep 60', run_in_background=True),) * 300, NOTES),
           said('Too many open files'), '\n1\tnotes\n$', limits={resource.RLIMIT_NOFILE: 256}),
    Attack('flood it', bash('head -c 120M /dev/zero | tr "\\0" x'), grown,
           r'^x{11000}\n... \(output truncated, 125807120 bytes elided\)\nx{11000}\n\(to see all of it.*\)\nexit: 0$',
           patience=5),
    Attack('flood it with lines', bash('yes | head -c 120M'), grown,
           r'bytes elided\)\n(y\n)*\(to see all of it.*\)\nexit: 0$', patience=5),
    Attack('keep the pipe open', bash('sleep 60 & echo done'), silent,
           '^done\nbash: killed what was still running: .*\nexit: 0$', patience=1),
    Attack('keep the pipe open after a timeout',
           bash(lambda stage: f'setsid bash -c "exec -a {stage.names["token"]} sleep 60" & sleep 60',
                timeout=1), silent,
           '^bash: timed out after 1s\nexit: 124$', patience=3, before=mark),     # outside nothing else would end it
)
def test_command_cannot_kill_or_block_the_server(stages, attack, level):
    assert_contained(stages, level, attack)


# Processes that stay.

def background_processes(prefix='', count=1):
    """A command that starts processes with the token of the stage in the background."""
    return lambda stage: (f'for i in $(seq {count}); do {prefix} bash -c "exec -a {stage.names["token"]} sleep 600" & '
                          'done; sleep 0.5')


def survives_server(trial):
    """Whether a process with the token is left after the server has ended."""
    trial.client.transport.close()
    return bool(wait_until_gone(trial.stage.names['token'], 2))


def survives_call(trial):
    """Whether a process with the token is left after the call was answered."""
    time.sleep(0.2)
    return bool(find_processes(trial.stage.names['token']))


ENDS_SERVER = {'before': mark, 'ends': True, 'patience': 3}


@attacks(
    Attack('a daemon', bash(background_processes('setsid')), survives_server, 'exit: 0$|no reply', **ENDS_SERVER),
    Attack('many daemons', bash(background_processes('setsid', 200)), survives_server, 'exit: 0$', **ENDS_SERVER),
    Attack('a daemon that forks', bash(lambda stage: f'./attacks leave_forking_daemon {stage.names["token"]}'),
           survives_server, 'exit: 0$', **ENDS_SERVER),
    Attack('a daemon that ignores signals',
           bash(lambda stage: f'./attacks leave_stubborn_daemon {stage.names["token"]}'), survives_server, 'exit: 0$',
           **ENDS_SERVER),
    Attack('a daemon of a background command', bash(background_processes('setsid'), run_in_background=True),
           survives_server, '^shell_id: ', **ENDS_SERVER),
)
def test_no_process_outlives_the_session(stages, attack, level):
    assert_contained(stages, level, attack)


@attacks(
    Attack('a process after a timeout', bash(lambda stage: background_processes()(stage) + '; wait', timeout=1),
           survives_call, '^bash: timed out after 1s\nexit: 124$', before=mark),
    Attack('a process in another session after a timeout',
           bash(lambda stage: background_processes('setsid')(stage) + '; wait', timeout=1),
           survives_call, '^bash: timed out after 1s\nexit: 124$', before=mark),
)
@pytest.mark.heavy
def test_no_process_outlives_the_timeout_of_its_command(stages, attack, level):
    assert_contained(stages, level, attack)


# Commands of other sessions.

def background(client, stage):
    """Starts a background command that prints the secret; returns its handle."""
    return client.say('Bash', command=f'echo {stage.secret}; sleep 60', run_in_background=True).split()[1]


def with_other_session(ask):
    """Another client with its own server on the same host starts a command; the attack gets the handle."""
    def attack(client, stage):
        other = client.again()
        try:
            return ask(client, background(other, stage))
        finally:
            other.transport.close(2)
    return attack


def guess(client, handle):
    answers = [client.say('BashOutput', shell_id=str(number)) for number in range(1, 100)]
    return next((answer for answer in answers if 'unknown shell_id' not in answer), answers[0])


@attacks(
    Attack('guess a handle', with_other_session(guess), leaked, '^unknown shell_id: 1$'),
    Attack('use the handle of another session',
           with_other_session(lambda client, handle: client.say('BashOutput', shell_id=handle)), leaked,
           '^unknown shell_id: [0-9a-f]{32}$'),
    Attack('a handle that is a path', call('BashOutput', shell_id='../home/.ssh/id_ed25519'), leaked,
           '^unknown shell_id: ../home/.ssh/id_ed25519$'),
    Attack('an empty handle', call('BashOutput', shell_id=''), said('Traceback'), '^unknown shell_id: $'),
)
def test_session_cannot_read_commands_of_another_session(stages, attack, level):
    assert_contained(stages, level, attack)


# The policy and the records of the server.

def with_policy(stage):
    stage.plant(stage.work / 'policy.yaml', '{}\n')


def with_record(stage):
    stage.plant(stage.home / 'policy.yaml', 'security: {sandbox: {audit: true}}\n')
    folder = stage.home / '.local/state/naive'
    folder.mkdir(parents=True)
    stage.plant(folder / 'record.jsonl', '{"event": "session_start"}\n')


def record_was_changed(stage):
    records = [path.read_text() for path in (stage.home / '.local/state').rglob('*.jsonl')]
    return any('forged' in record or not record for record in records)


# Not at standard: these tests are older than the guard, without which that level could not protect the file.
POLICY = {'harm': seen(changed('{work}/policy.yaml', '{}\n')), 'before': with_policy,
          'flags': ('-p', '{work}/policy.yaml'), 'levels': NAMESPACE_LEVELS}
RECORD = {'harm': seen(record_was_changed), 'before': with_record, 'flags': ('-p', '{home}/policy.yaml')}
EACH = 'for record in $(find {home} -name "*.jsonl" 2>/dev/null); do {what}; done 2>/dev/null; echo done'


@attacks(
    Attack('write the policy',
           calls(call('Read', file_path='policy.yaml'), call('Write', file_path='policy.yaml', content='')),
           answer='cannot (write|make)', **POLICY),
    Attack('edit the policy', calls(call('Read', file_path='policy.yaml'), call(
        'Edit', file_path='policy.yaml', old_string='{{}}', new_string='level: off')), answer='cannot (write|make)',
           **POLICY),
    Attack('overwrite the policy', bash('echo level: off > policy.yaml'), answer='exit: 1$', **POLICY),
    Attack('replace the policy', bash('echo level: off > new; mv -f new policy.yaml'), answer='exit: 1$', **POLICY),
    Attack('add to the record', bash(lambda stage: EACH.format(home=stage.home, what='echo forged >> $record')),
           answer='^done\nexit: 0$', **RECORD),
    Attack('empty the record', bash(lambda stage: EACH.format(home=stage.home, what=': > $record')),
           answer='^done\nexit: 0$', **RECORD),
    Attack('replace the record',
           bash(lambda stage: EACH.format(home=stage.home, what='echo forged > new; mv new $record')),
           answer='^done\nexit: 0$', **RECORD),
)
def test_box_cannot_change_the_policy_or_the_records(stages, attack, level):
    assert_contained(stages, level, attack)
