// Has one session with a server, with a client of one of the SDKs:
//   sdk_session.mjs v1|legacy|auto|modern COMMAND [ARG...]     over standard input and output
//   sdk_session.mjs v1|legacy|auto|modern http://ADDRESS/mcp   over HTTP, with the token in $TOKEN
// Prints the results as JSON.
import { Client as OldClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport as OldStdio } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport as OldHttp } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { Client, StdioClientTransport, StreamableHTTPClientTransport } from './sdk_v2_transport.mjs';

const [kind, command, ...args] = process.argv.slice(2);
const old = kind === 'v1';
const http = command.startsWith('http:');
const modes = { legacy: 'legacy', auto: 'auto', modern: { pin: '2026-07-28' } };
const identity = { name: 'test', version: '1' };
const client = old ? new OldClient(identity) : new Client(identity, { versionNegotiation: { mode: modes[kind] } });
const Http = old ? OldHttp : StreamableHTTPClientTransport;
const Stdio = old ? OldStdio : StdioClientTransport;
const transport = http
  ? new Http(new URL(command), {
      requestInit: { headers: { Authorization: `Bearer ${process.env.TOKEN}`, 'Ringwall-Session': 'sdk-session' } },
    })
  : new Stdio({ command, args });
const callTool = (name, args, options) =>
  old ? client.callTool({ name, arguments: args }, undefined, options) : client.callTool({ name, arguments: args }, options);
const call = (name, args) => callTool(name, args);
const result = {};

await client.connect(transport);
result.tools = (await client.listTools()).tools.map((tool) => tool.name);
result.write = await call('Write', { file_path: 'dir/f', content: 'one\ntwo\n' });
result.read = await call('Read', { file_path: 'dir/f' });
result.edit = await call('Edit', { file_path: 'dir/f', old_string: 'two', new_string: '2' });
result.glob = await call('Glob', { pattern: '**/f' });
result.grep = await call('Grep', { pattern: '2', output_mode: 'content' });
result.bash = await call('Bash', { command: 'cat dir/f; exit 3' });
result.outside = await call('Read', { file_path: '/root/none' });
result.wrong = await call('Read', { path: 'dir/f' });
result.unknown = await call('Nothing', {}).then(() => 'answered', (error) => error.code);
result.many = (await Promise.all(Array.from({ length: 50 }, () => call('Read', { file_path: 'dir/f' })))).length;
result.slow = await call('Bash', { command: 'sleep 1.5; echo late' }); // over HTTP the response is a stream by then

// The client cancels a call: the server kills the command.
const sleep = `sleep 4321.${process.pid}`;
const details = (result) => result._meta['ringwall/details'];
const isRunning = async () => details(await call('Bash', { command: `pgrep -fx '${sleep}'` })).exit_code === 0;
const canceller = new AbortController();
const pending = callTool('Bash', { command: `${sleep}; echo > ended` }, { signal: canceller.signal });
while (!(await isRunning()));
canceller.abort('changed its mind');
result.call = await pending.then(() => 'answered', () => 'cancelled');
while (await isRunning());
result.command = (await call('Read', { file_path: 'ended' })).isError ? 'killed' : 'completed';

// Ends the session; modern clients have none.
if (http && transport.sessionId) {
  result.session = transport.sessionId;
  await transport.terminateSession();
}
await client.close();
console.log(JSON.stringify(result));
