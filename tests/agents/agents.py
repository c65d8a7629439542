"""The agents: how each is told of a model server and of an MCP server, and how it spells a tool of that server.

Everything that an agent keeps is in a home directory of its own. All of them believe that HTTPS goes through a proxy,
which is the model server and refuses: no agent reaches a host, and none waits for one.
"""
import json
import os
import signal
import subprocess

SERVER = 'ringwall'     # the name of the MCP server in every configuration
PROMPT = 'Follow the script.'
KEY = 'not-a-key'


class Agent:
    """A program in `programs`, a folder of npm packages. `node` is a Node that is new enough for all of them."""
    name = None

    def __init__(self, programs, node):
        self.programs, self.node = programs, node

    def call(self, tool, arguments):
        """The call of a tool, as this agent's model writes it."""
        return f'mcp__{SERVER}__{tool}', arguments

    def configure(self, home, model, server):
        """Writes the configuration for the model server at the URL `model` and the MCP server with the command line
        `server`. Returns the agent's command line and its environment."""
        raise NotImplementedError

    def run(self, home, work, model, server, seconds=240):
        """Runs the agent with one prompt, to its end. Returns what it printed."""
        command, variables = self.configure(home, model, [str(word) for word in server])
        env = {'HOME': str(home), 'PATH': '/usr/local/bin:/usr/bin:/bin', 'LANG': 'C.UTF-8', 'TERM': 'dumb',
               'HTTPS_PROXY': model, 'NO_PROXY': '127.0.0.1', **variables}
        with subprocess.Popen([str(word) for word in command], cwd=work, env=env, stdin=subprocess.DEVNULL, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True) as process:
            try:
                output, errors = process.communicate(timeout=seconds)
            finally:
                kill_group(process.pid)
        assert process.returncode == 0, f'{self.name} ended with status {process.returncode}:\n{output}\n{errors}'
        return output + errors


def kill_group(group):
    try:
        os.killpg(group, signal.SIGKILL)
    except ProcessLookupError:
        pass


def write(path, value):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(value if isinstance(value, str) else json.dumps(value))


class Claude(Agent):
    """Claude Code. Without ENABLE_TOOL_SEARCH=false its model would first have to look for the tools."""
    name = 'claude'

    def configure(self, home, model, server):
        write(home / 'mcp.json', {'mcpServers': {SERVER: {'command': server[0], 'args': server[1:]}}})
        program = next(self.programs.glob('@anthropic-ai/claude-code-linux-*/claude'))
        return [program, '-p', PROMPT, '--mcp-config', home / 'mcp.json', '--strict-mcp-config',
                '--allowedTools', f'mcp__{SERVER}'], {
            'ANTHROPIC_BASE_URL': model, 'ANTHROPIC_API_KEY': KEY, 'ENABLE_TOOL_SEARCH': 'false',
            'CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC': '1', 'DISABLE_AUTOUPDATER': '1', 'DISABLE_TELEMETRY': '1'}


class Codex(Agent):
    """Codex, with a model that it does not know: such a model calls tools directly."""
    name, model_name = 'codex', 'scripted'

    def call(self, tool, arguments):
        return f'mcp__{SERVER}.{tool}', arguments

    def configure(self, home, model, server):
        write(home / '.codex/config.toml', f'''
model = "{self.model_name}"
model_provider = "scripted"
approval_policy = "never"
check_for_update_on_startup = false
[analytics]
enabled = false
[model_providers.scripted]
name = "scripted"
base_url = "{model}/v1"
wire_api = "responses"
env_key = "OPENAI_API_KEY"
[mcp_servers.{SERVER}]
command = {json.dumps(server[0])}
args = {json.dumps(server[1:])}
default_tools_approval_mode = "approve"
''')
        program = next(self.programs.glob('@openai/codex-linux-*/vendor/*/bin/codex'))
        return [program, 'exec', '--skip-git-repo-check', PROMPT], {
            'CODEX_HOME': str(home / '.codex'), 'OPENAI_API_KEY': KEY}


class CodexCode(Codex):
    """Codex with one of its newest models: they write programs that call tools, and see what these print."""
    name, model_name = 'codex-code', 'gpt-6.1-sol'

    def call(self, tool, arguments):
        return 'functions.exec', f'text(await tools.mcp__{SERVER}__{tool}({json.dumps(arguments)}))'


class Gemini(Agent):
    """Gemini CLI."""
    name = 'gemini'

    def call(self, tool, arguments):
        return f'mcp_{SERVER}_{tool}', arguments

    def configure(self, home, model, server):
        write(home / '.gemini/settings.json', {
            'mcpServers': {SERVER: {'command': server[0], 'args': server[1:], 'trust': True}},
            'security': {'auth': {'selectedType': 'gemini-api-key'}}, 'general': {'enableAutoUpdate': False},
            'privacy': {'usageStatisticsEnabled': False}, 'telemetry': {'enabled': False}})
        return [self.node, self.programs / '@google/gemini-cli/bundle/gemini.js', '--approval-mode', 'yolo',
                '-m', 'gemini-2.5-pro', '-p', PROMPT], {
            'GEMINI_API_KEY': KEY, 'GOOGLE_GEMINI_BASE_URL': model, 'GEMINI_CLI_TRUST_WORKSPACE': 'true'}


class Opencode(Agent):
    """opencode."""
    name = 'opencode'

    def call(self, tool, arguments):
        return f'{SERVER}_{tool}', arguments

    def configure(self, home, model, server):
        modalities = {'input': ['text', 'image'], 'output': ['text']}
        write(home / '.config/opencode/opencode.json', {
            'autoupdate': False, 'share': 'disabled', 'permission': 'allow',
            'model': 'local/scripted', 'small_model': 'local/scripted',
            'provider': {'local': {
                'npm': '@ai-sdk/openai-compatible', 'name': 'local',
                'options': {'baseURL': f'{model}/v1', 'apiKey': KEY},
                'models': {'scripted': {'name': 'scripted', 'tool_call': True, 'attachment': True,
                                        'modalities': modalities}}}},
            'mcp': {SERVER: {'type': 'local', 'command': server, 'enabled': True}}})
        return [next(self.programs.glob('opencode-linux-*/bin/opencode')), 'run', PROMPT], {
            'OPENCODE_DISABLE_AUTOUPDATE': '1', 'OPENCODE_DISABLE_MODELS_FETCH': '1',
            'OPENCODE_DISABLE_LSP_DOWNLOAD': '1'}


class Qwen(Agent):
    """Qwen Code, with the name of a model that it believes can see. With toolSearch the model would first have to look
    for the tools."""
    name = 'qwen'

    def configure(self, home, model, server):
        write(home / '.qwen/settings.json', {
            'mcpServers': {SERVER: {'command': server[0], 'args': server[1:], 'trust': True}},
            'security': {'auth': {'selectedType': 'openai'}}, 'general': {'enableAutoUpdate': False},
            'tools': {'toolSearch': {'enabled': False}}, 'memory': {'enableManagedAutoMemory': False},
            'privacy': {'usageStatisticsEnabled': False}, 'telemetry': {'enabled': False}})
        return [self.node, self.programs / '@qwen-code/qwen-code/cli.js', '--approval-mode', 'yolo', '-p', PROMPT], {
            'OPENAI_API_KEY': KEY, 'OPENAI_BASE_URL': f'{model}/v1', 'OPENAI_MODEL': 'qwen3-vl-plus'}


AGENTS = {agent.name: agent for agent in (Claude, Codex, CodexCode, Gemini, Opencode, Qwen)}
