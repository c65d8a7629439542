// Version 2 of the SDK. The module that exports its stdio transport differs between releases.
import * as all from '@modelcontextprotocol/client';

const stdio = all.StdioClientTransport ? all : await import('@modelcontextprotocol/client/stdio');
export const { Client, StreamableHTTPClientTransport } = all;
export const { StdioClientTransport } = stdio;
