"""The files of the MCP clients that `ringwall mcp install` and `ringwall mcp uninstall` know, for the tests of both."""
import json
import tomllib

# name: (the user's file, the project's file, the section, the keys of an entry)
CLIENTS = {
    'claude': ('.claude.json', '.mcp.json', 'mcpServers', {'type', 'command', 'args'}),
    'codex': ('.codex/config.toml', '.codex/config.toml', 'mcp_servers', {'command', 'args'}),
    'gemini': ('.gemini/settings.json', '.gemini/settings.json', 'mcpServers', {'command', 'args'}),
    'cursor': ('.cursor/mcp.json', '.cursor/mcp.json', 'mcpServers', {'type', 'command', 'args'}),
    'vscode': ('.config/Code/User/mcp.json', '.vscode/mcp.json', 'servers', {'type', 'command', 'args'}),
}

# name: (the user's file with the switches, the project's, the keys that lead to them)
SWITCHES = {
    'claude': ('.claude/settings.json', '.claude/settings.json', ('permissions', 'deny')),
    'codex': ('.codex/config.toml', '.codex/config.toml', ('features',)),
    'gemini': ('.gemini/settings.json', '.gemini/settings.json', ('tools', 'exclude')),
}
SWITCHED_OFF = {
    'claude': ['Bash', 'PowerShell', 'Monitor', 'Read', 'Edit', 'Write', 'NotebookEdit', 'Glob', 'Grep', 'LSP',
               'EnterWorktree', 'ExitWorktree', 'WebFetch', 'WebSearch'],
    'codex': {'shell_tool': False, 'unified_exec': False, 'view_image': False},
    'gemini': ['run_shell_command', 'list_background_processes', 'read_background_output', 'read_file',
               'read_many_files', 'write_file', 'replace', 'glob', 'grep_search', 'list_directory', 'web_fetch',
               'google_web_search'],
}

# Files with unusual formatting: every byte must be kept.
EXISTING = {
    'json': '{\n\t"theme" : "d\\u0061rk",\n\t"cost": 0.1, "big": 1E4,\n\t"SECTION": {\n\t\t"other": {"command": "o", '
            '"x": 1.50}\n'
            '\t},\n\t"z": [ ]\n}\n',
    'toml': '# mine\nmodel = "o"   # best\n\n[mcp_servers.other]\ncommand = \'o\'\nargs = [\n  "a",\n]\n\n[tui]\nx = '
            '1\n',
}


def parse(client, text):
    return tomllib.loads(text) if client == 'codex' else json.loads(text)


def entry_of(client, text, name='ringwall'):
    return parse(client, text)[CLIENTS[client][2]][name]


def existing(client):
    return EXISTING['toml' if client == 'codex' else 'json'].replace('SECTION', CLIENTS[client][2])


def names_of(client):
    """The names by which a client's own tools are switched off, as messages list them."""
    return ', '.join(SWITCHED_OFF[client])


def switches_of(client, text):
    value = parse(client, text)
    for key in SWITCHES[client][2]:
        value = value[key]
    return value


def find_path(files, home, workspace, scope='user'):
    """The path of one of these files; makes its directory."""
    path = home / files[0] if scope == 'user' else workspace / files[1]
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def neighbours(path):
    return sorted(entry.name for entry in path.parent.iterdir() if entry != path)


def file_calls(log):
    """The numbers of the calls that work on files, from the log of inject_fault."""
    calls = [line.split(' ', 3) for line in log.read_text().splitlines()]
    return [int(number) for _, number, name, *_ in calls if name in (
        'openat', 'openat2', 'read', 'write', 'fsync', 'fchmod', 'fchown', 'renameat2', 'unlinkat', 'close',
        'getrandom')]
