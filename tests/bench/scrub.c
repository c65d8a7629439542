/*
 * Scrubs files in memory. Standard input has their names, one per line.
 *
 *   scrub_bench [ROUNDS]
 *
 * Prints each line in which a secret was found, then figures: "files N", "bytes N", "load SECONDS", "hits PATTERN N"
 * for each pattern that was found, and "whole N" and "chunks N": the bytes per second of CPU time, in the best round,
 * when the corpus is scrubbed as one text and in chunks.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/fd.h"
#include "base/text.h"
#include "gate/scrub.h"

enum { CHUNK = 64 << 10, FILE_BYTES_MAX = 16 << 20, SHOWN_MAX = 160 };

static _Noreturn void fail(const char *what)
{
        (void)fprintf(stderr, "scrub_bench: %s\n", what);
        exit(1);
}

static double cpu_seconds(void)
{
        struct timespec t = { 0 };
        (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
        return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void show_hits(const char *path, const struct text *scrubbed)
{
        size_t number = 1;
        for (const char *line = scrubbed->data, *end; line; line = end ? end + 1 : NULL, number++) {
                end = strchr(line, '\n');
                size_t length = end ? (size_t)(end - line) : strlen(line);
                const char *mark = memmem(line, length, "[REDACTED:", strlen("[REDACTED:"));
                if (!mark)
                        continue;
                const char *from = mark - line > SHOWN_MAX / 2 ? mark - SHOWN_MAX / 2 : line;
                int shown = (int)(length - (size_t)(from - line));
                (void)printf("%s:%zu: %.*s\n", path, number, shown < SHOWN_MAX ? shown : SHOWN_MAX, from);
        }
}

/* Reads the files and scrubs each by itself, to print what is found in it. Returns the number of files. */
static size_t read_corpus(struct scrubber *s, struct text *corpus)
{
        char path[4096];
        size_t files = 0;
        while (fgets(path, sizeof path, stdin)) {
                CLEANUP_FREE char *data = NULL;
                CLEANUP_TEXT struct text one = { 0 };
                size_t length = 0;
                path[strcspn(path, "\n")] = '\0';
                if (fd_read_file(path, FILE_BYTES_MAX, &data, &length, NULL) < 0 || memchr(data, '\0', length))
                        continue;
                files++;
                text_add_bytes(corpus, data, length);
                text_add_bytes(&one, data, length);
                if (scrub_text(s, &one) < 0)
                        fail("a file cannot be scrubbed");
                if (one.length != length || (length && memcmp(one.data, data, length) != 0))
                        show_hits(path, &one);
        }
        return files;
}

static double time_whole(struct scrubber *s, const struct text *corpus)
{
        CLEANUP_TEXT struct text copy = { 0 };
        text_add_bytes(&copy, corpus->data, corpus->length);
        double start = cpu_seconds();
        if (copy.failed || scrub_text(s, &copy) < 0)
                fail("the corpus cannot be scrubbed");
        return (double)corpus->length / (cpu_seconds() - start);
}

/* Drops the output of each chunk immediately, like a caller that sends it on. */
static double time_chunks(struct scrubber *s, const struct text *corpus)
{
        CLEANUP_TEXT struct text out = { 0 };
        CLEANUP_SCRUB_STREAM struct scrub_stream stream;
        scrub_stream_init(&stream, s);
        double start = cpu_seconds();
        for (size_t at = 0; at < corpus->length; at += CHUNK) {
                size_t length = corpus->length - at < CHUNK ? corpus->length - at : CHUNK;
                out.length = 0;
                if (scrub_stream_feed(&stream, corpus->data + at, length, &out) < 0)
                        fail("a chunk cannot be scrubbed");
        }
        if (scrub_stream_finish(&stream, &out) < 0)
                fail("the end cannot be scrubbed");
        return (double)corpus->length / (cpu_seconds() - start);
}

int main(int argc, char **argv)
{
        CLEANUP_SCRUBBER struct scrubber *s = NULL;
        CLEANUP_TEXT struct text corpus = { 0 };
        struct error e = { 0 };
        unsigned long long rounds = 5;
        if (argc > 1 && !text_parse_unsigned(argv[1], strlen(argv[1]), &rounds))
                fail("usage: scrub_bench [ROUNDS]");
        double start = cpu_seconds(), whole = 0, chunks = 0;
        if (scrubber_new(NULL, 0, &s, &e) < 0)
                fail(e.text);
        double loaded = cpu_seconds() - start;
        size_t files = read_corpus(s, &corpus);
        (void)printf("files %zu\nbytes %zu\nload %.6f\n", files, corpus.length, loaded);
        for (size_t i = 0; i < scrubber_pattern_count(s); i++)
                if (scrubber_hits(s, i))
                        (void)printf("hits %s %llu\n", scrubber_name(s, i), (unsigned long long)scrubber_hits(s, i));
        for (unsigned long long i = 0; i < rounds && corpus.length; i++) {
                double whole_rate = time_whole(s, &corpus), chunk_rate = time_chunks(s, &corpus);
                whole = whole_rate > whole ? whole_rate : whole;
                chunks = chunk_rate > chunks ? chunk_rate : chunks;
        }
        (void)printf("whole %.0f\nchunks %.0f\n", whole, chunks);
        return 0;
}
