// Measures several MCP servers alternately, with the SDK's client over stdio: bench.mjs RINGWALL STUB ROUNDS
// Prints JSON: for each server the median milliseconds of a Read call and of its start until it is initialized, and its
// memory.
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname } from 'node:path';

const [ringwall, stub, rounds] = process.argv.slice(2);
const folder = mkdtempSync(`${process.env.HOME}/bench-`);
const files = dirname(createRequire(import.meta.url).resolve('@modelcontextprotocol/server-filesystem/package.json'));
writeFileSync(`${folder}/f.txt`, 'hello\n');

const servers = {
  'ringwall mcp': { command: ringwall, args: ['mcp', '--workspace', folder], tool: 'Read', arguments: { file_path: `${folder}/f.txt` } },
  'server-filesystem': { command: process.execPath, args: [`${files}/dist/index.js`, folder], tool: 'read_text_file', arguments: { path: `${folder}/f.txt` } },
  'a stub': { command: stub, args: [], tool: 'Read', arguments: {} },
};

// The memory of a process and its descendants: the sum of their anonymous and shared memory, plus the largest amount of
// mapped files, because they mostly map the same files.
function kilobytes(pid) {
  const processes = [];
  const add = (id) => {
    const status = readFileSync(`/proc/${id}/status`, 'utf8');
    const value = (name) => Number(new RegExp(`${name}:\\s+(\\d+)`).exec(status)[1]);
    processes.push({ own: value('RssAnon') + value('RssShmem'), mapped: value('RssFile') });
    readFileSync(`/proc/${id}/task/${id}/children`, 'utf8').split(' ').filter(Boolean).forEach(add);
  };
  add(pid);
  return processes.reduce((sum, one) => sum + one.own, 0) + Math.max(...processes.map((one) => one.mapped));
}

const median = (values) => values.sort((a, b) => a - b)[values.length >> 1];

async function connect(server) {
  const client = new Client({ name: 'bench', version: '1' });
  const transport = new StdioClientTransport({ command: server.command, args: server.args, stderr: 'ignore' });
  const startTime = performance.now();
  await client.connect(transport);
  return { client, transport, start: performance.now() - startTime };
}

const results = {};
for (const server of Object.values(servers)) {
  server.starts = [];
  server.calls = [];
}
for (let i = 0; i < 9; i++) {
  for (const server of Object.values(servers)) {
    const { client, start } = await connect(server);
    server.starts.push(start);
    await client.close();
  }
}
for (const server of Object.values(servers)) Object.assign(server, await connect(server));
for (let i = 0; i < Number(rounds); i++) {
  for (const server of Object.values(servers)) {
    const startTime = performance.now();
    await server.client.callTool({ name: server.tool, arguments: server.arguments });
    if (i > rounds / 10) server.calls.push(performance.now() - startTime);
  }
}
for (const [name, server] of Object.entries(servers)) {
  results[name] = { call: median(server.calls), start: median(server.starts), megabytes: kilobytes(server.transport.pid) / 1024 };
  await server.client.close();
}
console.log(JSON.stringify(results));
