// One session with a server, by one of the SDK's clients: session.mjs v1|legacy|auto|modern COMMAND [ARG...]
// Prints what came back as JSON.
import { Client as OldClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport as OldTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { Client, StdioClientTransport } from './v2.mjs';

const [kind, command, ...args] = process.argv.slice(2);
const modes = { legacy: 'legacy', auto: 'auto', modern: { pin: '2026-07-28' } };
const identity = { name: 'test', version: '1' };
const client = kind === 'v1' ? new OldClient(identity) : new Client(identity, { versionNegotiation: { mode: modes[kind] } });
const Transport = kind === 'v1' ? OldTransport : StdioClientTransport;
const call = (name, args) => client.callTool({ name, arguments: args });
const result = {};

await client.connect(new Transport({ command, args }));
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
await client.close();
console.log(JSON.stringify(result));
