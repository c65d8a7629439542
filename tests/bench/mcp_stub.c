/*
 * The least that a server can do: one fixed answer for each line, with the line's id. What a client itself costs is what a
 * call of this costs.
 */
#include <stdio.h>
#include <string.h>

static const char *answer_to(const char *line)
{
        if (strstr(line, "\"initialize\""))
                return "{\"protocolVersion\":\"2025-11-25\",\"capabilities\":{\"tools\":{}},\"serverInfo\":{\"name\":\"stub\",\"version\":\"1\"}}";
        if (strstr(line, "\"tools/list\""))
                return "{\"tools\":[{\"name\":\"Read\",\"inputSchema\":{\"type\":\"object\"}}]}";
        return "{\"content\":[{\"type\":\"text\",\"text\":\"1\\thello\\n\"}],\"isError\":false}";
}

int main(void)
{
        static char line[1 << 16];
        while (fgets(line, sizeof line, stdin)) {
                const char *id = strstr(line, "\"id\":");
                if (!id)
                        continue;
                id += strlen("\"id\":");
                (void)printf("{\"jsonrpc\":\"2.0\",\"id\":%.*s,\"result\":%s}\n", (int)strcspn(id, ",}"), id, answer_to(line));
                (void)fflush(stdout);
        }
        return 0;
}
