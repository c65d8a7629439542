// One session with a server, by one of the SDK's clients:
//   session.mjs v1|legacy|auto|modern COMMAND [ARG...]     over standard input and output
//   session.mjs v1|legacy|auto|modern http://ADDRESS/mcp   over HTTP, with the token in $TOKEN
// Prints what came back as JSON.
import { Client as OldClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport as OldStdio } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport as OldHttp } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { Client, StdioClientTransport, StreamableHTTPClientTransport } from './v2.mjs';

const [kind, command, ...args] = process.argv.slice(2);
const old = kind === 'v1';
const http = command.startsWith('http:');
const modes = { legacy: 'legacy', auto: 'auto', modern: { pin: '2026-07-28' } };
const identity = { name: 'test', version: '1' };
const client = old ? new OldClient(identity) : new Client(identity, { versionNegotiation: { mode: modes[kind] } });
const Http = old ? OldHttp : StreamableHTTPClientTransport;
const Stdio = old ? OldStdio : StdioClientTransport;
const transport = http
  ? new Http(new URL(command), { requestInit: { headers: { Authorization: `Bearer ${process.env.TOKEN}` } } })
  : new Stdio({ command, args });
const ask = (name, args, options) =>
  old ? client.callTool({ name, arguments: args }, undefined, options) : client.callTool({ name, arguments: args }, options);
const call = (name, args) => ask(name, args);
const result = {};

await client.connect(transport);
result.tools = (await client.listTools()).tools.map((tool) => tool.name);
result.write = await call('Write', { file_path: 'dir/f', content: 'one\ntwo\n' });
result.read = await call('Read', { file_path: 'dir/f' });
result.edit = await call('Edit', { file_path: 'dir/f', old_string: 'two', new_string: '2' });
result.glob = await call('Glob', { pattern: '**/f' });
result.grep = await call('Grep', { pattern: '2', output_mode: 'content' });
result.bash = await call('Bash', { command: 'cat dir/f; exit 3' });
result.outside = await call('Read', { file_path: '/etc/passwd' });
result.wrong = await call('Read', { path: 'dir/f' });
result.unknown = await call('Nothing', {}).then(() => 'answered', (error) => error.code);
result.many = (await Promise.all(Array.from({ length: 50 }, () => call('Read', { file_path: 'dir/f' })))).length;
result.slow = await call('Bash', { command: 'sleep 1.5; echo late' }); // over HTTP its answer is a stream by then

// A call that the client gives up: what it started ends.
const sleep = `sleep 4321.${process.pid}`;
const runs = async () => (await call('Bash', { command: `pgrep -fx '${sleep}'` })).structuredContent.exit_code === 0;
const changed = new AbortController();
const given = ask('Bash', { command: `${sleep}; echo > ended` }, { signal: changed.signal });
while (!(await runs()));
changed.abort('changed its mind');
result.given = await given.then(() => 'answered', () => 'given up');
while (await runs());
result.ended = (await call('Read', { file_path: 'ended' })).isError ? 'not to its end' : 'to its end';

// The end of a session, which modern clients do not have.
if (http && transport.sessionId) {
  result.session = transport.sessionId;
  await transport.terminateSession();
}
await client.close();
console.log(JSON.stringify(result));
