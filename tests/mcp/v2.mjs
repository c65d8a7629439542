// Where the second SDK keeps its transport differs between its versions.
import * as all from '@modelcontextprotocol/client';

const stdio = all.StdioClientTransport ? all : await import('@modelcontextprotocol/client/stdio');
export const { Client, StreamableHTTPClientTransport } = all;
export const { StdioClientTransport } = stdio;
